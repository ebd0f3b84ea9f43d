package main

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/sim"
)

// TestPartiesAwayForTenMinutes is a part of the first hour in simulated time, with
// the daemon as it is: Prometheus away, Alertmanager away, kill -9. Nothing
// resolves, nothing is told twice, what happened meanwhile is told afterwards, and
// the blindness is one alert of its own.
func TestPartiesAwayForTenMinutes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates hours")
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSoak(t, 40)
		minutes := func(n int) float64 { return (time.Duration(n) * time.Minute).Seconds() }
		s.cluster.Inject(sim.Downtrain(7, 1, 0.25, minutes(65), minutes(120)))
		s.cluster.Inject(sim.LaneLoss(21, 0, 0.55, minutes(93), minutes(120)))
		until := func(n int) { time.Sleep(time.Until(s.start.Add(time.Duration(n) * time.Minute))) }
		told := func() (out []string) {
			for _, a := range s.pager.Faults() {
				if class := a.Labels["class"]; class != "link_flap" && class != "telemetry_gap" {
					out = append(out, a.Status+" "+class+" "+a.Labels["suspect_node"])
				}
			}
			return out
		}
		until(50)
		s.up(filepath.Join(s.dir, "state"))
		until(70)
		want := []string{"firing nic_degraded gpu-008"}
		require.Equal(t, want, told())

		s.set(prometheusHost, false)
		until(84)
		require.Equal(t, want, told(), "an outage repairs nothing")
		require.Len(t, s.pager.Own("blind"), 1)
		s.set(prometheusHost, true)
		// Up to a minute until it is posted, and up to five until Alertmanager looks
		// at the group again.
		until(92)
		require.Equal(t, want, told())
		require.Len(t, s.pager.Own("blind"), 2)
		require.Equal(t, "resolved", s.pager.Own("blind")[1].Status)

		s.set(alertmanagerHost, false)
		until(101)
		require.Equal(t, want, told())
		s.set(alertmanagerHost, true)
		until(104)
		want = append(want, "firing pcie_degraded gpu-022")
		require.Equal(t, want, told(), "delivered afterwards, and the other not again")

		s.up(s.kill())
		until(115)
		require.Equal(t, want, told(), "a crash tells nobody anything")

		until(145)
		require.ElementsMatch(t, append(want, "resolved nic_degraded gpu-008", "resolved pcie_degraded gpu-022"), told())
	})
}
