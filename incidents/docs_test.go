package incidents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/incidents"
)

const page = "../docs/alerts.md"

// section compares a generated part of the page with what is there, or writes it.
func section(t *testing.T, name, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	begin := fmt.Sprintf("<!-- %s:begin (written by the tests of package incidents with -update) -->\n", name)
	end := fmt.Sprintf("<!-- %s:end -->\n", name)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "no %s in %s", begin, page)
	have, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+want+end+after), 0o644))
		return
	}
	require.Equal(t, want, have, "run the test with -update")
}

func TestPageShowsAnAlert(t *testing.T) {
	d := drive(t, incidents.Options{External: map[string]string{"cluster": "alpha"}})
	e := d.tick(2, example())[0]
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(map[string]any{"labels": e.Incident.AlertLabels(), "annotations": renderer().Annotations(&e.Incident)}))
	section(t, "example", "```json\n"+buf.String()+"```\n")
}

func TestPageListsThePolicies(t *testing.T) {
	plain := incidents.DefaultPolicy()
	all := incidents.Policies()
	var b strings.Builder
	b.WriteString("| class | evaluations to open | to resolve | latched | at most | repeats raise |\n| --- | --- | --- | --- | --- | --- |\n")
	row := func(name string, p incidents.Policy) {
		clearing := fmt.Sprint(p.Clear)
		if p.ClearFor > 0 {
			clearing += ", over " + span(p.ClearFor)
		}
		latch, repeats := "after 3 returns", "no"
		if p.Latch > 0 {
			latch = span(p.Latch)
		}
		if p.Repeats {
			repeats = "yes"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s |\n", name, p.Pending, clearing, latch, p.Max, repeats)
	}
	row("default", plain)
	for _, class := range slices.Sorted(maps.Keys(all)) {
		p := all[class]
		p.Exclusive = false
		if p != plain {
			row("`"+string(class)+"`", p)
		}
	}
	section(t, "policies", b.String())
}

func span(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}
