package diagnosis

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every verdict belongs to exactly one of the daemons, whatever is known of it.
func TestShardsShareAllVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "a", "48213", "gpu-007", "leaf-r3", "pod/x-0"})
		v := Verdict{Class: LinkDown, Job: name.Draw(t, "job"), Scope: name.Draw(t, "scope")}
		if rapid.Bool().Draw(t, "suspect") {
			v.Suspects = []Suspect{{Kind: "nic", Node: name.Draw(t, "node"), Switch: name.Draw(t, "switch")}}
		}
		count := rapid.IntRange(1, 20).Draw(t, "count")
		owners := 0
		for i := 1; i <= count; i++ {
			owners += len(Shard{Index: i, Count: count}.keep([]Verdict{v}))
		}
		require.Equal(t, 1, owners)
	})
}

// A job's verdicts stay together, so that a stall and its cause are one
// incident.
func TestShardGoesByJobFirst(t *testing.T) {
	a := Verdict{Class: CollectiveStall, Job: "48213"}
	b := Verdict{Class: GPUFault, Job: "48213", Suspects: []Suspect{{Kind: "gpu", Node: "gpu-007"}}}
	require.Equal(t, shardKey(&a), shardKey(&b))
	c := Verdict{Class: GPUFault, Suspects: []Suspect{{Kind: "gpu", Node: "gpu-007"}}}
	require.Equal(t, "gpu-007", shardKey(&c))
}

func TestShardsAreOfSimilarSize(t *testing.T) {
	const jobs, count = 4000, 8
	for _, pattern := range []string{"%d", "gpu-%03d", "team/train-%d"} {
		var sizes [count]int
		for n := range jobs {
			for i := range count {
				if (Shard{Index: i + 1, Count: count}).Owns(fmt.Sprintf(pattern, n)) {
					sizes[i]++
				}
			}
		}
		for i, n := range sizes {
			require.InDelta(t, jobs/count, n, jobs/count*0.2, "shard %d of names like %s", i+1, pattern)
		}
	}
}

// The assignment must never change: daemons of two releases run side by side
// during an upgrade.
func TestShardHashIsStable(t *testing.T) {
	var got []int
	for _, key := range []string{"48213", "gpu-007", "leaf-r3"} {
		for i := 1; i <= 8; i++ {
			if (Shard{Index: i, Count: 8}).Owns(key) {
				got = append(got, i)
			}
		}
	}
	require.Equal(t, []int{6, 2, 5}, got)
}
