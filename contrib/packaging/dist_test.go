// Package packaging has no code; its tests build the packages, install them on
// a clean system, and run them under a real systemd.
package packaging

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// version and next are what is built: as the project says, and an upgrade.
const (
	version = "0.1.0"
	next    = "0.1.1"
)

// built is a folder of release files. Several tests look at the same ones.
type built struct {
	once sync.Once
	dir  string
	err  error
	log  []byte
}

var first, again, upgrade built // folders of files that no test changes

// dist returns a folder with the release files of a version for this machine.
func (b *built) dist(t *testing.T, v string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("packages are left out of short tests")
	}
	b.once.Do(func() {
		// Not the test's own: it is shared, and outlives the first user.
		if b.dir, b.err = os.MkdirTemp("", "collwatch-dist"); b.err != nil { //nolint:usetesting // it outlives the test that makes it
			return
		}
		cmd := exec.Command("make", "--no-print-directory", "-C", "../..", "dist", "VERSION="+v, "ARCHES="+runtime.GOARCH, "OUT="+b.dir)
		b.log, b.err = cmd.CombinedOutput()
	})
	require.NoError(t, b.err, "make dist:\n%s", b.log)
	return b.dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, b := range []*built{&first, &again, &upgrade} {
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}
	os.Exit(code)
}

// file returns the one file of a folder that matches.
func file(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// output runs a tool and returns what it prints; without the tool the test is
// skipped.
func output(t *testing.T, tool string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("%s is not installed", tool)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), "%s %s:\n%s", tool, strings.Join(args, " "), &errs)
	return out.String()
}

func TestVersionIsTheProjects(t *testing.T) {
	text, err := os.ReadFile("../../VERSION")
	require.NoError(t, err)
	require.Equal(t, version, strings.TrimSpace(string(text)), "the upgrade of the tests has to be newer")
}

func TestBuildsAreReproducible(t *testing.T) {
	read := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "sha256sums.txt"))
		require.NoError(t, err)
		return string(text)
	}
	want := read(first.dist(t, version))
	require.GreaterOrEqual(t, strings.Count(want, "\n"), 7, "archive, four packages, two bills of materials: %s", want)
	require.Equal(t, want, read(again.dist(t, version)))
	for line := range strings.Lines(want) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok)
		require.True(t, strings.HasPrefix(output(t, "sha256sum", filepath.Join(first.dir, name)), sum), name)
	}
}

// unpacked is the content of a package of the first build.
func unpacked(t *testing.T, pattern string) string {
	t.Helper()
	dir := t.TempDir()
	output(t, "dpkg-deb", "--extract", file(t, first.dist(t, version), pattern), dir)
	return dir
}

func TestBinariesAreStaticAndStamped(t *testing.T) {
	for _, name := range []string{"collwatch", "collwatch-exporter"} {
		bin := filepath.Join(unpacked(t, name+"_*.deb"), "usr/bin", name)
		f, err := elf.Open(bin)
		require.NoError(t, err)
		libraries, err := f.ImportedLibraries()
		require.NoError(t, err)
		require.Empty(t, libraries, "a static binary needs none")
		require.NoError(t, f.Close())
		said := output(t, bin, "--version")
		require.Contains(t, said, "version "+version)
		require.Regexp(t, `revision: [0-9a-f]{40}`, said)
	}
}

func TestBillOfMaterials(t *testing.T) {
	text, err := os.ReadFile(file(t, first.dist(t, version), "collwatch-"+version+".cdx.json"))
	require.NoError(t, err)
	var bill struct {
		BOMFormat  string
		Components []struct{ Name, Version string }
	}
	require.NoError(t, json.Unmarshal(text, &bill))
	require.Equal(t, "CycloneDX", bill.BOMFormat)
	seen := map[string]string{}
	for _, c := range bill.Components {
		seen[c.Name] = c.Version
	}
	require.NotEmpty(t, seen["github.com/prometheus/client_golang"])
	require.NotEmpty(t, seen["std"], "the standard library has flaws too")
}

// TestManPages: they render without a warning and have every command and flag.
func TestManPages(t *testing.T) {
	for name, words := range map[string][]string{
		"collwatch":          {"check-config", "replay", "rules generate", "baseline save", "--openmetrics", "EXIT STATUS"},
		"collwatch-exporter": {"--dir", "--web.listen-address"},
	} {
		root := unpacked(t, name+"_*.deb")
		page := filepath.Join(root, "usr/share/man/man1", name+".1.gz")
		packed, err := os.Open(page)
		require.NoError(t, err)
		defer packed.Close()
		z, err := gzip.NewReader(packed)
		require.NoError(t, err)
		source, err := io.ReadAll(z)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(source), `\-`, "-")
		for _, word := range words {
			require.Contains(t, text, word, name)
		}
		require.Regexp(t, `(?m)^`+name+` - \w.*\w$`, text, "whatis finds the page")
		if _, err := exec.LookPath("man"); err != nil {
			continue
		}
		cmd := exec.CommandContext(t.Context(), "man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
		cmd.Env = append(os.Environ(), "MANROFFSEQ=", "MANWIDTH=120", "LC_ALL=C.UTF-8")
		var warnings bytes.Buffer
		cmd.Stdout, cmd.Stderr = io.Discard, &warnings
		require.NoError(t, cmd.Run())
		require.Empty(t, warnings.String(), name)
	}
}

// TestCompletion asks the shell as a press of the tabulator would.
func TestCompletion(t *testing.T) {
	for _, tc := range []struct{ name, typed, want string }{
		{"collwatch", "check", "check-config"},
		{"collwatch", "rules gen", "generate"},
		{"collwatch-exporter", "--d", "--dir"},
	} {
		root := unpacked(t, tc.name+"_*.deb")
		words := append([]string{tc.name}, strings.Fields(tc.typed)...)
		script := fmt.Sprintf(`
source %q
COMP_WORDS=(%s) COMP_CWORD=%d
$(complete -p %s | sed -n 's/.*-F \([^ ]*\).*/\1/p')
printf '%%s\n' "${COMPREPLY[@]}"`,
			filepath.Join(root, "usr/share/bash-completion/completions", tc.name), strings.Join(words, " "), len(words)-1, tc.name)
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(root, "usr/bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, strings.Fields(string(out)), tc.want, tc.typed)

		zsh, err := os.ReadFile(filepath.Join(root, "usr/share/zsh/vendor-completions", "_"+tc.name))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(zsh), "#compdef "+tc.name), "zsh loads it by its first line")
	}
}
