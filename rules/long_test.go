//go:build long

package rules_test

import (
	"testing"

	"github.com/collwatch/collwatch/sim"
)

// TestLongUnitTests runs the unit tests for every set of exporters.
func TestLongUnitTests(t *testing.T) {
	for name, metrics := range installations() {
		t.Run(name, func(t *testing.T) { runUnitTests(t, metrics) })
	}
}

// TestLongRealPromtoolTests runs those of every class, with the rules of all
// exporters, under both promtools.
func TestLongRealPromtoolTests(t *testing.T) {
	for version, promtool := range promtools(t) {
		t.Run(version, func(t *testing.T) { runPromtool(t, promtool, nil) })
	}
}

// TestLongRulesAgreeWithTheDaemon runs every scenario with one fault or none.
func TestLongRulesAgreeWithTheDaemon(t *testing.T) {
	var ids []string
	for _, s := range sim.Scenarios() {
		if s.ID[0] == 'S' || s.ID[0] == 'N' {
			ids = append(ids, s.ID)
		}
	}
	agree(t, ids...)
}
