package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// TestHostsOutOfService reads an expression, the scheduler and a file as the
// daemon does, from series in a real store: who is out of service, who is back,
// and that a failed query puts nobody back.
func TestHostsOutOfService(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "maintenance")
	require.NoError(t, os.WriteFile(list, []byte("gpu-004 swap of the PSU\n"), 0o600))
	for name, label := range map[string]string{"with the label named": `host_label = "machine"`, "with the usual labels": ""} {
		t.Run(name, func(t *testing.T) {
			from := "machine"
			if label == "" {
				from = "instance"
			}
			path := filepath.Join(dir, "collwatch.toml")
			require.NoError(t, os.WriteFile(path, []byte("[[source]]\nurl = \"http://x\"\n[[alertmanager.target]]\nurl = \"http://y\"\n"+
				"[incidents.maintenance]\nfile = \""+list+"\"\nexpr = \"work_order_open\"\n"+label+"\n"), 0o600))
			cfg, err := config.Load(path)
			require.NoError(t, err)

			db, err := embedprom.Open(embedprom.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			at := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
			add := func(at time.Time, value float64, series ...string) {
				sink := db.Appender()
				require.NoError(t, sink.Append(sink.Series(series...), at.UnixMilli(), value))
				require.NoError(t, sink.Commit())
			}
			add(at, 1, "__name__", "work_order_open", from, "gpu-001")
			add(at, 0, "__name__", "work_order_open", from, "gpu-002")
			add(at, 1, "__name__", "slurm_node_info", "node_name", "gpu-003", "state_base", "IDLE", "state_is_drain", "true")

			q := &failing{Querier: db.Querier()}
			so, err := signalOptions(cfg)
			require.NoError(t, err)
			reader, err := signals.NewReader(so, map[string]promapi.Querier{so.Source: q})
			require.NoError(t, err)
			o := newOutages(cfg)
			require.NoError(t, o.refresh())
			look := func(at time.Time) (out []string) {
				o.learn(reader.Read(t.Context(), at))
				for _, h := range []string{"gpu-001", "gpu-002", "gpu-003", "gpu-004"} {
					if why := o.list.Reason(h, "", at); why != "" {
						out = append(out, h+": "+why)
					}
				}
				return out
			}
			all := []string{"gpu-001: in maintenance", "gpu-003: scheduler: drained", "gpu-004: swap of the PSU"}
			require.Equal(t, all, look(at.Add(time.Second)))
			q.down = true
			require.Equal(t, all, look(at.Add(16*time.Second)), "a failed query puts nobody back")
			q.down = false
			later := at.Add(10 * time.Minute)
			add(later, 0, "__name__", "work_order_open", from, "gpu-001")
			add(later, 1, "__name__", "slurm_node_info", "node_name", "gpu-003", "state_base", "IDLE", "state_is_drain", "true")
			require.Equal(t, all[1:], look(later.Add(time.Second)), "the work is done")
		})
	}
}

// failing is a store that does not answer while it is down.
type failing struct {
	promapi.Querier
	down bool
}

func (f *failing) Instant(ctx context.Context, expr string, at time.Time, r *promapi.Result) error {
	if f.down {
		return context.DeadlineExceeded
	}
	return f.Querier.Instant(ctx, expr, at, r)
}
