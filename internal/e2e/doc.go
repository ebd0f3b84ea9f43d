// Package e2e proves the main job on real servers: a simulated cluster is
// scraped by a real Prometheus and node_exporter, the collwatch binary watches
// it and delivers to a real Alertmanager.
//
// It exists since only real servers show what a client got wrong. Slack alone
// is a fake, since no real one can be reached from a test.
package e2e
