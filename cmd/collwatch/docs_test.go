package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/realserver"
)

// docLine is a command line of a page.
type docLine struct {
	page, text string
	// shell says that the block is one of commands only, so that what is in it
	// has to be one.
	shell bool
}

var (
	fence = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```")
	// command is how a line of a block without a language begins if it is one.
	command = regexp.MustCompile(`^(?:bin/)?(?:collwatch|collwatch-exporter|promtool|amtool|make|curl|apt|systemctl|kubectl)(?: |$)`)
)

// docLines finds the command lines in the fenced blocks of all pages but the
// README's shell blocks, which have a test of their own.
func docLines(t *testing.T) (out []docLine) {
	t.Helper()
	root := repo(t)
	var pages []string
	for _, dir := range []string{"docs", "contrib", "plugin"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		}))
	}
	pages = append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"))
	for _, path := range pages {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		page, err := filepath.Rel(root, path)
		require.NoError(t, err)
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			shell := slices.Contains([]string{"sh", "bash", "shell", "console"}, block[1])
			if !shell && block[1] != "" || shell && page == "README.md" {
				continue
			}
			for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
				line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), ""))
				line = strings.TrimPrefix(line, "- ") // a step of a pipeline
				if line != "" && (shell || command.MatchString(line)) {
					out = append(out, docLine{page, line, shell})
				}
			}
		}
	}
	return out
}

// comment stands alone or behind two spaces; "#" may be a part of a word.
var comment = regexp.MustCompile(`(^|\s{2,})#( .*|$)`)

// foreign are the programs of others that pages use. A word that is not among
// them is a typing error, or a new one.
var foreign = strings.Fields(`all_reduce_perf apt cat cd curl date diff dmesg editor ethtool export free getent git grep head ib_write_bw iblinkinfo
	ibstat iostat ipmitool journalctl kubectl last lspci lsmod mlnx_qos mlxlink mpirun nc nvidia-smi paste perfquery ping printf ps py-spy rdma
	sort squeue ss ssh systemctl systemd-cgtop tail tr wc jq`)

// TestDocCommandsWork executes every command line of the pages: those of
// collwatch in a folder that holds what they speak of, against a Prometheus with
// two jobs; promtool's with the real one; silences have to be about labels that
// alerts have. Of commands that need a cluster's hardware the shell has to
// understand the line, and the program has to be a known one.
func TestDocCommandsWork(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("the commands are built without the race detector")
	}
	lines := docLines(t)
	slices.SortStableFunc(lines, func(a, b docLine) int { return makes(b) - makes(a) })
	s := newSandbox(t)
	ran := map[string]int{}
	for _, l := range lines {
		line := s.replace.Replace(l.text)
		began := time.Now()
		words := shellWords(t, line)
		name := strings.TrimPrefix(words[0], "bin/")
		switch name {
		case "make":
			s.makefile(l, words[1:])
		case "promtool":
			s.promtool(l, line)
		case "amtool":
			silenceIsSensible(t, l, line)
		case "collwatch":
			name += " " + words[1]
			s.collwatch(l, line)
		case "go":
			s.gotest(l, words)
		case "curl":
			s.curl(l, line)
			understood(t, l, line)
		default:
			understood(t, l, line)
			name = "foreign"
		}
		ran[name]++
		if took := time.Since(began); took > time.Second {
			t.Logf("%s: %s: %s", took.Round(time.Second), l.page, line)
		}
	}
	for _, name := range []string{
		"run", "check-config", "coverage", "replay", "explain", "shadow", "compare", "baseline", "report", "topology", "rules", "hang",
	} {
		require.NotZero(t, ran["collwatch "+name], "no page shows %s", name)
	}
	require.Greater(t, ran["amtool"], 20)
	require.Greater(t, ran["foreign"], 60)
}

// makes is 1 for commands that make what others use, on whatever page they are.
func makes(l docLine) int {
	if strings.Contains(l.text, " baseline save ") || strings.Contains(l.text, " rules generate ") && !strings.Contains(l.text, "--check") {
		return 1
	}
	return 0
}

// understood lets the shell read a line without executing it, and looks whether
// its programs are known.
func understood(t *testing.T, l docLine, line string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", line).CombinedOutput()
	require.NoError(t, err, "%s: %s\n%s", l.page, line, out)
	for part := range strings.FieldsFuncSeq(unquoted(line), func(r rune) bool { return strings.ContainsRune(";|&()", r) }) {
		for word := range strings.FieldsSeq(strings.TrimLeft(part, "<> ")) {
			if strings.Contains(word, "=") {
				continue // of the environment
			}
			require.Contains(t, foreign, word, "%s: %s", l.page, line)
			break
		}
	}
}

// unquoted drops what is in quotes.
func unquoted(line string) string {
	return regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(line, "Q")
}

// silenceIsSensible: amtool's matchers are those of labels that the class's alerts
// have.
func silenceIsSensible(t *testing.T, l docLine, line string) {
	t.Helper()
	require.True(t, strings.HasPrefix(line, "amtool silence add "), "%s: %s", l.page, line)
	class := ""
	for _, word := range shellWords(t, line)[3:] {
		if strings.HasPrefix(word, "--") {
			require.Regexp(t, `^--(duration|comment|alertmanager\.url)=.`, word, "%s: %s", l.page, line)
			continue
		}
		m, err := labels.ParseMatcher(word)
		require.NoError(t, err, "%s: %s", l.page, line)
		require.Contains(t, []string{"class", "job_id", "suspect_node", "suspect_device", "suspect_kind", "cluster", "scope", "severity"}, m.Name, l.page)
		if m.Name == "class" {
			class = m.Value
		}
	}
	require.Contains(t, diagnosis.Classes(), diagnosis.Class(class), "%s: %s", l.page, line)
}

// shellWords are the words of the first command of a line as a shell passes them
// on: quotes are gone, stars expanded.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	first := line
	if cut := strings.IndexAny(unquoted(line), "|;>"); cut >= 0 && unquoted(line) == line {
		first = line[:cut]
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `for w in "$@"; do :; done; eval "set -- $0"; printf '%s\n' "$@"`, first).Output()
	require.NoError(t, err, line)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// collwatch runs one of our commands in the sandbox.
func (s *sandbox) collwatch(l docLine, line string) {
	s.t.Helper()
	args := shellWords(s.t, line)[1:]
	if len(args) > 3 && slices.Equal(args[:2], []string{"rules", "test"}) {
		args = args[:3] // all of them are run by the tests of package rules
	}
	if args[0] == "run" {
		runUntilReady(s.t, args)
		return
	}
	var out, log bytes.Buffer
	code := run(s.t.Context(), args, &out, &log)
	allowed := []int{exitOK}
	if args[0] == "compare" || args[0] == "hang" || slices.Contains(args, "--check") || strings.HasPrefix(strings.Join(args, " "), "rules check") {
		allowed = append(allowed, exitFindings) // the second job is slower; the simulated fabric has quirks
	}
	require.Contains(s.t, allowed, code, "%s: %s\n%s%s", l.page, line, &out, &log)
}

func (s *sandbox) promtool(l docLine, line string) {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), realserver.Promtool(s.t), shellWords(s.t, line)[1:]...).CombinedOutput()
	require.NoError(s.t, err, "%s: %s\n%s", l.page, line, out)
}

func (s *sandbox) makefile(l docLine, targets []string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, "Makefile"))
	require.NoError(s.t, err)
	for _, target := range targets {
		if !strings.Contains(target, "=") {
			require.Contains(s.t, string(text), "\n"+target+":", l.page)
		}
	}
}

// gotest: the package of a test is there, and so is the test or benchmark.
func (s *sandbox) gotest(l docLine, words []string) {
	s.t.Helper()
	require.Equal(s.t, "test", words[1], "%s: %v", l.page, words)
	var text strings.Builder
	for i, word := range words {
		switch {
		case strings.HasPrefix(word, "./"):
			found, err := filepath.Glob(filepath.Join(s.root, strings.TrimSuffix(word, "/..."), "*_test.go"))
			require.NoError(s.t, err)
			require.NotEmpty(s.t, found, "%s: %v", l.page, words)
			for _, file := range found {
				data, err := os.ReadFile(file)
				require.NoError(s.t, err)
				text.Write(data)
			}
		case words[i-min(i, 1)] == "-bench":
			require.Contains(s.t, text.String(), "func Benchmark"+word, l.page)
		case words[i-min(i, 1)] == "-run" && word != "^$":
			require.Contains(s.t, text.String(), "func "+word, l.page)
		}
	}
}
