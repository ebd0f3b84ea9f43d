package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLateRankIsFastest holds for any late rank, any size of cluster and any
// amount of lateness well above the noise.
func TestLateRankIsFastest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hosts := rapid.IntRange(3, 9).Draw(rt, "hosts")
		late := rapid.IntRange(0, hosts-1).Draw(rt, "late")
		slow := rapid.Float64Range(1.15, 3).Draw(rt, "slow")
		c, err := New(Options{Seed: rapid.Uint64().Draw(rt, "seed"), Shape: R16(hosts), Dialect: Full(), Noise: DefaultNoise()}, &Discard{})
		require.NoError(rt, err)
		c.Inject(Starve(late, 0.5, 200, slow, 0, 0))
		require.NoError(rt, c.Run(t.Context(), 3*time.Minute))
		j := c.Jobs[0]
		cs := j.comms[len(j.comms)-1]
		for _, members := range cs.groups {
			least := members[0]
			for _, r := range members {
				if cs.lastOp[r] < cs.lastOp[least] {
					least = r
				}
			}
			require.Equal(rt, c.Hosts[late], j.ranks[least].gpu.host, "the late host waits for nobody")
		}
	})
}

// TestOneSlowNICSlowsAll holds for any NIC: steps get longer, the bytes of
// all NICs fall, and only the communicator over that NIC loses bandwidth.
func TestOneSlowNICSlowsAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hosts := rapid.IntRange(2, 8).Draw(rt, "hosts")
		h, n := rapid.IntRange(0, hosts-1).Draw(rt, "host"), rapid.IntRange(0, 7).Draw(rt, "nic")
		share := rapid.Float64Range(0.1, 0.5).Draw(rt, "share")
		c, err := New(Options{Seed: rapid.Uint64().Draw(rt, "seed"), Shape: R16(hosts), Dialect: Full(), Noise: DefaultNoise()}, &Discard{})
		require.NoError(rt, err)
		moved := func(from, to time.Duration) []float64 {
			out := make([]float64, 0, hosts*8)
			require.NoError(rt, c.Run(t.Context(), from))
			for _, host := range c.Hosts {
				for _, x := range host.NICs {
					out = append(out, -x.bytes(c.now))
				}
			}
			require.NoError(rt, c.Run(t.Context(), to))
			i := 0
			for _, host := range c.Hosts {
				for _, x := range host.NICs {
					out[i] += x.bytes(c.now)
					i++
				}
			}
			return out
		}
		before := moved(0, 5*time.Minute)
		c.Inject(Downtrain(h, n, share, 300, 0))
		after := moved(310*time.Second, 610*time.Second)
		for i := range before {
			require.Less(rt, after[i], 0.95*before[i], "NIC %d", i)
		}
		j := c.Jobs[0]
		cs := j.comms[len(j.comms)-1]
		// Medians over minutes: an operation, or all of a step, may be one of the
		// noise's long ones.
		var slow, rest []float64
		for at := 610 * time.Second; at < 15*time.Minute; at += 10 * time.Second {
			require.NoError(rt, c.Run(t.Context(), at))
			for r := range cs.lastOp {
				if j.ranks[r].gpu.Index == n {
					slow = append(slow, cs.lastOp[r])
				} else {
					rest = append(rest, cs.lastOp[r])
				}
			}
		}
		slices.Sort(slow)
		slices.Sort(rest)
		require.Greater(rt, slow[len(slow)/2], 1.4*cs.base)
		require.Less(rt, rest[len(rest)/2], 1.3*cs.base)
	})
}

// TestCombinedFaultsRecover holds for overlapping faults on one NIC: when both
// are over, it is as before.
func TestCombinedFaultsRecover(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.Float64Range(10, 60).Draw(rt, "a"), rapid.Float64Range(10, 60).Draw(rt, "b")
		c, err := New(Options{Seed: 1, Shape: R16(2), Dialect: Full(), Noise: DefaultNoise()}, &Discard{})
		require.NoError(rt, err)
		c.Inject(Downtrain(0, 3, 0.25, 5, 5+a))
		c.Inject(BitErrors(0, 3, 0.8, 8, 8+b))
		require.NoError(rt, c.Run(t.Context(), 7*time.Second))
		require.Equal(rt, 1.25e10, c.Hosts[0].NICs[3].Rate)
		require.NoError(rt, c.Run(t.Context(), 80*time.Second))
		x := c.Hosts[0].NICs[3]
		require.Equal(rt, 5e10, x.Rate)
		require.Equal(rt, 1.0, x.Factor)
		require.Zero(rt, x.Rates[cSymbol])
	})
}
