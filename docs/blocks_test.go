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
			piece := m[1]
			if !strings.Contains(piece, "[[source]]") {
				piece += "\n[[source]]\nurl = \"http://prometheus:9090\"\n"
			}
			if strings.Contains(piece, "[[slack.route]]") && !strings.Contains(piece, "[slack]") {
				piece += "\n[slack]\ntoken_file = \"slack.token\"\n"
			}
			if strings.Contains(piece, "[slack]") && !strings.Contains(piece, "[[slack.route]]") {
				piece += "\n[[slack.route]]\nname = \"all\"\nchannel = \"C0123456789\"\n"
			}
			_, err := config.Parse(page, []byte(piece), config.SkipFiles())
			require.NoError(t, err, "%s:\n%s", page, piece)
		}
	}
	require.Greater(t, found, 10, "blocks of TOML")
}
