package incidents_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// A class in shadow is tried out: what people were told of must not end because
// of an incident that nobody hears of.
func TestShadowEndsNothingThatPeopleKnowOf(t *testing.T) {
	t.Run("what it says more exactly", func(t *testing.T) {
		d := drive(t, incidents.Options{Shadow: map[diagnosis.Class]bool{diagnosis.PCIeDegraded: true}})
		v := named(diagnosis.Verdict{Class: diagnosis.NodeSuspect, Severity: diagnosis.Warning, Job: "1", Scope: "job", Hosts: []string{"a"}}, "node", "a", "")
		exact := named(diagnosis.Verdict{Class: diagnosis.PCIeDegraded, Severity: diagnosis.Critical, Job: "1", Scope: "job", Hosts: []string{"a"}}, "gpu", "a", "GPU1")
		d.tick(4, v)
		require.Equal(t, []string{"open pcie_degraded"}, kinds(d.tick(100, exact)), "noted, and nothing is over")
		told := d.m.Live()[0]
		require.True(t, told.Announced)
		require.Equal(t, incidents.Open, told.State)
		require.Contains(t, told.Held, "shadow")
		require.ElementsMatch(t, []string{"resolve node_suspect recovered", "resolve pcie_degraded recovered"}, kinds(d.tick(60)))
	})
	t.Run("what it explains", func(t *testing.T) {
		d := drive(t, incidents.Options{Shadow: map[diagnosis.Class]bool{diagnosis.LinkDown: true}})
		d.tick(4, stall("48213", "gpu-003", "gpu-004"))
		require.Equal(t, []string{"open link_down"}, kinds(d.tick(100, nic("gpu-003", "mlx5_0"))))
		require.True(t, d.m.Live()[0].Announced)
		require.ElementsMatch(t, []string{"resolve collective_stall recovered", "resolve link_down recovered"}, kinds(d.tick(60)))
	})
	t.Run("a shadow may end a shadow", func(t *testing.T) {
		d := drive(t, incidents.Options{Shadow: map[diagnosis.Class]bool{diagnosis.LinkDown: true, diagnosis.CollectiveStall: true}})
		d.tick(4, stall("48213", "gpu-003", "gpu-004"))
		require.Equal(t, []string{"open link_down", "resolve collective_stall superseded"}, kinds(d.tick(2, nic("gpu-003", "mlx5_0"))))
	})
}

// The end of an incident is told until everybody knows. A return that nobody is
// to hear of must not take it away.
func TestReturnInMaintenanceLeavesTheEndToBeTold(t *testing.T) {
	out := ""
	d := drive(t, incidents.Options{Maintenance: func(string, string, time.Time) string { return out }})
	v := nic("gpu-007", "mlx5_3")
	d.tick(2, v)
	d.tick(5)
	id := d.got[0].Incident.ID
	out = "drained"
	d.tick(4, v)
	ended, ok := d.m.Find(id)
	require.True(t, ok)
	require.Equal(t, incidents.Resolved, ended.State, "people may not know yet")
	require.True(t, ended.Announced)
	out = ""
	es := d.tick(1, v)
	require.Equal(t, []string{"open link_down"}, kinds(es))
	require.Equal(t, ended.Labels, es[0].Incident.Labels)
}

// A return has a message of its own already: it does not take over that of what
// it replaces, or one of both would stay open for ever.
func TestReturnThatReplacesKeepsItsThread(t *testing.T) {
	pol := incidents.Policies()
	p := pol[diagnosis.StragglerCompute]
	p.ClearFor = 0
	pol[diagnosis.StragglerCompute] = p
	d := drive(t, incidents.Options{Policies: pol})
	v := diagnosis.Verdict{Class: diagnosis.StragglerCompute, Severity: diagnosis.Warning, Job: "1", Scope: "job"}
	d.tick(2, named(v, "node", "a", ""))
	d.tick(6) // a is well
	d.tick(2, named(v, "node", "b", ""))
	d.tick(2, named(v, "node", "a", ""))
	require.Equal(t, []string{
		"open straggler_compute", "resolve straggler_compute recovered", "open straggler_compute",
		"resolve straggler_compute superseded", "open straggler_compute",
	}, kinds(d.got))
	first, again, other := d.got[0].Incident, d.got[4].Incident, d.got[3].Incident
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, first.Thread, again.Thread)
	require.NotEqual(t, other.Thread, again.Thread)
	require.Equal(t, again.ID, other.SupersededBy)
}
