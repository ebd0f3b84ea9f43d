package incidents_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func TestSuspectFoundReplacesUnknown(t *testing.T) {
	d := drive(t, incidents.Options{})
	unknown := stall("48213", "a", "b")
	d.tick(4, unknown)
	exact := named(unknown, "gpu", "a", "GPU5")
	require.Empty(t, d.tick(1, exact), "the new name is not told before it is confirmed")
	es := d.tick(1, exact)
	require.Equal(t, []string{"resolve collective_stall superseded", "open collective_stall"}, kinds(es))
	old, now := es[0].Incident, es[1].Incident
	require.Equal(t, now.ID, old.SupersededBy)
	require.Equal(t, []string{old.ID}, now.Supersedes)
	require.Equal(t, old.Thread, now.Thread)

	// The suspect's evidence fades: the name stays, nothing is told again.
	require.Empty(t, d.tick(20, unknown))
	require.Equal(t, []string{"resolve collective_stall recovered"}, kinds(d.tick(5)))
}

func TestLongPendingOfTheExactHoldsTheCoarse(t *testing.T) {
	pol := incidents.Policies()
	p := pol[diagnosis.CollectiveStall]
	p.Pending = 9
	pol[diagnosis.CollectiveStall] = p
	d := drive(t, incidents.Options{Policies: pol})
	d.tick(9, stall("1", "a"))
	es := d.tick(9, named(stall("1", "a"), "gpu", "a", "GPU1"))
	require.Equal(t, []string{"resolve collective_stall superseded", "open collective_stall"}, kinds(es))
}

func TestRailBecomesLeaf(t *testing.T) {
	d := drive(t, incidents.Options{})
	hosts := []string{"a", "b", "c"}
	rail := diagnosis.Verdict{
		Class: diagnosis.RailDegraded, Severity: diagnosis.Critical, Job: "1", Scope: "rail:2", TieSet: 1,
		Suspects: []diagnosis.Suspect{{Kind: "rail", Device: "2"}}, Hosts: hosts,
	}
	leaf := diagnosis.Verdict{
		Class: diagnosis.LeafDegraded, Severity: diagnosis.Critical, Scope: "leaf:leaf-r2", TieSet: 1,
		Suspects: []diagnosis.Suspect{{Kind: "switch", Switch: "leaf-r2"}}, Hosts: hosts,
	}
	d.tick(3, rail)
	require.Equal(t, []string{"resolve rail_degraded superseded", "open leaf_degraded"}, kinds(d.tick(2, leaf)))
	require.Empty(t, d.tick(10, rail), "a lost topology does not tell the same again")
	require.Equal(t, "leaf-r2", d.m.Live()[0].Labels["suspect_device"])
}

func TestExplainedEffectJoinsItsCause(t *testing.T) {
	d := drive(t, incidents.Options{})
	down := nic("gpu-003", "mlx5_0")
	d.tick(3, stall("48213", "gpu-003", "gpu-004"))
	es := d.tick(2, down)
	require.Equal(t, []string{"open link_down", "resolve collective_stall superseded"}, kinds(es))
	require.Contains(t, d.m.Live()[0].Consequences[0], "collective_stall")

	t.Run("another job's stall does not", func(t *testing.T) {
		d := drive(t, incidents.Options{})
		d.tick(3, stall("7", "gpu-090"))
		require.Equal(t, []string{"open link_down"}, kinds(d.tick(2, down)))
	})
	t.Run("an earlier effect does not", func(t *testing.T) {
		d := drive(t, incidents.Options{})
		late := down
		late.StartedAt = t0.Add(600 * time.Second)
		d.tick(60, stall("48213", "gpu-003"))
		require.Equal(t, []string{"open link_down"}, kinds(d.tick(2, late)))
	})
}

func TestNewSuspectOfAJobReplacesTheFormer(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := diagnosis.Verdict{Class: diagnosis.StragglerCompute, Severity: diagnosis.Warning, Job: "1", Scope: "job"}
	d.tick(2, named(v, "node", "a", ""))
	es := d.tick(2, named(v, "node", "b", ""))
	require.Equal(t, []string{"resolve straggler_compute superseded", "open straggler_compute"}, kinds(es))
	require.Equal(t, "b", es[1].Incident.Labels["suspect_node"])
}

func TestTwoFactsAreTwoIncidents(t *testing.T) {
	d := drive(t, incidents.Options{})
	a, b := nic("a", "mlx5_0"), nic("b", "mlx5_0")
	require.Equal(t, []string{"open link_down", "open link_down"}, kinds(d.tick(2, a, b)))
	require.Equal(t, []string{"resolve link_down recovered"}, kinds(d.tick(5, b)))
}

func TestOneComponentManyJobs(t *testing.T) {
	d := drive(t, incidents.Options{})
	first, second, none := nic("a", "mlx5_0"), nic("a", "mlx5_0"), nic("a", "mlx5_0")
	second.Job, none.Job = "2", ""
	d.tick(2, first)
	require.Empty(t, d.tick(5, second), "a second job is a consequence")
	require.Empty(t, d.tick(5, none), "the fault outlives the job's series")
	inc := d.m.Live()[0]
	require.Equal(t, []string{"48213", "2"}, inc.Jobs)
	require.Equal(t, "48213", inc.Labels["job_id"])
	require.Equal(t, "48213", inc.Verdict.Job, "text and labels tell of one job")

	t.Run("the first job harmed gets its alert", func(t *testing.T) {
		d := drive(t, incidents.Options{})
		d.tick(3, none)
		es := d.tick(2, first)
		require.Equal(t, []string{"resolve link_down superseded", "open link_down"}, kinds(es))
	})
}

func TestExchangedCablesInAnyOrder(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := diagnosis.Verdict{
		Class: diagnosis.RailMiscabled, Severity: diagnosis.Warning, Job: "1", Scope: "job", TieSet: 1,
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "a", Device: "mlx5_2"}, {Kind: "nic", Node: "a", Device: "mlx5_3"}},
	}
	w := v
	w.Suspects = []diagnosis.Suspect{v.Suspects[1], v.Suspects[0]}
	for range 10 {
		d.tick(1, v)
		d.tick(1, w)
	}
	require.Equal(t, []string{"open rail_miscabled"}, kinds(d.got))
	require.Equal(t, "mlx5_2,mlx5_3", d.m.Live()[0].Labels["suspect_device"])
}

func TestTieSetNamesNobody(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("a", "mlx5_0")
	v.TieSet = 4
	d.tick(2, v)
	labels := d.m.Live()[0].Labels
	require.Equal(t, "unknown", labels["suspect_kind"])
	require.NotContains(t, labels, "suspect_node")
}

// A verdict without suspects keeps those of before, and that they could not be
// told apart.
func TestLoneCandidateIsNoName(t *testing.T) {
	d := drive(t, incidents.Options{})
	candidate := diagnosis.Verdict{
		Class: diagnosis.RoCECongestion, Severity: diagnosis.Warning, TieSet: 2, Hosts: []string{"a"},
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "a", Device: "mlx5_0"}},
	}
	nobody := candidate
	nobody.Suspects, nobody.TieSet = nil, 0
	d.tick(1, candidate)
	require.Equal(t, []string{"open roce_congestion"}, kinds(d.tick(3, nobody)))
	require.Equal(t, "unknown", d.m.Live()[0].Labels["suspect_kind"])
	require.Empty(t, d.m.Live()[0].NamedSuspects())
}

func TestRepeatOffenderIsRaised(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("a", "mlx5_0")
	v.Severity = diagnosis.Warning
	for i := range 4 {
		es := d.tick(2, v)
		want := diagnosis.Warning
		if i == 3 {
			want = diagnosis.Critical
		}
		require.Equal(t, want, es[0].Incident.Severity, fmt.Sprint(i))
		d.tick(5)
		d.tick(100)
	}
	require.Equal(t, 4, d.m.Repeats(v.Suspects[0]))
	d.tick(45000) // a week and more
	require.Zero(t, d.m.Repeats(v.Suspects[0]))
}

// TestRepairOfAPortIsOneIncident: a port that is retrained goes down for a
// moment. While people know of the port that is no second notice, also when it
// is still remembered after the end; a flap that comes later is.
func TestRepairOfAPortIsOneIncident(t *testing.T) {
	d := drive(t, incidents.Options{})
	slow := nic("gpu-007", "mlx5_3")
	slow.Class = diagnosis.NICDegraded
	flap := func(at time.Time, s diagnosis.Severity) diagnosis.Verdict {
		v := nic("gpu-007", "mlx5_3")
		v.Class, v.Severity, v.StartedAt = diagnosis.LinkFlap, s, at
		return v
	}
	d.tick(20, slow)
	repaired := d.now
	d.tick(60, flap(repaired, diagnosis.Info)) // nic_degraded ends after ten minutes
	require.Equal(t, []string{"open nic_degraded", "resolve nic_degraded recovered"}, kinds(d.got))
	require.Contains(t, d.got[1].Incident.Consequences, "its link went down and came back at "+repaired.UTC().Format(time.RFC3339))
	d.tick(180, flap(repaired, diagnosis.Warning))
	require.Len(t, d.got, 2, "the hour in which it is remembered")

	d.tick(2, flap(d.now, diagnosis.Info))
	require.Equal(t, "open link_flap", kinds(d.got)[2], "a flap after the end is another fault")

	other := drive(t, incidents.Options{})
	other.tick(4, slow)
	elsewhere := nic("gpu-007", "mlx5_4")
	elsewhere.Class, elsewhere.Severity, elsewhere.StartedAt = diagnosis.LinkFlap, diagnosis.Info, other.now
	require.Equal(t, []string{"open link_flap"}, kinds(other.tick(2, slow, elsewhere)), "another port")
	require.Equal(t, []string{"open link_flap"}, kinds(other.tick(2, slow, flap(other.now, diagnosis.Critical))), "a grave flap")

	hidden := drive(t, incidents.Options{Shadow: map[diagnosis.Class]bool{diagnosis.NICDegraded: true}})
	hidden.tick(4, slow)
	require.Equal(t, []string{"open link_flap"}, kinds(hidden.tick(2, flap(hidden.now, diagnosis.Info))), "nobody was told of the port")
}

// TestCoarserVerdictKeepsTheNameAlive: a name whose evidence comes and goes has
// not recovered while its job is seen to be slow all the time.
func TestCoarserVerdictKeepsTheNameAlive(t *testing.T) {
	d := drive(t, incidents.Options{})
	unknown := stall("48213", "a", "b")
	d.tick(2, named(unknown, "gpu", "a", "GPU5"))
	for range 20 {
		d.tick(4)
		require.Empty(t, d.tick(1, unknown), "never five clear evaluations in a row")
	}
	require.Equal(t, []string{"open collective_stall"}, kinds(d.got))
	require.Equal(t, d.now, d.m.Live()[0].LastSeen)
	require.Equal(t, []string{"resolve collective_stall recovered"}, kinds(d.tick(5)))

	t.Run("after a restart too", func(t *testing.T) {
		d := drive(t, incidents.Options{Warmed: time.Hour})
		d.tick(2, named(unknown, "gpu", "a", "GPU5"))
		d.now = d.now.Add(6 * time.Hour)
		d.m = restart(t, d.m, incidents.Options{Warmed: time.Hour})
		d.tick(1, unknown)
		require.False(t, d.m.Live()[0].Carried, "it was seen")
	})
}
