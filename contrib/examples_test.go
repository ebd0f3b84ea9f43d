package contrib

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSlurmTaskProlog: it sets what is needed, leaves a job's own choice alone, and is silent where no exporter runs.
func TestSlurmTaskProlog(t *testing.T) {
	run := func(env ...string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "slurm/task_prolog.sh")
		cmd.Env = env
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Empty(t, run("NCCL_PROFILER_PLUGIN=other"))
	if _, err := os.Stat("/dev/shm/collwatch"); err != nil {
		require.Empty(t, run())
		return
	}
	require.Contains(t, run(), "export NCCL_PROFILER_PLUGIN=/usr/lib/collwatch/libnccl-profiler-collwatch.so\n")
	require.NotContains(t, run("COLLWATCH_MODE=light"), "COLLWATCH_MODE")
}
