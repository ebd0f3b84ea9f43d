package rules_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/rules"
)

// promtools are the oldest that is supported and the newest.
func promtools(t *testing.T) map[string]string {
	t.Helper()
	old, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here: install the package prometheus")
	}
	return map[string]string{"2": old, "3": realserver.Promtool(t)}
}

// outputs writes a target's rules in every form into folders that promtool
// reads: files, one file, and what an operator takes out of its resources.
func outputs(t *testing.T, target string, change func(o *rules.Options)) map[string][]string {
	t.Helper()
	dir, files := t.TempDir(), map[string][]string{}
	for _, form := range []string{"file", "single", "crd"} {
		out := generate(t, func(o *rules.Options) {
			o.Target, o.Single, o.CRD = target, form == "single", form == "crd"
			if change != nil {
				change(o)
			}
		})
		for _, f := range out.Files {
			if form == "crd" {
				f.Data = specOf(t, f.Data)
			}
			path := filepath.Join(dir, form, f.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, f.Data, 0o644))
			if !strings.HasPrefix(f.Name, "tests/") {
				files[form] = append(files[form], path)
			}
		}
	}
	return files
}

// specOf is the rule file inside a PrometheusRule.
func specOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var doc struct {
		Kind string         `yaml:"kind"`
		Spec map[string]any `yaml:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(data, &doc))
	require.Equal(t, "PrometheusRule", doc.Kind)
	out, err := json.Marshal(doc.Spec) // JSON is YAML
	require.NoError(t, err)
	return out
}

func command(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	return string(out), err
}

// TestRealPromtoolChecks lets both promtools check all outputs of the targets
// of Prometheus, and of those whose fields they know.
func TestRealPromtoolChecks(t *testing.T) {
	for version, promtool := range promtools(t) {
		for _, target := range []string{"prometheus-2", "prometheus-3", "mimir"} {
			for form, files := range outputs(t, target, nil) {
				text, err := command(t, promtool, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, files...)...)
				require.NoError(t, err, "promtool %s, %s as %s: %s", version, target, form, text)
			}
		}
	}
}

// TestQueryOffset: servers that know the field load it, the oldest refuses it,
// and nothing is generated with it for a target that would.
func TestQueryOffset(t *testing.T) {
	offset := func(o *rules.Options) { o.QueryOffset = time.Minute }
	tools := promtools(t)
	files := outputs(t, "prometheus-3", offset)["file"]
	text, err := command(t, tools["3"], append([]string{"check", "rules"}, files...)...)
	require.NoError(t, err, text)
	text, err = command(t, tools["2"], append([]string{"check", "rules"}, files...)...)
	require.Error(t, err)
	require.Contains(t, text, "query_offset")
	text, err = command(t, realserver.Vmalert(t), "-dryRun", "-rule="+outputs(t, "victoriametrics", offset)["single"][0])
	require.NoError(t, err, text)

	for _, target := range []string{"prometheus-2", "thanos"} {
		o := rules.Default()
		o.Target, o.QueryOffset = target, time.Minute
		_, err = rules.Generate(o)
		require.ErrorContains(t, err, "target "+target+" refuses")
	}
}

// TestRealVmalert loads the output for VictoriaMetrics as vmalert does, with its
// own parser of expressions, templates and fields.
func TestRealVmalert(t *testing.T) {
	vmalert := realserver.Vmalert(t)
	for form, files := range outputs(t, "victoriametrics", nil) {
		args := []string{"-dryRun", "-rule.validateExpressions", "-rule.validateTemplates"}
		for _, f := range files {
			args = append(args, "-rule="+f)
		}
		text, err := command(t, vmalert, args...)
		require.NoError(t, err, "%s: %s", form, text)
	}

	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("groups: [{name: g, rulez: []}]"), 0o644))
	_, err := command(t, vmalert, "-rule="+bad, "-dryRun")
	require.Error(t, err, "it reads the files")
}

// TestRealPromtoolTests runs the generated unit tests under both promtools: all
// classes, with the exporters of one site each, since a minute of processor time
// goes into the rules of all exporters. The long tests take those.
func TestRealPromtoolTests(t *testing.T) {
	for version, site := range map[string]string{"2": "InfiniBand", "3": "OCI"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			runPromtool(t, promtools(t)[version], installations()[site])
		})
	}
}

func runPromtool(t *testing.T, promtool string, metrics []string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, rules.Write(generate(t, func(o *rules.Options) { o.Metrics = metrics }), dir, false))
	files, err := filepath.Glob(filepath.Join(dir, "tests", "*.yaml"))
	require.NoError(t, err)
	require.Greater(t, len(files), 5)
	text, err := command(t, promtool, append([]string{"test", "rules"}, files...)...)
	require.NoError(t, err, text)
	require.Equal(t, len(files), strings.Count(text, "SUCCESS"))
}
