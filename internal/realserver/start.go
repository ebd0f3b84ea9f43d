package realserver

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// StartPrometheus starts a Prometheus with the given configuration file text
// and further flags. It accepts remote writes and reload by HTTP, and keeps
// data of any age. Data laid into a folder beforehand is used by giving
// "--storage.tsdb.path=FOLDER" as a flag.
func StartPrometheus(t testing.TB, config string, flags ...string) *Server {
	t.Helper()
	return start(t, Binary(t, prometheusProgram), "/-/ready", func(s *Server, port string) []string {
		write(t, s.Dir, "prometheus.yml", config)
		return override([]string{
			"--config.file=prometheus.yml",
			"--storage.tsdb.path=data",
			"--storage.tsdb.retention.time=50y",
			"--web.listen-address=127.0.0.1:" + port,
			"--web.enable-lifecycle",
			"--web.enable-remote-write-receiver",
		}, flags)
	})
}

// override appends flags to defaults and drops those defaults that they name:
// a flag given twice is an error.
func override(defaults, flags []string) []string {
	return append(slices.DeleteFunc(defaults, func(d string) bool {
		name, _, _ := strings.Cut(d, "=")
		return slices.ContainsFunc(flags, func(f string) bool {
			n, _, _ := strings.Cut(f, "=")
			return n == name
		})
	}), flags...)
}

// StartAlertmanager starts an Alertmanager with the given configuration file
// text. Peers are the Cluster addresses of others; without peers it can become
// the first member of a cluster.
func StartAlertmanager(t testing.TB, config string, peers ...string) *Server {
	t.Helper()
	return start(t, Binary(t, alertmanagerProgram), "/-/ready", func(s *Server, port string) []string {
		write(t, s.Dir, "alertmanager.yml", config)
		s.Cluster = "127.0.0.1:" + FreePort(t)
		args := []string{
			"--config.file=alertmanager.yml",
			"--storage.path=data",
			"--web.listen-address=127.0.0.1:" + port,
			"--cluster.listen-address=" + s.Cluster,
			"--cluster.advertise-address=" + s.Cluster,
			// Alone or not, tests do not wait for gossip to settle.
			"--cluster.settle-timeout=1s",
			"--cluster.gossip-interval=50ms",
			"--cluster.pushpull-interval=1s",
			// A member further back tells people only after this time, from what it
			// knew before. As in a cluster of people it is shorter than the interval
			// of a group, or a turn of the state in between is told twice.
			"--cluster.peer-timeout=1s",
		}
		for _, p := range peers {
			args = append(args, "--cluster.peer="+p)
		}
		return args
	})
}

// StartNodeExporter starts a node_exporter that reads text files from a folder
// and nothing else but a few cheap collectors.
func StartNodeExporter(t testing.TB, textfileDir string) *Server {
	t.Helper()
	return start(t, Binary(t, nodeExporterProgram), "/metrics", func(_ *Server, port string) []string {
		return []string{
			"--web.listen-address=127.0.0.1:" + port,
			"--collector.disable-defaults",
			"--collector.textfile", "--collector.textfile.directory=" + textfileDir,
			"--collector.infiniband", "--collector.pressure", "--collector.uname", "--collector.time",
		}
	})
}

// Reload writes a new configuration file and makes Prometheus or Alertmanager
// read it.
func (s *Server) Reload(config string) {
	s.t.Helper()
	for _, name := range []string{"prometheus.yml", "alertmanager.yml"} {
		if _, err := os.Stat(filepath.Join(s.Dir, name)); err == nil {
			write(s.t, s.Dir, name, config)
		}
	}
	resp, err := http.Post(s.URL+"/-/reload", "", nil)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	require.Equal(s.t, http.StatusOK, resp.StatusCode, "reload")
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}
