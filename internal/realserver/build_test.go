package realserver

import "testing"

// TestServersAreBuilt fills the cache; `make test` runs it first and alone.
func TestServersAreBuilt(t *testing.T) {
	for _, p := range []Program{prometheusProgram, alertmanagerProgram, nodeExporterProgram, promtoolProgram, vmalertProgram} {
		Binary(t, p)
	}
}
