package detectors

import (
	"time"

	"github.com/collwatch/collwatch/signals"
)

const (
	// hungLeast is how long the counted operations must have stood, and
	// hungWatched for how long that must have been seen, for a job to be hung.
	hungLeast   = 30 * time.Second
	hungWatched = 15 * time.Second
	// scrapeLag is how much later than an operation a clock may still show it:
	// a scrape and its neighbour. sampleLag is that of values of GPUs, which are
	// collected every 30 s and scraped every 30 s.
	scrapeLag = 30 * time.Second
	sampleLag = 75 * time.Second
)

// hung says since when the counters of the collwatch exporter stand, while no
// other clock has shown anything that is newer. Operations that are counted one
// by one tell of a stop at once; samples and files show for a while what was
// before. A clock that runs on later than it may lag speaks for a job that
// works without counting, as one that replays CUDA graphs.
func (p *progressJob) hung(now time.Time, o Options) (time.Time, bool) {
	c := &p.clocks[clockPlugin]
	ran := time.UnixMilli(c.run)
	if c.run == 0 || now.Sub(time.UnixMilli(c.sample)) > freshness || time.UnixMilli(c.sample).Sub(ran) < hungLeast {
		return time.Time{}, false
	}
	for i := range p.clocks {
		lag := scrapeLag
		switch i {
		case clockInspector:
			lag += o.Dump
		case clockTensor, clockPower:
			lag = sampleLag
		}
		if time.UnixMilli(p.clocks[i].run).Sub(ran) > lag {
			return time.Time{}, false
		}
	}
	return ran, true
}

// mostWait says that at least half of the living ranks have begun an operation
// that has not ended.
func (b *positions) mostWait(procs map[signals.Entity]rankProcess) bool {
	alive, waiting := 0, 0
	for thing, x := range procs {
		if x.state != ProcessRuns && x.state != ProcessStopped {
			continue
		}
		alive++
		if b.waits(thing) {
			waiting++
		}
	}
	return alive > 0 && 2*waiting >= alive
}
