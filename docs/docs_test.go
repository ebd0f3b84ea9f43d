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

func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			_, err := os.Stat(filepath.Join(filepath.Dir(page), target))
			require.NoError(t, err, "%s links to %s", page, match[1])
		}
	}
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
