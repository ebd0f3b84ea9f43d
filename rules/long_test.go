//go:build long

package rules_test

import "testing"

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
