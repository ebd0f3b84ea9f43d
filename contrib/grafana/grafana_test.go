package grafana_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/contrib/grafana"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/ruletest"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/sim"
)

var update = flag.Bool("update", false, "rewrite the dashboards")

func dashboards(t *testing.T) []grafana.File {
	t.Helper()
	files, err := grafana.Dashboards()
	require.NoError(t, err)
	return files
}

func TestDashboardsAreCurrent(t *testing.T) {
	names := map[string]bool{}
	for _, f := range dashboards(t) {
		names[f.Name] = true
		if *update {
			require.NoError(t, os.WriteFile(f.Name, f.Data, 0o644))
		}
		have, err := os.ReadFile(f.Name)
		require.NoError(t, err)
		require.Equal(t, string(f.Data), string(have), "go test ./contrib/grafana -update")
	}
	found, err := filepath.Glob("*.json")
	require.NoError(t, err)
	require.Len(t, found, len(names), "a dashboard that nobody makes")
}

// TestDashboardsMeetTheSchema reads the JSON as strictly as the types of the SDK
// allow, which are made from Grafana's own schema: unknown fields and values out
// of range are errors.
func TestDashboardsMeetTheSchema(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	uids := map[string]bool{}
	for _, f := range dashboards(t) {
		var d dashboard.Dashboard //nolint:staticcheck // the form that older versions of Grafana read
		if err := d.UnmarshalJSONStrict(f.Data); err != nil {
			require.Empty(t, strings.TrimSpace(err.Error()), f.Name) // the SDK makes an error without text of a row
		}
		require.NoError(t, d.Validate(), f.Name)
		require.False(t, uids[*d.Uid])
		uids[*d.Uid] = true

		// Panels neither overlap nor stick out.
		var raw struct {
			Panels []struct {
				ID      int `json:"id"`
				GridPos struct{ X, Y, W, H int }
			}
		}
		require.NoError(t, json.Unmarshal(f.Data, &raw))
		cells := map[[2]int]bool{}
		for _, p := range raw.Panels {
			require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, f.Name)
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					require.False(t, cells[at], "%s: two panels at %v", f.Name, at)
					cells[at] = true
				}
			}
		}
		err := d.UnmarshalJSONStrict([]byte(strings.Replace(string(f.Data), `"title"`, `"titel"`, 1)))
		require.ErrorContains(t, err, "titel", "the schema is looked at")
	}
}

// site is a simulated cluster with the generated rules evaluated on it.
type site struct {
	db        *embedprom.DB
	start, at time.Time
	vars      map[string]string
}

func simulate(t *testing.T, scenario string) site {
	t.Helper()
	x := raw(t, scenario)
	x.record(t)
	return x
}

// raw is a cluster whose server has no rules.
func raw(t *testing.T, scenario string) site {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s, ok := sim.Find(scenario)
	require.True(t, ok, scenario)
	s.After = 10 * time.Minute
	sink := db.Appender()
	run, err := s.New(sim.Params{Seed: 3, Hosts: 8, Onset: 12 * time.Minute, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, sink)
	require.NoError(t, err)
	require.NoError(t, run.Cluster.Run(t.Context(), run.Until))
	// Optional series of GPU exporters that the simulator does not have.
	for _, m := range []string{"DCGM_EXP_XID_ERRORS_COUNT", "accelerator_nvidia_clock_hw_slowdown"} {
		last := run.Cluster.Hosts[len(run.Cluster.Hosts)-1].Name
		h := sink.Series("__name__", m, "Hostname", last, "instance", last+":1", "gpu", "0", "gpu_id", "0", "uuid", "0", "xid", "79")
		for at := run.Cluster.Start(); at.Before(run.Cluster.Start().Add(run.Until)); at = at.Add(time.Minute) {
			require.NoError(t, sink.Append(h, at.UnixMilli(), 1))
		}
	}
	require.NoError(t, sink.Commit())

	x := site{db, run.Cluster.Start(), run.Cluster.Start().Add(run.Until), map[string]string{"job_id": run.Truth.Job, "op": ".*", "host": ".+", "suspect_node": "none", "suspect_device": ".*"}}
	for _, h := range run.Cluster.Hosts {
		x.vars["host"] = h.Name
	}
	if len(run.Truth.Suspects) > 0 {
		x.vars["suspect_node"] = run.Truth.Suspects[0].Node
	}
	return x
}

// record evaluates the generated rules over the whole time.
func (s site) record(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	out, err := rules.Generate(rules.Default())
	require.NoError(t, err)
	require.NoError(t, rules.Write(out, dir, false))
	var paths []string
	for _, f := range out.Files {
		if !strings.HasPrefix(f.Name, "tests/") {
			paths = append(paths, filepath.Join(dir, f.Name))
		}
	}
	e, err := ruletest.NewEvaluator(t.Context(), s.db, 30*time.Second, paths...)
	require.NoError(t, err)
	for at := s.start.Add(time.Minute); at.Before(s.at); at = at.Add(30 * time.Second) {
		require.NoError(t, e.Eval(t.Context(), at))
	}
}

var variable = regexp.MustCompile(`\$([a-z_]+)`)

// filled puts values in for the variables, as Grafana does.
func (s site) filled(expr string) string {
	return variable.ReplaceAllStringFunc(expr, func(v string) string { return s.vars[v[1:]] })
}

func (s site) rows(t *testing.T, expr string) int {
	t.Helper()
	var r promapi.Result
	require.NoError(t, s.db.Querier().Instant(t.Context(), s.filled(expr), s.at, &r), expr)
	return r.Len()
}

// TestEveryQueryReturnsSeries runs the queries of all panels and variables on
// simulated clusters of three fabrics after the generated rules; what the daemon
// says about itself is tested with the daemon.
func TestEveryQueryReturnsSeries(t *testing.T) {
	var sites []site
	for _, scenario := range []string{"S01", "S06", "S23"} { // InfiniBand, RoCE, EFA
		sites = append(sites, simulate(t, scenario))
	}
	for _, f := range dashboards(t) {
		require.NotEmpty(t, f.Queries)
		for _, q := range f.Queries {
			_, err := parser.NewParser(parser.Options{}).ParseExpr(sites[0].filled(q.Expr))
			require.NoError(t, err, "%s, %s", f.Name, q.Panel)
			if f.Name == "collwatch.json" {
				continue
			}
			rows := 0
			for _, s := range sites {
				rows += s.rows(t, q.Expr)
			}
			if rows == 0 {
				t.Errorf("%s, %s: no series from %s", f.Name, q.Panel, q.Expr)
			}
		}
	}
}

// TestWithoutRules: where nobody records, no query fails, and the first page says
// that nothing is recorded.
func TestWithoutRules(t *testing.T) {
	s, told := raw(t, "S01"), false
	for _, f := range dashboards(t) {
		for _, q := range f.Queries {
			if rows := s.rows(t, q.Expr); q.Panel == "Series recorded by the rules" {
				require.Equal(t, 1, rows)
				told = true
			}
		}
	}
	require.True(t, told)
}
