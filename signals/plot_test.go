package signals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// The PromQL of a plot finds exactly the series of the thing, whatever labels
// its exporter uses, in the canonical unit.
func TestPlotsFindTheThing(t *testing.T) {
	var s scrapes
	const n = 20
	for _, h := range []string{"gpu-007", "gpu-0071", "gpu-008"} {
		inst := `instance="` + h + `.cluster.local:9100",job="node"`
		s.add(`node_infiniband_rate_bytes_per_second{`+inst+`,device="mlx5_3",port="1"}`, n, always(50e9))
		s.add(`node_infiniband_rate_bytes_per_second{`+inst+`,device="mlx5_30",port="1"}`, n, always(25e9))
		s.add(`node_infiniband_port_data_transmitted_bytes_total{`+inst+`,device="mlx5_3",port="1"}`, n, linear(0, 15e9))
		s.add(`DCGM_FI_DEV_SM_CLOCK{Hostname="`+h+`",gpu="3",UUID="GPU-`+h+`"}`, n, always(1980))
		s.add(`DCGM_FI_DEV_SM_CLOCK{Hostname="`+h+`",gpu="13",UUID="GPU-13`+h+`"}`, n, always(1000))
		for _, size := range []string{"1048576", "134217728"} {
			s.add(`nccl_collective_exec_time_microseconds{node="`+h+`",gpu="GPU3",slurm_job_id="48213",comm_name="dp",collective="AllReduce",n_nodes="3",nranks="3",message_size="`+size+`"}`, n, linear(2000, 1))
		}
	}
	// An address that only node_uname_info names.
	s.add(`node_uname_info{instance="10.0.0.9:9100",job="node",nodename="gpu-009",release="6.8"}`, n, always(1))
	s.add(`node_load1{instance="10.0.0.9:9100",job="node"}`, n, always(9))
	db := load(t, s.b.String())
	r := reader(t, db, signals.Options{})
	end := unix(t0 + 15*(n-1))
	r.Read(t.Context(), end.Add(-15*time.Second))
	r.Read(t.Context(), end)
	p := r.Plots()
	member := signals.Entity{Kind: signals.KindComm, Host: "gpu-007", Device: "GPU3", Job: "48213", Op: "AllReduce"}
	tests := map[string]struct {
		id    signals.ID
		e     signals.Entity
		want  float64
		peers int
		expr  string
	}{
		"a port":           {signals.NICRate, nic("gpu-007", "mlx5_3"), 50e9, 3, `node_infiniband_rate_bytes_per_second{device="mlx5_3",port="1",instance=~"gpu-007([.:].*)?"}`},
		"a counter":        {signals.NICTx, nic("gpu-008", "mlx5_3"), 1e9, 3, ""},
		"a GPU":            {signals.GPUSMClock, gpu("gpu-007", "GPU3"), 1.98e9, 6, `DCGM_FI_DEV_SM_CLOCK{gpu="3",Hostname="gpu-007"} * 1e+06`},
		"a member":         {signals.CollExecTime, member, 2019e-6, 3, ""},
		"a host by number": {signals.HostLoad, host("gpu-009"), 9, 1, `node_load1 and on (instance) node_uname_info{nodename=~"(?i)gpu-009([.:].*)?"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plot, ok := p.Of(tt.id, tt.e, nil, 0)
			require.True(t, ok)
			require.Equal(t, "prom", plot.Source)
			var res promapi.Result
			require.NoError(t, db.Querier().Instant(t.Context(), plot.Thing, end, &res), plot.Thing)
			require.Equal(t, 1, res.Len(), plot.Thing)
			require.InEpsilon(t, tt.want, res.Of(0)[0].V, 0.01, plot.Thing)
			require.NoError(t, db.Querier().Instant(t.Context(), plot.Peers, end, &res), plot.Peers)
			require.Equal(t, tt.peers, res.Len(), plot.Peers)
			if tt.expr != "" {
				require.Equal(t, tt.expr, plot.Thing)
			}
		})
	}
	plot, ok := p.Of(signals.NICRate, nic("gpu-007", "mlx5_3"), []string{"gpu-007", "gpu-008"}, 0)
	require.True(t, ok)
	var res promapi.Result
	require.NoError(t, db.Querier().Instant(t.Context(), plot.Peers, end, &res), plot.Peers)
	require.Equal(t, 2, res.Len(), plot.Peers)

	job, ok := p.Of(signals.CollExecTime, signals.Entity{Kind: signals.KindJob, Job: "48213"}, nil, 0)
	require.True(t, ok)
	require.Empty(t, job.Thing, "a job is no single series")

	_, ok = p.Of(signals.GPUXid, gpu("gpu-007", "GPU3"), nil, 0)
	require.False(t, ok, "nobody offers it")
	_, ok = (*signals.Plots)(nil).Of(signals.NICRate, nic("a", "b"), nil, 0)
	require.False(t, ok)
}

// A name in a label cannot leave its quotes.
func TestPlotsQuoteNames(t *testing.T) {
	var s scrapes
	s.add(`node_infiniband_rate_bytes_per_second{instance="gpu-007:9100",device="mlx5_3",port="1"}`, 3, always(50e9))
	db := load(t, s.b.String())
	r := reader(t, db, signals.Options{})
	r.Read(t.Context(), unix(t0+30))
	for _, hostile := range []string{`"} or vector(1) #`, `a\`, "a\nb", `(`, `[`, "\x00", `.*`} {
		plot, ok := r.Plots().Of(signals.NICRate, nic(hostile, hostile), []string{hostile, "x"}, 0)
		require.True(t, ok)
		for _, expr := range []string{plot.Thing, plot.Peers} {
			var res promapi.Result
			require.NoError(t, db.Querier().Instant(t.Context(), expr, unix(t0+30), &res), expr)
			require.Zero(t, res.Len(), expr)
		}
	}
}

func TestQueriesAreListed(t *testing.T) {
	db := load(t, `up{instance="a:1",job="node"} 1 1767600000`+"\n")
	r := reader(t, db, signals.Options{Custom: []signals.CustomSignal{{Name: "mine", Expr: "vector(1)"}}})
	r.Read(t.Context(), unix(t0))
	list := r.Queries()
	names := map[string]signals.QueryStat{}
	for _, q := range list {
		names[q.Name] = q
		require.NotEmpty(t, q.Expr)
	}
	require.Equal(t, 1, names["host"].Series)
	require.Equal(t, unix(t0), names["host"].OK)
	require.Contains(t, names, "custom mine")
}
