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

// TestHangOfRealProcesses goes from the profiler plugin in real processes to the
// alert: four ranks do all-reduces over TCP, one of them is stopped, and the
// daemon names it from what the plugin counted.
func TestHangOfRealProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	dir := t.TempDir()
	build := filepath.Join(dir, "build")
	run(t, "make", "-s", "-C", "../../plugin", "BUILD="+build, "fakerank")
	run(t, "go", "build", "-o", dir, "../../cmd/collwatch-exporter")

	shm := filepath.Join(dir, "shm")
	require.NoError(t, os.Mkdir(shm, 0o700))
	ranks := startRanks(t, build, shm, 4)
	exporter := freeAddress(t)
	background(t, filepath.Join(dir, "collwatch-exporter"), "--dir", shm, "--web.listen-address", exporter)

	r := &rig{t: t, size: size{interval: 2 * time.Second}, dir: dir, log: &syncBuffer{}, address: freeAddress(t)}
	r.bin = filepath.Join(dir, "collwatch")
	run(t, "go", "build", "-o", r.bin, "../../cmd/collwatch")
	r.alertmanager = realserver.StartAlertmanager(t, alertmanagerConfig)
	r.prometheus = realserver.StartPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - job_name: collwatch
    static_configs: [{targets: [%q]}]
`, exporter))
	r.prometheusURL = r.prometheus.URL
	r.configure("\n[diagnosis]\nstall_suspect = \"10s\"\nstall_unknown = \"20s\"\n")
	r.start()
	r.eventually("the daemon sees the job at work", time.Minute, func() bool {
		return metric(t, "http://"+r.address+"/metrics", "collwatch_series_seen") > 50
	})
	evaluations := func() float64 { return metric(t, "http://"+r.address+"/metrics", "collwatch_evaluations_total") }
	until := evaluations() + 30
	r.eventually("a minute of training is quiet", 3*time.Minute, func() bool { return evaluations() >= until })
	require.Empty(t, r.alerts())

	require.NoError(t, ranks[2].Signal(syscall.SIGSTOP))
	r.eventually("the hang is an alert", 2*time.Minute, func() bool {
		for _, a := range r.alerts() {
			if a.Labels["class"] == "collective_stall" && a.Labels["suspect_kind"] != "unknown" {
				return true
			}
		}
		return false
	})
	all := r.alerts()
	require.Len(t, all, 1)
	t.Logf("labels %v", all[0].Labels)
	t.Logf("annotations %v", all[0].Annotations)
	require.Equal(t, "rank_behind", all[0].Annotations["reason"])
	require.Contains(t, all[0].Annotations["evidence"], "rank 2")
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// background runs a program until the test ends.
func background(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// startRanks starts n processes in a ring, each with the plugin loaded.
func startRanks(t *testing.T, build, shm string, n int) []*os.Process {
	t.Helper()
	ports := make([]string, n)
	for i := range ports {
		_, port, err := net.SplitHostPort(freeAddress(t))
		require.NoError(t, err)
		ports[i] = port
	}
	var out []*os.Process
	for i := range n {
		cmd := exec.Command(filepath.Join(build, "fakerank"), "--rank", strconv.Itoa(i), "--nranks", strconv.Itoa(n),
			"--port", ports[i], "--next", "127.0.0.1:"+ports[(i+1)%n], "--compute-ms", "20")
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+build, "NCCL_PROFILER_PLUGIN=collwatch", "COLLWATCH_DIR="+shm, "COLLWATCH_JOB=77001",
			"RANK="+strconv.Itoa(i), "LOCAL_RANK="+strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		out = append(out, cmd.Process)
	}
	return out
}
