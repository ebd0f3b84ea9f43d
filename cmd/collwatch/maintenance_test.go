package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// A daemon that has just started, and not only one that was reloaded, knows who
// is in maintenance.
func TestMaintenanceHoldsFromTheStart(t *testing.T) {
	list := filepath.Join(t.TempDir(), "maintenance")
	require.NoError(t, os.WriteFile(list, []byte("gpu-003/mlx5_5 until=2036-01-01T00:00:00Z cable swap\n"), 0o600))
	d := idleDaemon(t, fmt.Sprintf("[incidents.maintenance]\nfile = %q\n", list), nil)
	fault := func(device string) diagnosis.Verdict {
		return diagnosis.Verdict{
			Class: diagnosis.Class("nic_degraded"), Severity: diagnosis.Critical,
			Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "gpu-003", Device: device}},
		}
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 4 {
		d.manager.Apply(&diagnosis.Result{Time: at, Whole: true, Verdicts: []diagnosis.Verdict{fault("mlx5_5"), fault("mlx5_6")}})
		at = at.Add(15 * time.Second)
	}
	held := map[string]incidents.Withheld{}
	for _, inc := range d.manager.Live() {
		held[inc.Labels["suspect_device"]] = inc.Withheld
	}
	require.Equal(t, map[string]incidents.Withheld{"mlx5_5": incidents.InMaintenance, "mlx5_6": ""}, held)
}

// A reload puts nobody back into service: the scheduler may be silent at that
// moment, and the file out of reach.
func TestMaintenanceOutlivesAReload(t *testing.T) {
	list := filepath.Join(t.TempDir(), "maintenance")
	require.NoError(t, os.WriteFile(list, []byte("gpu-003 cable swap\n"), 0o600))
	d := idleDaemon(t, fmt.Sprintf("[incidents.maintenance]\nfile = %q\n", list), nil)
	from := d.current.Load()
	from.asm.outages.list.Set(map[string]string{"gpu-004": "scheduler: drained"})
	require.NoError(t, os.Remove(list))
	to, err := d.newGeneration(from.cfg)
	require.NoError(t, err)
	d.handOver(from, to)
	d.use(to)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	reason := to.asm.opts.incidents.Maintenance
	require.Equal(t, "scheduler: drained", reason("gpu-004", "", at))
	require.Equal(t, "cable swap", reason("gpu-003", "", at))
	require.Empty(t, reason("gpu-005", "", at))
	to.asm.outages.list.Set(nil)
	require.Empty(t, reason("gpu-004", "", at), "it is back")
}
