package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// pages lists the Markdown files of the project.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md", "../contrib/*/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		found = append(found, files...)
	}
	require.NotEmpty(t, found)
	return found
}

// TestLinksLeadSomewhere: to a file that there is, and in a page to a heading.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target, heading, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			_, err := os.Stat(to)
			require.NoError(t, err, "%s links to %s", page, match[1])
			if heading != "" && filepath.Ext(to) == ".md" {
				require.Contains(t, headings(t, to), heading, "%s links to %s", page, match[1])
			}
		}
	}
}

var (
	title       = regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation = regexp.MustCompile("[^a-z0-9 _-]")
)

// headings are the anchors that a page has where it is shown.
func headings(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, match := range title.FindAllStringSubmatch(string(text), -1) {
		out = append(out, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	return out
}

func TestIndexHasEveryPage(t *testing.T) {
	index, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, pattern := range []string{"*.md", "*/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			if file != "README.md" {
				require.Contains(t, string(index), "("+file+")", "the index does not mention %s", file)
			}
		}
	}
}

// TestCIRunsWhatTheReadmeSays holds CI to the command that newcomers are told.
func TestCIRunsWhatTheReadmeSays(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), "\nmake test ")
	script, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	require.Contains(t, string(script), "\nstep test\nstep e2e-long\n")
}
