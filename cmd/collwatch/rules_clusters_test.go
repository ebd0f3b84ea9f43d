package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
)

// TestClustersOfASource: hosts of several clusters in one server stay apart
// without being asked for, of one cluster nothing changes, and a fixed label wins.
func TestClustersOfASource(t *testing.T) {
	now := time.Unix(1_767_312_000, 0)
	for name, c := range map[string]struct {
		clusters []string
		set      func(o *rules.Options)
		kept     []string
	}{
		"one":       {clusters: []string{"a"}},
		"none":      {clusters: []string{""}},
		"two":       {clusters: []string{"a", "b"}, kept: []string{"cluster"}},
		"two, told": {clusters: []string{"a", "b"}, set: func(o *rules.Options) { o.KeepLabels = []string{"site", "cluster"} }, kept: []string{"site", "cluster"}},
		"two, more": {clusters: []string{"a", "b"}, set: func(o *rules.Options) { o.KeepLabels = []string{"site"} }, kept: []string{"site", "cluster"}},
		"fixed":     {clusters: []string{"a", "b"}, set: func(o *rules.Options) { o.Labels = map[string]string{"cluster": "x"} }},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := embedprom.Open(embedprom.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			sink := db.Appender()
			for _, cluster := range c.clusters {
				h := sink.Series("__name__", "node_infiniband_state_id", "instance", "i", "cluster", cluster)
				require.NoError(t, sink.Append(h, now.Add(-time.Minute).UnixMilli(), 4))
			}
			require.NoError(t, sink.Commit())
			o := rules.Default()
			if c.set != nil {
				c.set(&o)
			}
			require.NoError(t, askSources(t.Context(), map[string]promapi.Querier{"x": db.Querier()}, &o, now))
			require.Equal(t, []string{"node_infiniband_state_id"}, o.Metrics)
			require.Equal(t, c.kept, o.KeepLabels)
		})
	}
}
