package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// words are a few of those that other packages own.
var words = Words{
	Classes:   []string{"link_down", "link_flap", "nic_degraded"},
	Signals:   []string{"coll_exec_time", "nic_tx"},
	Dialects:  []string{"inspector_g2", "dcgm"},
	Families:  []string{"inspector", "switch"},
	Detectors: []string{"ewma", "peers"},
}

// TestInvalid compares the exact messages for the files in testdata. Paths in
// them are relative to that folder, as an operator would see them.
func TestInvalid(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid-*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Load(file, WithWords(words))
			var all Errors
			require.ErrorAs(t, err, &all)
			require.NotEmpty(t, all)
			require.NotContains(t, err.Error(), "hunter2", "a secret is in a message")
			golden(t, strings.TrimSuffix(file, ".toml")+".golden", err.Error()+"\n")
		})
	}
}

func TestErrorsFindsTheSingleMistake(t *testing.T) {
	_, err := Parse("c.toml", []byte("[global]\ninterval = 5\n"))
	var one *Error
	require.ErrorAs(t, err, &one)
	require.Equal(t, "global", one.Table)
	require.Equal(t, "interval", one.Key)
	require.Equal(t, 2, one.Line)
	require.Equal(t, 1, one.Column)
}

func TestLoadMissingFile(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.toml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	var all Errors
	require.NotErrorAs(t, err, &all)
}

func TestLoadHugeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.toml")
	require.NoError(t, os.WriteFile(path, make([]byte, maxFile+1), 0o600))
	_, err := Load(path)
	require.ErrorContains(t, err, "that is no configuration")
}

func TestWithoutSource(t *testing.T) {
	_, err := Parse("c.toml", nil)
	require.EqualError(t, err, "c.toml: there is no [[source]]: at least one server to query is needed")
	_, err = Parse("c.toml", nil, WithoutSource())
	require.NoError(t, err)
}

func TestPathsStartAtTheFilesFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ca.pem", "token"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	credentials := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(credentials, "am"), []byte("x"), 0o600))
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	path := filepath.Join(dir, "c.toml")
	require.NoError(t, os.WriteFile(path, []byte(`
[[source]]
url = "https://prom"
header_files = { X-Token = "token" }
[source.tls]
ca_file = "ca.pem"
[[alertmanager.target]]
url = "https://am"
[alertmanager.target.authorization]
credentials_file = "$CREDENTIALS_DIRECTORY/am"
`), 0o600))

	cfg, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "ca.pem"), cfg.Sources[0].TLS.CAFile)
	require.Equal(t, filepath.Join(dir, "token"), cfg.Sources[0].HeaderFiles["X-Token"])
	require.Equal(t, filepath.Join(credentials, "am"), cfg.Alertmanager.Targets[0].Authorization.CredentialsFile)
	require.Equal(t, "data", cfg.Global.StateDir, "what is written starts at the working directory")
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/invalid-*.toml")
	require.NoError(f, err)
	for _, file := range append(files, exampleFile) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("a.\"b.c\" = [[{x = '''\n'''}]]\n[[a.d]]\n[a.d.e]\r\n"))
	f.Add([]byte("[[source]]\nurl = \"http://[::1\"\nparams = { a = [1, 'b'] }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f", data, SkipFiles(), WithWords(words))
		locate(string(data))
		if err != nil {
			var all Errors
			require.ErrorAs(t, err, &all)
			for _, e := range all {
				require.NotEmpty(t, e.Msg)
			}
			return
		}
		text, err := cfg.Masked()
		require.NoError(t, err)
		require.NoError(t, cfg.Validate(SkipFiles(), WithWords(words)))
		if strings.Contains(text, `webhook_url = "`+masked) {
			return // a mask is no URL
		}
		_, err = Parse("masked", []byte(text), SkipFiles(), WithWords(words))
		require.NoError(t, err, "what is printed is not a configuration:\n%s", text)
	})
}
