package score

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/sim"
)

func outcome(t sim.Truth, events ...incidents.Event) *Outcome {
	start := time.Unix(1767225600, 0)
	t.Onset = start.Add(30 * time.Minute)
	for i := range events {
		events[i].Time = t.Onset.Add(time.Duration(i+1) * 30 * time.Second)
		if events[i].Kind == "" {
			events[i].Kind = incidents.EventOpen
		}
	}
	return &Outcome{Truth: t, Start: start, Until: start.Add(time.Hour), Nodes: 16, Events: events}
}

func said(class diagnosis.Class, sev diagnosis.Severity, tie int, suspects ...diagnosis.Suspect) incidents.Event {
	return incidents.Event{Incident: incidents.Incident{ID: string(class), Severity: sev, Verdict: diagnosis.Verdict{Class: class, TieSet: tie, Suspects: suspects}}}
}

func TestJudge(t *testing.T) {
	nic := sim.Component{Kind: "nic", Node: "gpu-007", Device: "mlx5_3", Switch: "leaf-r3"}
	truth := sim.Truth{Class: "nic_degraded", Severity: "critical", Within: 2 * time.Minute, Suspects: []sim.Component{nic}}
	guilty := diagnosis.Suspect{Kind: "nic", Node: "gpu-007", Device: "mlx5_3"}
	innocent := diagnosis.Suspect{Kind: "nic", Node: "gpu-008", Device: "mlx5_3"}

	v := Judge(outcome(truth, said(diagnosis.NICDegraded, diagnosis.Critical, 1, guilty)))
	require.True(t, v.OK(), v.Got())
	require.Equal(t, 2, v.Evaluations)

	v = Judge(outcome(truth, said(diagnosis.NICDegraded, diagnosis.Critical, 1, innocent)))
	require.False(t, v.OK())
	require.Len(t, v.Wrong, 1)
	require.False(t, v.Top1)

	v = Judge(outcome(truth, said(diagnosis.NICDegraded, diagnosis.Warning, 1, guilty)))
	require.False(t, v.OK(), "severity too low")

	v = Judge(outcome(truth))
	require.False(t, v.Found)
	require.False(t, v.OK())

	v = Judge(outcome(truth, said(diagnosis.NICDegraded, diagnosis.Critical, 1, guilty), said(diagnosis.StragglerCompute, diagnosis.Warning, 0)))
	require.Equal(t, []string{"straggler_compute/"}, v.False)

	v = Judge(outcome(sim.Truth{}, said(diagnosis.CollectiveStall, diagnosis.Critical, 1, innocent)))
	require.True(t, v.OverClaim)
	require.False(t, v.OK())

	v = Judge(outcome(sim.Truth{Allowed: []string{"telemetry_gap"}, MayName: []sim.Component{{Kind: "node", Node: "gpu-008"}}},
		said(diagnosis.TelemetryGap, diagnosis.Info, 1, diagnosis.Suspect{Kind: "node", Node: "gpu-008"})))
	require.True(t, v.OK(), v.Got())
}

func TestShare(t *testing.T) {
	s := share([]bool{true, true, true, false})
	require.InDelta(t, 0.75, s.Value(), 1e-12)
	require.LessOrEqual(t, s.Low, 0.75)
	require.GreaterOrEqual(t, s.High, 0.75)
	require.Equal(t, "–", share(nil).String())
	require.Equal(t, 3*time.Second, quantile([]time.Duration{5e9, 1e9, 3e9}, 0.5))
	require.Equal(t, 5*time.Second, quantile([]time.Duration{5e9, 1e9, 3e9}, 0.95))
}
