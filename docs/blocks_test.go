package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
)

var tomlBlock = regexp.MustCompile("(?s)```toml\n(.*?)```")

// TestConfigurationsInTheBookAreValid takes each piece of TOML as a reader
// would copy it, with a source where the piece names none.
func TestConfigurationsInTheBookAreValid(t *testing.T) {
	found := 0
	for _, page := range append(pages(t), "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range tomlBlock.FindAllStringSubmatch(string(text), -1) {
			found++
			piece := completed(m[1])
			_, err := config.Parse(page, []byte(piece), config.SkipFiles())
			require.NoError(t, err, "%s:\n%s", page, piece)
		}
	}
	require.Greater(t, found, 10, "blocks of TOML")
}

// completed adds what a piece leaves to the pieces before it.
func completed(piece string) string {
	const token = "token_file = \"slack.token\"\n"
	if !strings.Contains(piece, "[[source]]") {
		piece += "\n[[source]]\nurl = \"http://prometheus:9090\"\n"
	}
	table, route := strings.Contains(piece, "[slack]"), strings.Contains(piece, "[[slack.route]]")
	switch {
	case route && !table:
		piece += "\n[slack]\n" + token
	case table && !strings.Contains(piece, "webhook_url_file") && !strings.Contains(piece, "\ntoken_file"):
		piece = strings.Replace(piece, "[slack]\n", "[slack]\n"+token, 1)
	}
	if table && !route {
		piece += "\n[[slack.route]]\nname = \"all\"\nchannel = \"C0123456789\"\n"
	}
	return piece
}
