package detectors

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/signals"
)

// wander runs a job on four hosts whose bandwidth inside each host wanders by
// sigma (relative, of an autoregressive process with a memory of some minutes),
// and returns the hosts found, in the order of their finding.
func wander(seed uint64, sigma float64, length time.Duration, lanes map[string]float64) map[string]time.Duration {
	c := snaptest.New(snaptest.Rails("h-%02d", 4, 4), seed)
	b := NewBank(Options{})
	b.detectors = []Detector{newInside()}
	rng := rand.New(rand.NewPCG(seed, 5))
	byHost := map[string][]signals.Entity{}
	for _, e := range c.Series(signals.CollBusBandwidth) {
		if e.NNodes == 1 {
			byHost[e.Host] = append(byHost[e.Host], e)
		}
	}
	const phi = 0.95
	state := map[string]float64{}
	found := map[string]time.Duration{}
	for at := time.Duration(0); at < length; at += c.Interval {
		for _, host := range c.Shape.Hosts {
			x := phi*state[host] + math.Sqrt(1-phi*phi)*rng.NormFloat64()
			state[host] = x
			lane := 1.0
			if f, sick := lanes[host]; sick {
				lane = f
			}
			c.Set(signals.CollBusBandwidth, 3.6e11*lane*math.Exp(sigma*x), byHost[host]...)
		}
		for _, f := range b.Observe(c.Next()).Findings {
			if _, known := found[f.Entity.Host]; !known {
				found[f.Entity.Host] = at
			}
		}
	}
	return found
}

func TestInsideDoesNotNameChance(t *testing.T) {
	for seed := range uint64(testdata.Rounds(4, 12)) {
		require.Empty(t, wander(seed, 0.04, 4*time.Hour, nil), "seed %d", seed)
	}
}

func TestInsideNamesALostLane(t *testing.T) {
	for seed := range uint64(3) {
		found := wander(seed, 0.003, 40*time.Minute, map[string]float64{"h-02": 0.94})
		require.Len(t, found, 1)
		require.Less(t, found["h-02"], 30*time.Minute)
	}
}
