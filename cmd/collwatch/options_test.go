package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
)

// TestDefaultsAreTheCodes holds the documented defaults to those that apply
// without a configuration: a key that is not set changes nothing.
func TestDefaultsAreTheCodes(t *testing.T) {
	cfg := config.Default()
	require.Equal(t, detectors.NewBank(detectors.Options{}).Options(), detectors.NewBank(detectorOptions(&cfg)).Options())

	o, err := diagnosisOptions(&cfg)
	require.NoError(t, err)
	require.Equal(t, diagnosis.New(diagnosis.Options{}).Options(), diagnosis.New(o).Options())
}

// TestKeysReachTheOptions changes one key of each kind.
func TestKeysReachTheOptions(t *testing.T) {
	cfg, err := config.Parse("test.toml", []byte(`
[global]
shard = "2/8"
[[source]]
url = "http://prometheus.example:9090"
[detectors]
disabled = ["gpu_heat"]
[detectors.lateness]
ratio = 0.4
host_windows = 9
[detectors.ewma]
learn = 40
[diagnosis]
stall_alike = "7m"
init_stall = "2h"
[incidents]
disabled_classes = ["gpu_throttle"]
`), config.WithWords(words()))
	require.NoError(t, err)
	d := detectorOptions(cfg)
	require.Equal(t, 0.4, d.Lateness.Ratio)
	require.Equal(t, 40, d.Transfer.EWMA.WarmUp)
	require.Equal(t, "2h0m0s", d.Progress.InitLimit.String())
	require.NotContains(t, detectors.NewBank(d).Names(), "gpu_heat")
	o, err := diagnosisOptions(cfg)
	require.NoError(t, err)
	require.Equal(t, 9, o.HostWindows)
	require.Equal(t, "7m0s", o.StallAlike.String())
	require.Equal(t, diagnosis.Shard{Index: 2, Count: 8}, o.Shard)
	require.True(t, o.Disabled[diagnosis.GPUThrottle])
}

// TestRankMapsOfSeveralJobs: each job may have a file of its own, and the last
// one counts where two are of one job.
func TestRankMapsOfSeveralJobs(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	for name, text := range map[string]string{
		"1": "job,rank,node,gpu\n1,0,gpu-001,0\n2,0,gpu-001,0\n",
		"2": "job,rank,node,gpu\n2,0,gpu-002,0\n2,1,gpu-002,1\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range []string{"1", "2"} {
		cfg.Topology.Files = append(cfg.Topology.Files, config.TopologyFile{Kind: "rank_map", Path: filepath.Join(dir, name)})
	}
	o, err := signalOptions(&cfg)
	require.NoError(t, err)
	require.Len(t, o.RankMap.Jobs["1"], 1)
	require.Len(t, o.RankMap.Jobs["2"], 2)
	require.Equal(t, "gpu-002", o.RankMap.Jobs["2"][0].Host)
}
