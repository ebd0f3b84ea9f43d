package contrib

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/signals"
)

const recordingFolder = "prometheus/recording"

// recordingFiles are the recording rules for a usual site: InfiniBand by
// node_exporter, GPUs by dcgm-exporter, jobs by Slurm and times by Inspector.
func recordingFiles(t *testing.T) map[string]string {
	t.Helper()
	o := rules.Default()
	o.Version, o.Metrics = "example", []string{"up"}
	for _, d := range signals.Catalogue() {
		if !slices.Contains([]string{"node-host", "node-textfile", "node-infiniband", "dcgm", "slurm", "inspector-g2"}, d.Name) {
			continue
		}
		for _, r := range d.Rules {
			if !r.Pattern {
				o.Metrics = append(o.Metrics, r.Metric)
			}
		}
	}
	out, err := rules.Generate(o)
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range out.Files {
		if strings.HasPrefix(f.Name, "collwatch-signals-") {
			files[filepath.Join(recordingFolder, f.Name)] = string(f.Data)
		}
	}
	require.Greater(t, len(files), 5)
	return files
}

// TestRecordingExamplesAreCurrent: they are what is generated, every promtool
// loads them, and the linter finds nothing.
func TestRecordingExamplesAreCurrent(t *testing.T) {
	want := recordingFiles(t)
	for path, text := range want {
		if *updateCounters {
			require.NoError(t, os.MkdirAll(recordingFolder, 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		have, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(have), "go test ./contrib -run RecordingExamples -update")
		require.Empty(t, rules.Lint(path, have, rules.LintOptions{Target: "prometheus-2"}))
	}
	found, err := filepath.Glob(recordingFolder + "/*")
	require.NoError(t, err)
	require.Len(t, found, len(want), "an example that nobody makes")
}

// TestPromtoolsReadTheExamples: the oldest that is supported and the newest.
func TestPromtoolsReadTheExamples(t *testing.T) {
	old, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here: install the package prometheus")
	}
	recording, err := filepath.Glob(recordingFolder + "/*")
	require.NoError(t, err)
	for version, promtool := range map[string]string{"2": old, "3": realserver.Promtool(t)} {
		run := func(args ...string) {
			out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
			require.NoError(t, err, "promtool %s: %s", version, out)
		}
		run(append([]string{"check", "rules", "--lint=all", "--lint-fatal", "prometheus/collwatch-self.yaml"}, recording...)...)
		run("check", "config", "--syntax-only", "prometheus/prometheus.yml")
		run("check", "config", "--syntax-only", "prometheus/relabelling.yml")
	}
}
