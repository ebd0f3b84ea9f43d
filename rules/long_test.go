//go:build long

package rules_test

import "testing"

// TestLongUnitTests runs the unit tests for every set of exporters.
func TestLongUnitTests(t *testing.T) {
	for name, metrics := range installations() {
		t.Run(name, func(t *testing.T) { runUnitTests(t, metrics) })
	}
}
