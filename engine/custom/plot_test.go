package custom

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

func TestPlot(t *testing.T) {
	o := Options{Interval: interval, Signals: []Signal{
		{Name: "latency", Unit: "seconds", Source: "main", Expr: `disk_seconds{fs!="tmpfs"}`, Scale: 1e-6, Labels: Labels{Host: "instance", Job: "job_id", Detail: "disk"}},
		{Name: "retries", Counter: true, Expr: "a_total / b_total", Labels: Labels{Host: "node", Device: "nic"}},
		{Name: "sent", Unit: "bytes", Counter: true, Expr: "sent_total", Labels: Labels{Host: "node", Device: "gpu"}},
		{Name: "loss", Expr: "drops", Labels: Labels{Device: "switch", Port: "port"}},
		{Name: "steps", Expr: "steps", Labels: Labels{Job: "job_id"}},
	}}
	for name, c := range map[string]struct {
		e     signals.Entity
		hosts []string
		want  signals.Plot
	}{
		"host": {
			signals.Entity{Kind: signals.KindHost, Host: "gpu-007", Job: "7", Detail: "latency nvme0"},
			[]string{"gpu-007", "gpu-008"},
			signals.Plot{
				Source: "main", Unit: "s",
				Thing: `(disk_seconds{disk=~"(?i)nvme0",fs!="tmpfs",instance=~"(?i)(?:gpu-007)([.:].*)?",job_id="7"}) * 1e-06`,
				Peers: `(disk_seconds{disk=~"(?i)nvme0",fs!="tmpfs",instance=~"(?i)(?:gpu-007|gpu-008)([.:].*)?",job_id="7"}) * 1e-06`,
			},
		},
		"NIC, of a ratio of counters": {
			signals.Entity{Kind: signals.KindNIC, Host: "gpu-007", Device: "mlx5_3", Detail: "retries"},
			nil,
			signals.Plot{
				Unit:  "count",
				Thing: `rate((a_total{nic=~"(?i)mlx5_3",node=~"(?i)(?:gpu-007)([.:].*)?"} / b_total{nic=~"(?i)mlx5_3",node=~"(?i)(?:gpu-007)([.:].*)?"})[120s:15s])`,
				Peers: `rate((a_total{nic="mlx5_3"} / b_total{nic="mlx5_3"})[120s:15s])`,
			},
		},
		"GPU": {
			signals.Entity{Kind: signals.KindGPU, Host: "gpu-007", Device: "GPU3", Detail: "sent"},
			nil,
			signals.Plot{Unit: "B/s", Thing: `rate(sent_total{gpu=~"(?i)(gpu|nvidia)?3",node=~"(?i)(?:gpu-007)([.:].*)?"}[120s])`, Peers: `rate(sent_total[120s])`},
		},
		"port of a switch": {
			signals.Entity{Kind: signals.KindSwitchPort, Device: "leaf-1", Port: "7", Detail: "loss"},
			nil,
			signals.Plot{Unit: "number", Thing: `drops{port="7",switch=~"(?i)leaf-1"}`, Peers: `drops`},
		},
		"job": {
			signals.Entity{Kind: signals.KindJob, Job: "7", Detail: "steps"},
			nil,
			signals.Plot{Unit: "number", Peers: `steps{job_id="7"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := o.Plot(c.e, c.hosts)
			require.True(t, ok)
			require.Equal(t, c.want, got)
			for _, expr := range []string{got.Thing, got.Peers} {
				if expr != "" {
					_, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
					require.NoError(t, err)
				}
			}
		})
	}
	_, ok := o.Plot(signals.Entity{Kind: signals.KindHost, Detail: "gone"}, nil)
	require.False(t, ok)
}

// Names come from other people's series: they stay text within an expression.
func TestPlotQuotesNames(t *testing.T) {
	o := Options{Interval: time.Second, Signals: []Signal{{Name: "x", Expr: "x", Labels: Labels{Host: "h", Job: "j", Detail: "d"}}}}
	plot, ok := o.Plot(signals.Entity{Kind: signals.KindHost, Host: `a"} or up{b=".*`, Job: `7"`, Detail: `x (.*"\`}, []string{"a|b", `c"`})
	require.True(t, ok)
	for _, text := range []string{plot.Thing, plot.Peers} {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
		require.NoError(t, err, text)
		require.IsType(t, &parser.VectorSelector{}, expr, text)
	}
}
