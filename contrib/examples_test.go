package contrib

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestKubernetesExamplesParse(t *testing.T) {
	files, err := filepath.Glob("kubernetes/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var object struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string
				Metadata   struct{ Name string }
			}
			err := decoder.Decode(&object)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
			require.NotEmpty(t, object.APIVersion+object.Kind+object.Metadata.Name, file)
		}
	}
}

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
