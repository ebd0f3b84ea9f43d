package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// A Prometheus that only watches itself is told from one that scrapes GPU
// nodes.
func TestCoverageOfAnotherServer(t *testing.T) {
	c := &signals.Coverage{Signals: []signals.SignalCoverage{
		{Signal: "target_up", Dialect: "prometheus", Entities: 3}, {Signal: "nic_rate"}, {Signal: "gpu_temp", Dialect: "dcgm"},
	}}
	require.False(t, seesAnything(c))
	c.Signals[2].Entities = 1
	require.True(t, seesAnything(c))
}
