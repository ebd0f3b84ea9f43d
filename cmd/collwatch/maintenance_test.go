package main

import (
	"log/slog"
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
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "maintenance"), []byte("gpu-003/mlx5_5 until=2036-01-01T00:00:00Z cable swap\n"), 0o600))
	path := filepath.Join(dir, "collwatch.toml")
	text := "[global]\nstate_dir = \"" + t.TempDir() + "\"\n[[source]]\nurl = \"http://127.0.0.1:1\"\n[incidents.maintenance]\nfile = \"maintenance\"\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	cfg, err := loadConfig(path)
	require.NoError(t, err)
	d, err := newDaemon(path, cfg, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.store.Close()) })
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
