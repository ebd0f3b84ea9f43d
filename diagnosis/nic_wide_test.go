package diagnosis_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestWhatManyNICsShowAlike: what ports share is one fault, and none of them is
// named; what begins at different times, or on few, is theirs.
func TestWhatManyNICsShowAlike(t *testing.T) {
	bare := func() snaptest.Shape { s := snaptest.R16(); s.Leaf = nil; return s }
	errors := func(hosts, nics int) func(r *rig) {
		return func(r *rig) {
			for _, h := range r.Shape.Hosts[:hosts] {
				for _, d := range r.Shape.NICs[:nics] {
					r.Set(signals.NICSymbolErrors, 38, snaptest.NIC(h, d))
				}
			}
		}
	}
	const nobody = "nic_degraded bit_errors warning low"
	one := func(host, nic int) string {
		return fmt.Sprintf("nic_degraded bit_errors warning high nic:gpu-%03d/mlx5_%d", host, nic)
	}
	counts := func(hosts, tie int) func(*testing.T, diagnosis.Verdict) {
		return func(t *testing.T, v diagnosis.Verdict) {
			require.Equal(t, hosts, v.AffectedHosts)
			require.Equal(t, tie, v.TieSet)
			require.NotContains(t, v.Next, "keep new jobs off")
			require.Len(t, v.Evidence, 1)
		}
	}
	runAll(t, []scenario{
		{name: "all ports of all hosts", shape: bare, after: 5 * time.Minute, fault: errors(16, 8), want: []string{nobody}, check: counts(16, 128)},
		{name: "all ports of most hosts", shape: bare, after: 5 * time.Minute, fault: errors(9, 8), want: []string{nobody}, check: counts(9, 72)},
		{name: "all ports of some hosts", shape: bare, after: 5 * time.Minute, fault: errors(5, 8), want: []string{nobody}, check: counts(5, 40)},
		{name: "all ports of some hosts, each on a leaf of its own", after: 5 * time.Minute, fault: errors(5, 8), want: []string{nobody}, check: counts(5, 40)},
		{name: "all ports of all hosts, with topology", after: 5 * time.Minute, fault: errors(16, 8), want: []string{nobody}, check: counts(16, 128)},
		{name: "all ports of a host", shape: bare, after: 5 * time.Minute, fault: errors(1, 8), want: []string{"nic_degraded bit_errors warning medium node:gpu-001"}},
		{
			name: "both ports of two hosts", shape: func() snaptest.Shape { return snaptest.Rails("gpu-%03d", 8, 2) }, after: 5 * time.Minute, fault: errors(2, 2),
			want: []string{"nic_degraded bit_errors warning medium node:gpu-001", "nic_degraded bit_errors warning medium node:gpu-002"},
		},
		{name: "a rail", shape: bare, after: 5 * time.Minute, fault: errors(16, 1), want: []string{"rail_degraded no_topology critical medium rail:0"}},
		{name: "a leaf", after: 5 * time.Minute, fault: errors(16, 1), want: []string{"leaf_degraded rail_wide critical high switch:leaf-r0"}},
		{name: "three cables", shape: bare, after: 5 * time.Minute, fault: errors(3, 1), want: []string{one(1, 0), one(2, 0), one(3, 0)}},
		{
			name: "one port of six hosts at once", shape: bare, after: 5 * time.Minute, want: []string{nobody}, check: counts(6, 6),
			fault: func(r *rig) {
				for i := range 6 {
					r.Set(signals.NICSymbolErrors, 38, snaptest.NIC(r.Shape.Hosts[i], r.Shape.NICs[i]))
				}
			},
		},
		{
			name: "one port of five hosts, one after another", shape: bare, after: 5 * time.Minute, want: []string{one(1, 0), one(2, 1), one(3, 2), one(4, 3), one(5, 4)},
			also: []string{
				"nic_degraded bit_errors critical high nic:gpu-001/mlx5_0", "nic_degraded bit_errors critical high nic:gpu-002/mlx5_1",
				"nic_degraded bit_errors critical high nic:gpu-003/mlx5_2", "nic_degraded bit_errors critical high nic:gpu-004/mlx5_3",
			},
			setup: func(r *rig) { r.End("48213") },
			fault: func(r *rig) {
				for i := range 5 {
					r.Set(signals.NICSymbolErrors, 38, snaptest.NIC(r.Shape.Hosts[i], r.Shape.NICs[i]))
					r.run(8 * time.Minute)
				}
			},
		},
		{
			name: "six hosts fall back to a lower rate at once", shape: bare, after: 5 * time.Minute, want: []string{"nic_degraded rate_downtrained critical low"},
			fault: func(r *rig) {
				for i := range 6 {
					r.Set(signals.NICRate, 1.25e10, snaptest.NIC(r.Shape.Hosts[i], r.Shape.NICs[i]))
				}
			},
		},
	})
}
