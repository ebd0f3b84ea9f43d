package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// jobsOfAShape are findings about jobs of two hosts: slow ones first.
func jobsOfAShape(version string, slow, fast [][]string) *detectors.Report {
	now := time.Unix(1767225600, 0)
	r := &detectors.Report{Time: now}
	for i, list := range [][][]string{slow, fast} {
		code, v := detectors.CodeBelowShape, 49e9
		if i == 1 {
			code, v = detectors.CodeAtShape, 87e9
		}
		for k, hosts := range list {
			id := string(rune('a'+i)) + string(rune('0'+k))
			r.Findings = append(r.Findings, detectors.Finding{
				Detector: "shapes", Pattern: detectors.BaselineShape, Signal: signals.CollBusBandwidth, Job: id, Hosts: hosts, Code: code,
				Entity: signals.Entity{Kind: signals.KindJob, Job: id, Op: "AllReduce", Size: "256M", Algo: "ring_simple", NRanks: 16, NNodes: 2, Version: version},
				Value:  v, Expected: 87e9, Windows: 12, Since: now.Add(-time.Duration(3-k) * time.Hour), Count: float64(now.UnixMilli()),
			})
		}
	}
	return r
}

func TestIntersectionNamesTheCommonHost(t *testing.T) {
	s := &signals.Snapshot{Time: time.Unix(1767225600, 0), Entities: signals.NewEntities()}
	slow, fast := [][]string{{"h1", "h3"}, {"h2", "h3"}}, [][]string{{"h1", "h2"}, {"h1", "h4"}}

	vs := New(Options{}).Diagnose(s, jobsOfAShape("v5.1", slow, fast), nil).Verdicts
	require.Len(t, vs, 1)
	require.Equal(t, NodeSuspect, vs[0].Class)
	require.Equal(t, "h3", vs[0].Suspects[0].Node)
	require.Equal(t, Warning, vs[0].Severity)

	vs = New(Options{}).Diagnose(s, jobsOfAShape("", slow, fast), nil).Verdicts
	require.Len(t, vs, 1)
	require.Empty(t, vs[0].Suspects, "without versions the slow jobs may share an image")
	require.Equal(t, "h3", vs[0].Candidates[0].Node)
	require.Equal(t, Info, vs[0].Severity)
	require.NotContains(t, vs[0].Scope, "h3", "a label would name it all the same")
}
