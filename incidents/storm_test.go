package incidents_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func gap(host string) diagnosis.Verdict {
	v := diagnosis.Verdict{
		Class: diagnosis.TelemetryGap, Reason: "exporter_down", Severity: diagnosis.Info,
		Owner: diagnosis.Platform, Scope: "node", Hosts: []string{host},
	}
	return named(v, "node", host, "")
}

func TestManyGapsAreOne(t *testing.T) {
	d := drive(t, incidents.Options{})
	require.Equal(t, []string{"open telemetry_gap"}, kinds(d.tick(2, gap("a"))))
	var many []diagnosis.Verdict
	for i := range 30 {
		many = append(many, gap(fmt.Sprintf("h%02d", i)))
	}
	many = append(many, gap("a"))
	es := d.tick(3, many...)
	require.Equal(t, []string{"open telemetry_gap", "resolve telemetry_gap superseded"}, kinds(es))
	require.Equal(t, 31, es[0].Incident.Verdict.AffectedHosts)
	require.Empty(t, d.tick(4, many[:2]...), "an ebbing storm is not told piece by piece")
	require.Equal(t, []string{"resolve telemetry_gap recovered"}, kinds(d.tick(5)))
}

func TestFiveThousandVerdictsAtOnce(t *testing.T) {
	d := drive(t, incidents.Options{})
	var vs []diagnosis.Verdict
	for i := range 5000 {
		v := nic(fmt.Sprintf("gpu-%04d", i/8), fmt.Sprintf("mlx5_%d", i%8))
		v.Job = fmt.Sprint(i % 12)
		v.Suspects[0].Switch = fmt.Sprintf("leaf-%d", i%4)
		vs = append(vs, v)
	}
	start := time.Now()
	es := d.tick(3, vs...)
	require.Less(t, time.Since(start), 15*time.Second)
	require.Len(t, es, 4)
	for _, e := range es {
		require.Equal(t, "unknown", e.Incident.Labels["suspect_kind"], "a fold names nobody")
		require.Equal(t, 1250, len(e.Incident.Verdict.Hosts)*8/4)
	}
}

func TestCapSaysWhatItHides(t *testing.T) {
	d := drive(t, incidents.Options{Cap: 4, FoldAbove: 100})
	var vs []diagnosis.Verdict
	for i := range 10 {
		v := nic(fmt.Sprintf("n%d", i), "mlx5_0")
		if i >= 7 {
			v.Severity = diagnosis.Warning
		}
		vs = append(vs, v)
	}
	es := d.tick(2, vs...)
	require.Len(t, es, 5)
	require.Equal(t, incidents.Storm, es[4].Incident.Verdict.Class)
	require.Contains(t, es[4].Incident.Verdict.Evidence[0].Text, "6 incidents are not sent because more than 4 are open: 6 link_down")
	runbook := func(e incidents.Event) string {
		r := incidents.Renderer{RunbookURL: "https://example.org/{class}"}
		return r.Annotations(&e.Incident)["runbook_url"]
	}
	require.Empty(t, runbook(es[4]), "there is no page about storms")
	for _, e := range es[:4] {
		require.Equal(t, diagnosis.Critical, e.Incident.Severity, "the worst are told")
		require.Equal(t, "https://example.org/link_down", runbook(e))
	}
	// A place becomes free: the next worst is told, late but not lost.
	told := map[string]bool{}
	for _, e := range es {
		told[e.Incident.Key] = true
	}
	vs = slices.DeleteFunc(vs, func(v diagnosis.Verdict) bool { return told[v.Key()] })
	es = d.tick(5, vs...)
	opened := 0
	for _, e := range es {
		if e.Kind == incidents.EventOpen {
			require.False(t, told[e.Incident.Key])
			told[e.Incident.Key] = true
			opened++
		}
	}
	require.Equal(t, 3, opened, "critical ones take the places, warnings wait")
	es = d.tick(50)
	require.Contains(t, kinds(es), "resolve incident_storm recovered")
}

func TestShadowAndRecordedAreNotedAndNeverSent(t *testing.T) {
	d := drive(t, incidents.Options{Shadow: map[diagnosis.Class]bool{diagnosis.LinkDown: true}})
	role := diagnosis.Verdict{Class: diagnosis.RoleImbalance, Severity: diagnosis.Warning, Job: "1", Scope: "job"}
	d.tick(5, nic("a", "mlx5_0"), role)
	require.ElementsMatch(t, []string{"open link_down", "open role_imbalance"}, kinds(d.got), "replays and logs show them, once")
	live := d.m.Live()
	require.Len(t, live, 2)
	got := map[incidents.Withheld]bool{}
	for _, inc := range live {
		require.Equal(t, incidents.Open, inc.State)
		require.False(t, inc.Announced, "receivers take only what was announced")
		got[inc.Withheld] = true
	}
	require.True(t, got[incidents.InShadow] && got[incidents.OnlyRecorded])
	d.tick(100)
	require.Len(t, d.got, 4, "and their ends")
	for _, e := range d.got {
		require.NotEqual(t, incidents.NotWithheld, e.Incident.Withheld)
	}
	require.Len(t, d.m.Ended(), 2)
}

func TestMaintenance(t *testing.T) {
	until := t0.Add(10 * time.Minute)
	o := incidents.Options{Maintenance: func(host, _ string, at time.Time) string {
		if host == "a" && at.Before(until) {
			return "drained"
		}
		return ""
	}}
	d := drive(t, o)
	es := d.tick(10, nic("a", "mlx5_0"), nic("b", "mlx5_0"))
	require.Len(t, es, 1)
	require.Equal(t, "b", es[0].Incident.Labels["suspect_node"])
	es = d.tick(60, nic("a", "mlx5_0"), nic("b", "mlx5_0"))
	require.Equal(t, []string{"open link_down"}, kinds(es), "still there after the maintenance: told now")
}

func TestBreakerWithholdsCordonAdvice(t *testing.T) {
	cases := map[string]struct {
		fleet   int
		vs      []diagnosis.Verdict
		tripped bool
	}{
		"one of a hundred": {100, []diagnosis.Verdict{nic("a", "x")}, false},
		"three of ten":     {10, []diagnosis.Verdict{nic("a", "x"), nic("b", "x"), nic("c", "x")}, true},
		"fleet unknown":    {0, []diagnosis.Verdict{nic("a", "x"), nic("b", "x")}, false},
		"one host named harms all": {10, func() []diagnosis.Verdict {
			v := nic("a", "x")
			v.AffectedHosts = 10
			return []diagnosis.Verdict{v}
		}(), false},
		"a leaf with all hosts": {10, []diagnosis.Verdict{{
			Class: diagnosis.LeafDegraded, Severity: diagnosis.Critical, Owner: diagnosis.Infrastructure, TieSet: 1,
			Suspects: []diagnosis.Suspect{{Kind: "switch", Switch: "leaf-1"}}, AffectedHosts: 10,
		}}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for i := range c.vs {
				c.vs[i].Next, c.vs[i].Command = "drain the host", "kubectl cordon a"
			}
			d := drive(t, incidents.Options{FleetSize: func() int { return c.fleet }})
			for _, e := range d.tick(2, c.vs...) {
				next, command := e.Incident.Advice()
				require.Equal(t, !c.tripped, command == "kubectl cordon a")
				require.Equal(t, !c.tripped, next == "drain the host")
			}
		})
	}
}
