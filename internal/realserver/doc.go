// Package realserver starts real Prometheus, Alertmanager, node_exporter,
// VictoriaMetrics and Thanos servers for tests.
//
// It exists since a fake proves only what its author believed. The servers are
// built once by the Go tool, from pinned versions, into the cache of the user,
// and run on loopback ports with folders that vanish with the test.
package realserver
