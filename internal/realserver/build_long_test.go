//go:build long

package realserver

import "testing"

// TestLongServersAreBuilt fills the cache with the servers of the long tests.
func TestLongServersAreBuilt(t *testing.T) {
	for _, p := range []Program{victoriaMetricsProgram, thanosProgram} {
		Binary(t, p)
	}
}
