package main

import (
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
