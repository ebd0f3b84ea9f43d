package signals_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

var update = flag.Bool("update", false, "write golden files and the catalogue page anew")

func TestCataloguePage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, signals.WriteCatalogue(&b))
	golden(t, filepath.Join("..", "docs", "signals.md"), b.Bytes())
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update")
	require.Equal(t, string(want), string(got), "run with -update if this is meant")
}

func TestCatalogueIsSound(t *testing.T) {
	names := map[string]bool{}
	offered := map[signals.ID]bool{}
	for _, d := range signals.Catalogue() {
		require.False(t, names[d.Name], "dialect %s twice", d.Name)
		names[d.Name] = true
		require.NotEmpty(t, d.About, d.Name)
		require.NotEmpty(t, d.Exporter, d.Name)
		seen := map[string]bool{}
		for _, r := range d.Rules {
			require.NotEqual(t, signals.None, r.Signal, "%s %s", d.Name, r.Metric)
			key := r.Metric
			for _, w := range r.Where {
				key += w
			}
			require.False(t, seen[key], "%s has %s twice", d.Name, key)
			seen[key] = true
			offered[r.Signal] = true
			if r.Pattern {
				_, err := regexp.Compile(r.Metric)
				require.NoError(t, err)
			} else {
				require.Regexp(t, `^[a-zA-Z_:][a-zA-Z0-9_:]*$`, r.Metric)
			}
		}
	}
	for id := signals.ID(1); int(id) < signals.Count; id++ {
		require.NotEmpty(t, id.String(), "signal %d has no name", id)
		back, ok := signals.ParseID(id.String())
		require.True(t, ok)
		require.Equal(t, id, back)
		switch id {
		case signals.Custom, signals.StepCount, signals.StepTime:
		default:
			require.True(t, offered[id], "no dialect offers %s", id)
		}
	}
	require.LessOrEqual(t, len(signals.Catalogue()), 60, "dialects are kept as bits of a word")
	for _, r := range signals.Requirements() {
		require.NotEmpty(t, r.Full, r.Class)
		require.NotEmpty(t, r.Coarse, r.Class)
	}
}
