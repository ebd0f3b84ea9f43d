package diagnosis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const runbooks = "../docs/runbooks"

// TestEachClassHasARunbook holds the runbooks to what alerts say: the same next
// step, the same commands, and all that somebody woken at night asks for.
func TestEachClassHasARunbook(t *testing.T) {
	for _, class := range Classes() {
		t.Run(string(class), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(runbooks, string(class)+".md"))
			require.NoError(t, err)
			page := string(data)
			for _, section := range []string{"## Confirm\n", "## Do\n", "## Do not act when\n", "## Silence\n", "## Look-alikes\n"} {
				require.Contains(t, page, section)
			}
			require.Contains(t, page, `class="`+string(class)+`"`, "the silence is about this class")
			require.Contains(t, page, "(../faults/"+string(class)+".md)")
			a := classAdvice(class)
			if a.next != "" {
				require.Contains(t, flat(page), flat(a.next), "the next step is the alert's")
			}
			require.Contains(t, page, strings.ReplaceAll(a.command, "\n", `\n`), "the command is the alert's")
			if a.severity == Recorded {
				require.Contains(t, page, "never sent")
			} else {
				require.Contains(t, page, "Usual severity: "+a.severity.String())
			}
		})
	}
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	require.NoError(t, err)
	require.Len(t, pages, len(Classes()), "a runbook without a class")
}

// TestRunbookOfAStragglerKnowsEachReason: its command depends on the reason.
func TestRunbookOfAStragglerKnowsEachReason(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(runbooks, string(StragglerCompute)+".md"))
	require.NoError(t, err)
	for _, reason := range []string{"host_cpu", "host_memory", "data_loading", "gpu_contention", "unexplained"} {
		_, _, command := straggleAdvice(reason)
		require.Contains(t, string(data), reason)
		require.Contains(t, string(data), command)
	}
}

// flat drops line breaks and quote marks.
func flat(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n>", " ")), " ")
}
