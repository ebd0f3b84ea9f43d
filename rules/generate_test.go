package rules_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/ruletest"
	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/signals"
)

var update = flag.Bool("update", false, "rewrite golden files")

func generate(t testing.TB, change func(o *rules.Options)) *rules.Output {
	t.Helper()
	o := rules.Default()
	o.Version = "test"
	if change != nil {
		change(&o)
	}
	out, err := rules.Generate(o)
	require.NoError(t, err)
	return out
}

// fields are the keys of groups that each target's oldest server knows.
func fields() map[string][]string {
	two := []string{"name", "interval", "limit", "rules"}
	return map[string][]string{
		"prometheus-2": two, "prometheus-3": append([]string{"query_offset", "labels"}, two...), "mimir": append([]string{"query_offset"}, two...),
		"thanos": append([]string{"partial_response_strategy"}, two...), "victoriametrics": append([]string{"labels"}, two...),
	}
}

// parse reads a file as the strict parser of Prometheus does, which refuses
// experimental functions too, save those of MetricsQL for its server. Thanos' own
// field is taken out before.
func parse(t testing.TB, data []byte) *rulefmt.RuleGroups {
	t.Helper()
	o := parser.Options{EnableExperimentalFunctions: strings.Contains(string(data), "target victoriametrics")}
	text := strings.ReplaceAll(string(data), "    partial_response_strategy: abort\n", "")
	groups, errs := rulefmt.Parse([]byte(text), false, model.LegacyValidation, parser.NewParser(o), promslog.NewNopLogger())
	require.Empty(t, errs)
	return groups
}

var groupKey = regexp.MustCompile(`(?m)^(?:  - |    )([a-z_]+):`)

func TestEveryTargetParses(t *testing.T) {
	for _, p := range rules.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			out := generate(t, func(o *rules.Options) { o.Target, o.Single = p.Name, true })
			groups := parse(t, out.Files[0].Data)
			for _, m := range groupKey.FindAllStringSubmatch(string(out.Files[0].Data), -1) {
				require.Contains(t, fields()[p.Name], m[1])
			}
			for _, g := range groups.Groups {
				if p.MaxPerGroup > 0 {
					require.LessOrEqual(t, len(g.Rules), p.MaxPerGroup, g.Name)
				}
			}
			require.Equal(t, out.Files[0].Data, generate(t, func(o *rules.Options) { o.Target, o.Single = p.Name, true }).Files[0].Data, "not deterministic")
		})
	}
}

// TestGolden shows a reviewer what a change does to the files.
func TestGolden(t *testing.T) {
	for _, p := range rules.Profiles() {
		out := generate(t, func(o *rules.Options) {
			o.Target, o.Single = p.Name, true
			o.RunbookURL = "https://runbooks.example.org/{class}"
			if p.Name != "prometheus-2" {
				o.Classes = []string{"link_flap", "gpu_throttle", "straggler_compute"}
			}
			if p.Name == "prometheus-3" {
				o.CRD, o.Namespace, o.ResourceLabels = true, "monitoring", map[string]string{"release": "prometheus"}
			}
		})
		golden := filepath.Join("testdata", p.Name+".yaml")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(golden, out.Files[0].Data, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), string(out.Files[0].Data), "go test ./rules -run Golden -update")
	}
}

// TestAlertsMeanTheSame holds the names and labels to those of the daemon, so
// that one routing serves both and the diagnosis silences the raw rule.
func TestAlertsMeanTheSame(t *testing.T) {
	var names []string
	for _, c := range diagnosis.Classes() {
		names = append(names, string(c))
	}
	require.ElementsMatch(t, names, rules.ClassNames())

	out := generate(t, func(o *rules.Options) { o.Single = true })
	seen := map[string]bool{}
	for _, g := range parse(t, out.Files[0].Data).Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			class := r.Labels["class"]
			if class == "self" {
				continue // about collwatch, not about the cluster
			}
			seen[class] = true
			require.Equal(t, incidents.AlertName(diagnosis.Class(class)), r.Alert)
			require.Equal(t, "collwatch-rules", r.Labels["source"])
			for _, l := range []string{"severity", "suspect_kind", "scope", "owner_domain"} {
				require.NotEmpty(t, r.Labels[l], "%s %s", r.Alert, l)
			}
			require.NotContains(t, r.Labels["scope"], "$value")
			for _, a := range []string{"summary", "description", "next_step", "reason"} {
				require.NotEmpty(t, r.Annotations[a], "%s %s", r.Alert, a)
			}
			limit := incidents.DefaultPolicy().Max
			if p, ok := incidents.Policies()[diagnosis.Class(class)]; ok {
				limit = p.Max
			}
			severity := map[string]diagnosis.Severity{"info": diagnosis.Info, "warning": diagnosis.Warning, "critical": diagnosis.Critical}[r.Labels["severity"]]
			require.LessOrEqual(t, severity, limit, "%s is never that severe", r.Alert)
		}
	}
	for _, l := range out.Left {
		require.False(t, seen[l.Class] && l.What == "", "%s is made and left out", l.Class)
		seen[l.Class] = true
	}
	require.Len(t, seen, len(names), "a class is neither made nor listed")
}

// TestNoAlertWithEqualLabels: two rules that make equal alerts would resolve
// each other's.
func TestNoAlertWithEqualLabels(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range parse(t, generate(t, func(o *rules.Options) { o.Single = true }).Files[0].Data).Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				key := r.Alert + r.Labels["reason"] + r.Labels["severity"] + r.Labels["suspect_kind"]
				require.False(t, seen[key], key)
				seen[key] = true
			}
		}
	}
}

// TestUnitTests runs the generated tests of every class: each alert fires with
// exactly its labels and texts, ends, and is quiet with its look-alike.
func TestUnitTests(t *testing.T) {
	for _, name := range []string{"everything"} { // others: the real promtools and the long tests
		t.Run(name, func(t *testing.T) { runUnitTests(t, installations()[name]) })
	}
}

func runUnitTests(t *testing.T, metrics []string) {
	dir := t.TempDir()
	out := generate(t, func(o *rules.Options) { o.Metrics = metrics })
	require.NoError(t, rules.Write(out, dir, false))
	cases := 0
	for _, f := range out.Files {
		if !strings.HasPrefix(f.Name, "tests/") {
			continue
		}
		n, failures, err := ruletest.Run(t.Context(), filepath.Join(dir, f.Name))
		require.NoError(t, err)
		for _, x := range failures {
			t.Error(x)
		}
		cases += n
	}
	require.GreaterOrEqual(t, cases, 2*out.Alerts-1, "each alert has a case that fires and one that does not, apart from the heartbeat")
}

// installations are sets of exporters: all, and others than the usual.
func installations() map[string][]string {
	of := func(dialects ...string) []string {
		out := []string{"up"}
		for _, d := range signals.Catalogue() {
			for _, r := range d.Rules {
				for _, name := range dialects {
					if d.Name == name && !r.Pattern {
						out = append(out, r.Metric)
					}
				}
			}
		}
		return out
	}
	return map[string][]string{
		"everything":     nil,
		"InfiniBand":     of("node-host", "node-textfile", "node-infiniband", "dcgm", "slurm", "inspector-g2"),
		"EFA on k8s":     of("node-host", "efa", "dcgm", "kube-pods", "collwatch"),
		"OCI":            of("oci-rdma", "dcgm", "inspector-g2"),
		"no job map":     of("node-host", "node-infiniband"),
		"rdma_exporter":  of("rdma-exporter", "dcgm", "slurm"),
		"own plugin GPU": of("collwatch", "slurm", "node-host"),
	}
}

// TestOnlyWhatExists: without a metric its rules go, and the reason is said.
func TestOnlyWhatExists(t *testing.T) {
	out := generate(t, func(o *rules.Options) { o.Single, o.Metrics = true, []string{"DCGM_FI_DEV_ROW_REMAP_FAILURE"} })
	require.Equal(t, 1, out.Alerts)
	for _, g := range parse(t, out.Files[0].Data).Groups {
		for _, r := range g.Rules {
			require.NotContains(t, r.Expr, "node_")
		}
	}
	why := map[string]string{}
	for _, l := range out.Left {
		why[l.Class+" "+l.What] = l.Why
	}
	require.Contains(t, why["link_down port_not_active"], "nic_state")
	require.Contains(t, why["gpu_fault xid"], "gpu_xid_count")

	o := rules.Default()
	o.Metrics = []string{}
	_, err := rules.Generate(o)
	require.ErrorIs(t, err, rules.ErrNothing)
}

func TestBadOptions(t *testing.T) {
	o := rules.Default()
	o.Target, o.Classes, o.Labels, o.Interval = "prometeus-2", []string{"link_dwon"}, map[string]string{"severity": "x", "näme": "y"}, time.Hour
	_, err := rules.Generate(o)
	for _, want := range []string{"did you mean prometheus-2?", "did you mean link_down?", `label "severity" identifies`, `label "näme"`, "interval 1h0m0s"} {
		require.ErrorContains(t, err, want)
	}
}

func TestNothingEditedIsLost(t *testing.T) {
	dir := t.TempDir()
	out := generate(t, nil)
	require.NoError(t, rules.Write(out, dir, false))
	diffs, err := rules.Compare(out, dir)
	require.NoError(t, err)
	require.Empty(t, diffs)

	path := filepath.Join(dir, "collwatch-link_down.yaml")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	edited := append(data, "# mine\n"...)
	require.NoError(t, os.WriteFile(path, edited, 0o644))
	require.NoError(t, os.Remove(filepath.Join(dir, "collwatch-pfc_storm.yaml")))
	require.ErrorIs(t, rules.Write(out, dir, false), rules.ErrEdited)
	require.NoFileExists(t, filepath.Join(dir, "collwatch-pfc_storm.yaml"), "something was written")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, edited, kept)

	require.NoError(t, rules.Write(out, dir, true))
	fewer := generate(t, func(o *rules.Options) { o.Disabled = []string{"pfc_storm"} })
	require.NoError(t, rules.Write(fewer, dir, false))
	require.NoFileExists(t, filepath.Join(dir, "collwatch-pfc_storm.yaml"))
}
