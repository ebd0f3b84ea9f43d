package exporter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTwoContainers: two processes with the same pid in two pid namespaces are two processes, both alive, and the death of
// one is not that of the other.
func TestTwoContainers(t *testing.T) {
	needTool(t, "unshare")
	if err := exec.CommandContext(t.Context(), "unshare", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("no pid namespaces here: %v", err)
	}
	build, r := fakerank(t), &ring{t: t, dir: t.TempDir()}
	t.Cleanup(r.stop)
	for i := range 2 {
		port := strconv.Itoa(freePort(t))
		cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", filepath.Join(build, "fakerank"),
			"--rank", "0", "--nranks", "1", "--port", port, "--next", "127.0.0.1:"+port, "--comm", strconv.Itoa(100+i))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+build, "COLLWATCH_DIR="+r.dir, fmt.Sprintf("COLLWATCH_JOB=job-%d", i))
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		r.ranks = append(r.ranks, cmd)
	}
	scrape, _ := served(t, r, nil)
	v := until(t, scrape, "both count", func(v view) bool {
		a, _ := v.sum("ops_completed_total", "job_id=job-0")
		b, _ := v.sum("ops_completed_total", "job_id=job-1")
		return a > 5 && b > 5
	})
	require.InDelta(t, 2, v.get(t, "process_up"), 0)
	_, inner := v.sum("process_up", "pid=1")
	require.Zero(t, inner, "the label is the number on the host, not the one in the container")
	killOnHost(t, v, "job-0")
	v = until(t, scrape, "one is dead", func(v view) bool { n, _ := v.sum("process_up", "job_id=job-0"); return n == 0 })
	require.InDelta(t, 1, v.get(t, "process_up", "job_id=job-1"), 0)
	before := v.get(t, "ops_completed_total", "job_id=job-1")
	until(t, scrape, "the other goes on", func(v view) bool { n, _ := v.sum("ops_completed_total", "job_id=job-1"); return n > before })
}

// killOnHost kills the process of a job by the number that the exporter gives for it.
func killOnHost(t *testing.T, v view, job string) {
	t.Helper()
	for labels := range v[prefix+"process_up"] {
		if m := regexp.MustCompile(`job_id="` + job + `".*pid="(\d+)"`).FindStringSubmatch(labels); m != nil {
			pid, err := strconv.Atoi(m[1])
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	t.Fatalf("no process of %s", job)
}
