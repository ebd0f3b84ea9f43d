package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutIsLookedAtFirst: what cannot be written is told before anything is read,
// and nothing is made or changed by looking.
func TestOutIsLookedAtFirst(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.txt")
	require.NoError(t, os.WriteFile(plain, []byte("keep me"), 0o600))
	locked := filepath.Join(dir, "locked")
	require.NoError(t, os.Mkdir(locked, 0o500))
	past := filepath.Join(dir, "past.om") // no data: whoever reads it fails
	require.NoError(t, os.WriteFile(past, []byte("nonsense\n"), 0o600))
	commands := map[string][]string{
		"compare":       {"compare", "--openmetrics", past, "--baseline", "1", "--candidate", "2"},
		"baseline save": {"baseline", "save", "--openmetrics", past, "--job", "1"},
		"report":        {"report", "--openmetrics", past, "--job", "1"},
	}
	for _, tc := range []struct {
		name, out, says string
	}{
		{"no such folder", filepath.Join(dir, "none", "x.json"), "no such file or directory"},
		{"a folder", dir, "is a folder: name a file in it"},
		{"below a file", filepath.Join(plain, "x.json"), "not a directory"},
		{"a folder without permission", filepath.Join(locked, "x.json"), "cannot be written: " + locked + ": permission denied"},
		{"a file of the kernel's", "/proc/version", "permission denied"},
	} {
		for command, args := range commands {
			t.Run(command+": "+tc.name, func(t *testing.T) {
				if os.Getuid() == 0 && tc.says[len(tc.says)-6:] == "denied" {
					t.Skip("root may write everywhere")
				}
				var out, log bytes.Buffer
				code := run(t.Context(), append(args, "--out", tc.out), &out, &log)
				require.Equal(t, exitFailure, code, &log)
				require.Contains(t, log.String(), command+": --out")
				require.Contains(t, log.String(), tc.says)
			})
		}
	}
	for command, args := range commands {
		t.Run(command+": a good place is left alone", func(t *testing.T) {
			for _, file := range []string{plain, filepath.Join(dir, "new.json")} {
				var out, log bytes.Buffer
				require.Equal(t, exitFailure, run(t.Context(), append(args, "--out", file), &out, &log))
				require.NotContains(t, log.String(), "--out")
			}
			text, err := os.ReadFile(plain)
			require.NoError(t, err)
			require.Equal(t, "keep me", string(text))
			require.NoFileExists(t, filepath.Join(dir, "new.json"))
		})
	}
}

// TestFolderForRulesIsLookedAtFirst: before the source is asked, which here
// nobody answers for.
func TestFolderForRulesIsLookedAtFirst(t *testing.T) {
	dir := t.TempDir()
	plain, cfg := filepath.Join(dir, "plain"), filepath.Join(dir, "collwatch.toml")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	require.NoError(t, os.WriteFile(cfg, []byte("[[source]]\nurl = \"http://127.0.0.1:1\"\n"), 0o600))
	for out, says := range map[string]string{
		plain:                          "--out " + plain + ": " + plain + " is no folder",
		filepath.Join(plain, "rules"):  "not a directory",
		filepath.Join(dir, "a/b/c"):    "which series exist could not be asked",
		filepath.Join(dir, "x") + "//": "which series exist could not be asked",
	} {
		var stdout, log bytes.Buffer
		require.Equal(t, exitFailure, run(t.Context(), []string{"rules", "generate", "--config", cfg, "--out", out}, &stdout, &log))
		require.Contains(t, log.String(), says, out)
	}
	require.NoDirExists(t, filepath.Join(dir, "a"), "looking makes nothing")
}
