package signals

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/promapi"
)

// churn is a querier whose jobs change every hour.
type churn struct {
	in  *promapi.Interner
	job int
}

func (c *churn) Interner() *promapi.Interner { return c.in }

func (c *churn) Instant(_ context.Context, expr string, at time.Time, dst *promapi.Result) error {
	dst.Reset()
	add := func(v float64, kv ...string) {
		var ls promapi.Labels
		for i := 0; i < len(kv); i += 2 {
			ls = append(ls, promapi.Label{Name: kv[i], Value: kv[i+1]})
		}
		dst.Begin(c.in.Intern(ls))
		dst.Add(at.UnixMilli(), v)
	}
	s := float64(at.Unix())
	switch {
	case len(expr) > 40 && expr[:40] == `{__name__=~"nccl_collective_exec_time_mi`:
		add(s, "__name__", "nccl_collective_exec_time_microseconds", "slurm_job_id", fmt.Sprint(c.job), "node", "a", "gpu", "GPU0", "comm_name", "x",
			"n_nodes", "2", "nranks", "2", "collective", "AllReduce", "message_size", "1-2MB", "instance", "a:9100", "job", "node")
	case len(expr) > 30 && expr[:30] == `{__name__=~"node_infiniband_in`:
		add(2*s, "__name__", "node_infiniband_symbol_error_total", "device", "mlx5_0", "port", "1", "instance", "a:9100", "job", "node")
	}
	return nil
}

func (c *churn) Range(context.Context, string, promapi.Window, *promapi.Result) error { return nil }
func (c *churn) LabelValues(context.Context, string, []string, promapi.Window) ([]string, error) {
	return nil, nil
}

// Forgetting old jobs gives out new numbers and loses nothing of the living.
func TestForgettingKeepsTheLiving(t *testing.T) {
	q := &churn{in: promapi.NewInterner()}
	r, err := NewReader(Options{}, map[string]promapi.Querier{"p": q})
	require.NoError(t, err)
	at := time.Unix(1767600000, 0)
	nic := Entity{Kind: KindNIC, Host: "a", Device: "mlx5_0", Port: "1"}
	for q.job = range 20 {
		for range 3 {
			at = at.Add(15 * time.Second)
			r.Read(t.Context(), at)
		}
		at = at.Add(8 * time.Hour)
	}
	at = at.Add(-8 * time.Hour)
	entities, slots, jobs := r.entities.Len(), len(r.slots), len(r.jobs.list)
	r.renumber()
	for _, s := range r.sources {
		r.renew(s, r.now-600_000)
	}
	require.Less(t, r.entities.Len(), entities/4)
	require.Less(t, len(r.slots), slots/4)
	require.Less(t, len(r.jobs.list), jobs/4)
	require.Equal(t, uint64(1), r.generation)
	at = at.Add(15 * time.Second)
	s := r.Read(t.Context(), at)
	require.Equal(t, uint64(1), s.Generation)
	require.Equal(t, 2.0, s.Get(NICSymbolErrors, nic), "the counter goes on")
	require.Equal(t, 1, s.Frame(CollExecTime).Len())
	require.Len(t, s.Groups, 1)
	require.Len(t, s.Jobs, 1)
	require.Equal(t, "19", s.Jobs[0].ID)
}
