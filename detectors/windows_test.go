package detectors

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// Members dump every 30 s on phases of their own. A window has one dump of each,
// whatever the phases are: longer windows would delay every verdict that
// counts them, and mix members seen twice with members seen once.
func TestAWindowHasOneDumpOfEachMember(t *testing.T) {
	const dump, tick = 30_000, 15_000
	for name, phases := range map[string][]int64{
		"all at once":    {0, 0, 0, 0},
		"two phases":     {0, 0, 16_000, 16_000},
		"spread":         {0, 7_000, 14_000, 29_000},
		"one is missing": {0, 4_000, 11_000, 19_000, -1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindows(Options{Dump: dump * time.Millisecond})
			ch := &channel{channelKey: channelKey{op: "AllReduce"}, group: &signals.Group{Job: "1", NRanks: int32(len(phases))}}
			for i := range phases {
				ch.index(signals.Entity{Kind: signals.KindGPU, Host: fmt.Sprint("h", i), Device: "GPU0"})
			}
			const begin, minutes = int64(1_700_000_000_000), 10
			windows := 0
			for now := begin + 5_000; now < begin+minutes*60_000; now += tick {
				for i, phase := range phases {
					if at := begin + phase; phase >= 0 && now >= at && (now-at)/dump != (now-tick-at)/dump || phase >= 0 && now >= at && now-tick < at {
						ch.add(i, 6e-3, at+(now-at)/dump*dump)
					}
				}
				if !w.ready(ch, now) {
					continue
				}
				for i, m := range ch.members {
					if phases[i] >= 0 && windows > 4 { // until then the missing one is waited for
						require.EqualValues(t, 1, m.n, "member %d in window %d", i, windows)
					}
				}
				ch.close(now)
				windows++
			}
			require.InDelta(t, 2*minutes, windows, 4)
		})
	}
}
