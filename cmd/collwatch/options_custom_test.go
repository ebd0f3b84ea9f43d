package main

import (
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/engine/custom"
	"github.com/collwatch/collwatch/signals"
)

// Labels that have a default or are set besides do not change what a signal of
// the user's own is about, and one that feeds the catalogue is judged as that.
func TestCustomSignalsReachTheOptions(t *testing.T) {
	cfg, err := config.Parse("test.toml", []byte(`
[[source]]
url = "http://prometheus.example:9090"
[detectors.transfer]
peer_score = 7
[[signals.custom]]
name = "loader"
expr = "loader_samples # of all workers"
entity = "job"
job_label = "job_id"
direction = "down"
type = "counter"
[[signals.custom]]
name = "latency"
expr = "node_load1 > 3"
rank_label = "rank"
unit = "seconds"
[[signals.custom]]
name = "card"
expr = "x"
entity = "gpu"
device_label = "gpu"
direction = "context"
[[signals.custom]]
name = "steps"
expr = "y"
entity = "job"
job_label = "job_id"
signal = "step_time"
[signals.steps]
count = "z"
job_label = "j"
[incidents.maintenance]
expr = "kube_node_spec_unschedulable == 1"
`), config.WithWords(words()))
	require.NoError(t, err)
	o, err := assembleOptions(cfg)
	require.NoError(t, err)
	const source = "prometheus.example:9090"
	require.Equal(t, []custom.Signal{
		{
			Name: "loader", Unit: "none", Counter: true, Direction: signals.Down,
			Source: source, Expr: "loader_samples # of all workers", Scale: 1, Labels: custom.Labels{Job: "job_id"},
		},
		{
			Name: "latency", Unit: "seconds", Direction: signals.Up,
			Source: source, Expr: "node_load1 > 3", Scale: 1, Labels: custom.Labels{Host: "instance"},
		},
		{
			Name: "card", Unit: "none", Direction: signals.Context,
			Source: source, Expr: "x", Scale: 1, Labels: custom.Labels{Host: "instance", Device: "gpu"},
		},
	}, o.custom.Signals)
	require.Equal(t, 7.0, o.custom.Limits.PeerScore)

	list := o.signals.Custom
	require.Len(t, list, 6)
	require.Equal(t, [2]string{"", "job_id"}, [2]string{list[0].Host, list[0].Job}, "a job is not told by the host that exports it")
	require.Equal(t, [2]string{"instance", ""}, [2]string{list[1].Host, list[1].Rank})
	require.Equal(t, [2]string{"instance", "gpu"}, [2]string{list[2].Host, list[2].GPU})
	for _, c := range list {
		_, err := parser.NewParser(parser.Options{}).ParseExpr(c.Expr)
		require.NoError(t, err, c.Expr)
		require.Contains(t, c.Expr, `"collwatch_signal", "`+c.Name+`"`, "no series is that of the catalogue")
	}
}
