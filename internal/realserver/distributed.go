package realserver

import (
	"net"
	"testing"
)

// StartVictoriaMetrics starts a single-node VictoriaMetrics that scrapes as the
// given Prometheus configuration says. Its defaults stand, so the last 30 s are
// hidden from queries.
func StartVictoriaMetrics(t testing.TB, config string, flags ...string) *Server {
	t.Helper()
	return start(t, Binary(t, victoriaMetricsProgram), "/health", func(s *Server, port string) []string {
		write(t, s.Dir, "scrape.yml", config)
		return override([]string{
			"-promscrape.config=scrape.yml",
			// It knows no refresh_interval in the file.
			"-promscrape.config.strictParse=false",
			"-promscrape.httpSDCheckInterval=10s",
			"-storageDataPath=data",
			"-retentionPeriod=50y",
			"-httpListenAddr=127.0.0.1:" + port,
		}, flags)
	})
}

// StartThanosSidecar starts the side of a Prometheus that a Thanos querier asks.
// The Prometheus must have external labels. Cluster is the address for a querier.
func StartThanosSidecar(t testing.TB, prometheus *Server) *Server {
	t.Helper()
	return start(t, Binary(t, thanosProgram), "/-/ready", func(s *Server, port string) []string {
		s.Cluster = net.JoinHostPort("127.0.0.1", FreePort(t))
		return []string{
			"sidecar",
			"--prometheus.url=" + prometheus.URL,
			"--tsdb.path=" + prometheus.Dir + "/data",
			"--http-address=127.0.0.1:" + port,
			"--grpc-address=" + s.Cluster,
		}
	})
}

// StartThanosQuery starts a querier over sidecars, of which replicas differ in
// the label "replica".
func StartThanosQuery(t testing.TB, sidecars ...*Server) *Server {
	t.Helper()
	return start(t, Binary(t, thanosProgram), "/-/ready", func(_ *Server, port string) []string {
		args := []string{
			"query",
			"--http-address=127.0.0.1:" + port,
			"--grpc-address=127.0.0.1:" + FreePort(t),
			"--query.replica-label=replica",
		}
		for _, s := range sidecars {
			args = append(args, "--endpoint="+s.Cluster)
		}
		return args
	})
}
