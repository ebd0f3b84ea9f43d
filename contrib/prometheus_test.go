package contrib

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

var updateCounters = flag.Bool("update", false, "rewrite the list of DCGM counters")

const countersFile = "prometheus/dcgm-counters.csv"

// countersText is the list for dcgm-exporter as the catalogue wants it.
func countersText() string {
	var b strings.Builder
	b.WriteString("# Counters for dcgm-exporter (-f this file) that collwatch reads, made from its catalogue:\n" +
		"# go test ./contrib -run Counters -update\n# Fields that a GPU does not have are left out by dcgm-exporter.\n")
	seen := map[string]bool{}
	for _, d := range signals.Catalogue() {
		if d.Name != "dcgm" {
			continue
		}
		for _, r := range d.Rules {
			// The second spelling of a field clashes with the first.
			if seen[r.Metric] || r.Second && strings.Contains(r.Metric, "THROTTLE_REASONS") {
				continue
			}
			seen[r.Metric] = true
			kind := "gauge"
			if r.Type == signals.Counter {
				kind = "counter"
			}
			fmt.Fprintf(&b, "%s, %s, %s\n", r.Metric, kind, strings.TrimSpace(r.Signal.String()+" "+r.Detail))
		}
	}
	return b.String()
}

func TestCountersAreThoseOfTheCatalogue(t *testing.T) {
	if *updateCounters {
		require.NoError(t, os.WriteFile(countersFile, []byte(countersText()), 0o644))
	}
	have, err := os.ReadFile(countersFile)
	require.NoError(t, err)
	require.Equal(t, countersText(), string(have), "go test ./contrib -run Counters -update")
	lines := bufio.NewScanner(strings.NewReader(string(have)))
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "#") {
			require.Len(t, strings.Split(lines.Text(), ","), 3, "dcgm-exporter wants three columns: %s", lines.Text())
		}
	}
}
