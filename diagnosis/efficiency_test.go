package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// wasteful is one finding of efficiency about a job, and what else was found.
func wasteful(code string, more ...detectors.Finding) []Verdict {
	now := time.Unix(1767225600, 0)
	s := &signals.Snapshot{Time: now, Entities: signals.NewEntities(), Jobs: []*signals.Job{{ID: "7", Hosts: []string{"a1", "a2"}, FirstSeen: now.Add(-time.Hour)}}}
	x := detectors.Finding{
		Detector: "efficiency", Pattern: detectors.BelowPossible, Signal: signals.CollBusBandwidth, Job: "7", Hosts: s.Jobs[0].Hosts,
		Entity: signals.Entity{Kind: signals.KindJob, Job: "7", Op: "AllReduce", Size: "1M", Algo: "ring_ll", NRanks: 16, NNodes: 2, Detail: "tree_simple"},
		Value:  4e9, Expected: 5e10, Share: 0.36, Peers: 3, Windows: 20, Since: now.Add(-time.Hour), Code: code,
	}
	r := &detectors.Report{Time: now, Findings: append([]detectors.Finding{x}, more...)}
	return New(Options{}).Diagnose(s, r, nil).Verdicts
}

func TestInefficientCollective(t *testing.T) {
	for code, want := range map[string]struct{ reason, next string }{
		detectors.CodeSingleRail:     {"single_rail", "NCCL_IB_HCA"},
		detectors.CodeSmallMessages:  {"small_messages", "bucket"},
		detectors.CodeOtherAlgorithm: {"algorithm", "tree_simple"},
		detectors.CodeBelowBest:      {"below_shape", "faster job"},
	} {
		t.Run(want.reason, func(t *testing.T) {
			vs := wasteful(code)
			require.Len(t, vs, 1)
			v := vs[0]
			require.Equal(t, InefficientCollective, v.Class)
			require.Equal(t, want.reason, v.Reason)
			require.Equal(t, Info, v.Severity)
			require.Equal(t, Workload, v.Owner)
			require.Empty(t, v.Suspects, "the job is slow by itself")
			require.Contains(t, v.Next, want.next)
			require.Contains(t, v.Evidence[0].Text, "takes 36 % of the time of job 7 at 4")
			require.Contains(t, v.Evidence[0].Text, "8 % of the 50")
		})
	}
}

func TestInefficientCollectiveKeepsStill(t *testing.T) {
	nic := signals.Entity{Kind: signals.KindNIC, Host: "a1", Device: "mlx5_0", Port: "1"}
	require.Empty(t, wasteful(detectors.CodeBelowLinks), "few fabrics reach the rate of their links")
	for _, v := range wasteful(detectors.CodeBelowBest, detectors.Finding{Pattern: detectors.Errors, Signal: signals.NICSymbolErrors, Entity: nic, Code: detectors.CodeBitErrors, Value: 40, Windows: 9}) {
		require.NotEqual(t, InefficientCollective, v.Class, "a sick NIC is reason enough")
	}
	slow := detectors.Finding{Detector: "profile", Pattern: detectors.Shift, Signal: signals.CollExecTime, Job: "7", Entity: signals.Entity{Kind: signals.KindJob, Job: "7", Op: "AllReduce", Size: "1M"}, Value: 2, Expected: 1}
	busy := detectors.Finding{Detector: "profile", Pattern: detectors.Shift, Signal: signals.GPUDRAMActive, Job: "7", Entity: signals.Entity{Kind: signals.KindJob, Job: "7"}, Value: 0.7, Expected: 0.4}
	for _, v := range wasteful(detectors.CodeBelowBest, slow, busy) {
		require.NotEqual(t, InefficientCollective, v.Class, "computation in the way is another class")
	}
}

func TestSocketsLeadOverTheirCost(t *testing.T) {
	since := time.Unix(1767225600, 0).Add(-time.Hour)
	vs := wasteful(detectors.CodeBelowLinks, detectors.Finding{
		Detector: "fallback", Pattern: detectors.Fact, Signal: signals.HostNetTx, Entity: signals.Entity{Kind: signals.KindJob, Job: "7"}, Job: "7",
		Hosts: []string{"a1", "a2"}, Value: 2e9, Since: since, Code: detectors.CodeSocketsOnly,
	})
	require.Len(t, vs, 1)
	require.Equal(t, ConfigSuspected, vs[0].Class)
	require.Contains(t, vs[0].Consequences, "job 7: inefficient collective")
}
