package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/alecthomas/kingpin/v2"
	"github.com/stretchr/testify/require"
)

// TestThePageOfCommandsIsWhole: it has each command, and no other.
func TestThePageOfCommandsIsWhole(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repo(t), "docs", "commands.md"))
	require.NoError(t, err)
	var shown, have []string
	for _, row := range regexp.MustCompile("(?m)^\\| `collwatch ([a-z -]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, row[1])
	}
	app := kingpin.New("collwatch", "")
	for _, c := range commands {
		name, _ := c(app)
		have = append(have, name)
	}
	require.ElementsMatch(t, have, shown)
}
