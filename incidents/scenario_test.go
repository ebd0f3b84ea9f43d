package incidents_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// TestDeadLeafOfALargeCluster: 256 hosts, 12 jobs, a leaf dies. The diagnosis
// first sees stalls and dead links, then the leaf; 30 hosts lose their exporters.
func TestDeadLeafOfALargeCluster(t *testing.T) {
	const hosts, jobs = 256, 12
	d := drive(t, incidents.Options{FleetSize: func() int { return hosts }})
	name := func(h int) string { return fmt.Sprintf("gpu-%03d", h) }
	var all []string
	links, stalls, gaps := []diagnosis.Verdict{}, []diagnosis.Verdict{}, []diagnosis.Verdict{}
	for h := range hosts {
		all = append(all, name(h))
		v := nic(name(h), "mlx5_2")
		v.Job, v.Suspects[0].Switch = "", "leaf-r2"
		links = append(links, v)
		if h < 30 {
			gaps = append(gaps, gap(name(h)))
		}
	}
	for j := range jobs {
		var on []string
		for h := j; h < hosts; h += jobs {
			on = append(on, name(h))
		}
		stalls = append(stalls, stall(fmt.Sprint(j), on...))
	}
	leaf := diagnosis.Verdict{
		Class: diagnosis.LeafDegraded, Reason: "leaf_down", Severity: diagnosis.Critical, Owner: diagnosis.Infrastructure,
		Scope: "leaf:leaf-r2", Suspects: []diagnosis.Suspect{{Kind: "switch", Switch: "leaf-r2"}}, TieSet: 1,
		Hosts: all, AffectedHosts: hosts, StartedAt: t0, Next: "drain the hosts of leaf-r2",
	}
	d.tick(2, append(append(links[:40:40], stalls...), gaps...)...)
	d.tick(20, append([]diagnosis.Verdict{leaf}, gaps...)...)

	live := d.m.Live()
	require.Len(t, live, 2, "one infrastructure incident and one gap")
	for _, inc := range live {
		require.NotContains(t, inc.Labels, "suspect_node", "no host is named")
		next, _ := inc.Advice()
		require.NotContains(t, next, "drain")
	}
	opened := map[diagnosis.Class]int{}
	for _, e := range d.got {
		if e.Kind == incidents.EventOpen {
			opened[e.Incident.Verdict.Class]++
		}
		if e.Kind == incidents.EventResolve {
			require.Equal(t, incidents.Superseded, e.Incident.ResolveReason, "nothing pretends to have recovered")
		}
	}
	require.Equal(t, map[diagnosis.Class]int{
		diagnosis.LinkDown: 1, diagnosis.CollectiveStall: jobs, diagnosis.LeafDegraded: 1,
		diagnosis.TelemetryGap: 1,
	}, opened)
}

// TestWanderingAroundTheLimit: a bandwidth near its limit for two hours is one
// open and one close, also over a restart, and the labels stay.
func TestWanderingAroundTheLimit(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := example()
	first := map[string]string(nil)
	for i := range 480 {
		// Seen for a minute, not seen for up to four, in an uneven rhythm.
		if i*7%20 < 4 || i%11 < 3 {
			v.AffectedHosts = i
			d.tick(1, v)
		} else {
			d.tick(1)
		}
		if i == 160 {
			d.m = restart(t, d.m, incidents.Options{})
		}
		for _, inc := range d.m.Live() {
			if inc.Announced && first == nil {
				first = inc.AlertLabels()
			}
			if inc.Announced {
				require.Equal(t, first, inc.AlertLabels())
			}
		}
	}
	require.Equal(t, []string{"open nic_degraded"}, kinds(d.got))
	d.tick(45)
	require.Equal(t, []string{"open nic_degraded", "resolve nic_degraded recovered"}, kinds(d.got))
}
