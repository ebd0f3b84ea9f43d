package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
)

// hangRig is real processes with the real profiler plugin, two exporters that
// play two nodes, a real Prometheus and the real daemon.
type hangRig struct {
	*rig
	build     string // of the plugin
	folders   []string
	exporters []string // addresses
}

// startHangRig starts everything but jobs.
func startHangRig(t testing.TB) *hangRig {
	t.Helper()
	dir := t.TempDir()
	h := &hangRig{
		rig: &rig{
			t: t, size: size{interval: 2 * time.Second}, dir: dir, log: &syncBuffer{}, address: freeAddress(t),
			prometheusKind: "prometheus", offset: time.Second,
		},
		build: filepath.Join(dir, "build"),
	}
	run(t, "make", "-s", "-C", "../../plugin", "BUILD="+h.build, "fakerank")
	h.bin = filepath.Join(dir, "collwatch")
	run(t, "go", "build", "-o", h.bin, "../../cmd/collwatch")
	run(t, "go", "build", "-o", dir, "../../cmd/collwatch-exporter")
	for node := range 2 {
		folder := filepath.Join(dir, fmt.Sprintf("shm-%d", node))
		require.NoError(t, os.Mkdir(folder, 0o700))
		address := freeAddress(t)
		background(t, filepath.Join(dir, "collwatch-exporter"), "--dir", folder, "--web.listen-address", address,
			"--node.name", fmt.Sprintf("node-%d", node), "--log.level", "warn")
		h.folders, h.exporters = append(h.folders, folder), append(h.exporters, address)
	}
	h.alertmanager = realserver.StartAlertmanager(t, alertmanagerConfig)
	h.prometheus = realserver.StartPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - job_name: collwatch
    static_configs: [{targets: [%q, %q]}]
`, h.exporters[0], h.exporters[1]))
	h.prometheusURL = h.prometheus.URL
	h.configure(`
[diagnosis]
start_time = "30s"
stall_fact = "10s"
stall_minority = "20s"
stall_alike = "50s"

[incidents.class.collective_stall]
pending = 2
resolve = 3
`)
	h.start()
	return h
}

// ranks is one training job.
type ranks []*exec.Cmd

// job starts n ranks in a ring, the first half of them on the first node.
func (h *hangRig) job(id string, n int, args ...string) ranks {
	h.t.Helper()
	ports := make([]string, n)
	for i := range ports {
		_, port, err := net.SplitHostPort(freeAddress(h.t))
		require.NoError(h.t, err)
		ports[i] = port
	}
	var out ranks
	for i := range n {
		cmd := exec.Command(filepath.Join(h.build, "fakerank"), append([]string{
			"--rank", strconv.Itoa(i), "--nranks", strconv.Itoa(n), "--port", ports[i], "--next", "127.0.0.1:" + ports[(i+1)%n],
			"--compute-ms", "40", "--comm", "0x" + id + "c0ffee",
		}, args...)...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+h.build, "NCCL_PROFILER_PLUGIN=collwatch", "COLLWATCH_DIR="+h.folders[2*i/n],
			"COLLWATCH_JOB="+id, "RANK="+strconv.Itoa(i), "LOCAL_RANK="+strconv.Itoa(i%(n/2)))
		cmd.Stderr = os.Stderr
		begin(h.t, cmd)
		out = append(out, cmd)
	}
	return out
}

func (r ranks) signal(t testing.TB, s syscall.Signal, which ...int) {
	t.Helper()
	for _, i := range which {
		require.NoError(t, r[i].Process.Signal(s))
	}
}

// end kills a job. Its exporters show dead processes for a while.
func (r ranks) end() {
	for _, cmd := range r {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// evaluations waits for n evaluations of the daemon that begin from now on.
func (h *hangRig) evaluations(what string, n float64) {
	h.t.Helper()
	count := func() float64 { return metric(h.t, "http://"+h.address+"/metrics", "collwatch_evaluations_total") }
	until := count() + n
	h.eventually(what, 5*time.Minute, func() bool { return count() >= until })
}

// stalls lists the alerts about a job.
func (h *hangRig) stalls(job string) []alert {
	var out []alert
	for _, a := range h.alerts() {
		if a.Labels["job_id"] == job {
			out = append(out, a)
		}
	}
	return out
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// background runs a program until the test ends.
func background(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	begin(t, cmd)
	return cmd
}

// begin starts a process that ends with the test, stopped or not.
func begin(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}
