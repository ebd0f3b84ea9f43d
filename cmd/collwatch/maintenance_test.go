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
