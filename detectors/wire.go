package detectors

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/collwatch/collwatch/signals"
)

// wire finds the one link of a communicator on which network steps wait, from
// the plugin's deep mode. It is evidence beside facts about NICs: the wait does
// not tell which end of the link, or what between them, is slow.
type wire struct {
	rows map[signals.EntityID]sample
	held map[wireLink]*streak
}

// wireLink is a directed link between two ranks of a communicator.
type wireLink struct {
	job, comm string
	from, to  int32 // ranks in the communicator, plus one
}

// wireWait is what both ends say about a link.
type wireWait struct {
	link      wireLink
	entity    signals.Entity // of the sender
	wire      float64        // s/s that its steps wait on the wire
	recv      float64        // s/s that the receiver's steps wait for data
	stamp     int64
	heardBoth bool
}

const (
	// wireFactor is how far a link's wait must be above that of the next one.
	// With 15 ms of delay on one of four links of a ring the ratio is above 10;
	// between healthy links it stays below 2.
	wireFactor = 3
	// wireLeast is the least wait in seconds a second that matters.
	wireLeast = 0.1
	// wireLinks is the least number of links to compare.
	wireLinks = 3
	// wireRuns is how many scrapes in a row must agree.
	wireRuns = 4
	// wireHeard is the part of the longest wait for data that the receiver of a
	// slow link must show. One that is merely late has its data already, and its
	// back-pressure looks like the wire on sockets.
	wireHeard = 0.5
)

func newWire() Detector {
	return &wire{rows: map[signals.EntityID]sample{}, held: map[wireLink]*streak{}}
}

// Name implements Detector.
func (d *wire) Name() string { return "wire" }

// Renumber implements Renumberer.
func (d *wire) Renumber(to []signals.EntityID, _ int) { d.rows = renumberMap(d.rows, to) }

// Observe implements Detector.
func (d *wire) Observe(t *Tick, r *Report) {
	f := t.Frame(signals.ProxyWait)
	for i := range f.Len() {
		if v := f.Value[i]; !math.IsNaN(v) && v >= 0 {
			d.rows[f.Entity[i]] = sample{v, f.Stamp[i]}
		}
	}
	for id, row := range d.rows {
		if t.Time.UnixMilli()-row.stamp > columnAge.Milliseconds() {
			delete(d.rows, id)
		}
	}
	seen := map[wireLink]bool{}
	for _, links := range d.links(t) {
		slices.SortFunc(links, func(a, b *wireWait) int { return cmp.Compare(b.wire, a.wire) })
		worst := links[0]
		yes := worst.slow(links)
		for link, s := range d.held {
			if link.job == worst.link.job && link.comm == worst.link.comm && (!yes || link != worst.link) {
				seen[link] = s.hold(false, worst.stamp, 0, 0)
			}
		}
		if !yes {
			continue
		}
		s := d.held[worst.link]
		if s == nil {
			s = &streak{}
			d.held[worst.link] = s
		}
		seen[worst.link] = true
		if s.hold(true, worst.stamp, worst.wire, links[1].wire) && s.windows >= wireRuns {
			r.Findings = append(r.Findings, Finding{
				Detector: d.Name(), Pattern: PeerOutlier, Signal: signals.ProxyWait, Entity: worst.entity, Job: worst.link.job,
				Direction: signals.Up, Value: s.value, Expected: s.against, Score: math.NaN(), Peers: len(links) - 1,
				Windows: int(s.windows), Since: unixMilli(s.since), Code: CodeWireWait,
			})
		}
	}
	for link := range d.held {
		if !seen[link] {
			delete(d.held, link)
		}
	}
}

// slow says that a link is the slow one of its communicator. links are sorted.
func (w *wireWait) slow(links []*wireWait) bool {
	if len(links) < wireLinks || !w.heardBoth || w.wire < wireLeast || w.wire < wireFactor*links[1].wire {
		return false
	}
	longest := 0.0
	for _, l := range links {
		longest = max(longest, l.recv)
	}
	return w.recv >= wireHeard*longest
}

// links lists the links of each communicator.
func (d *wire) links(t *Tick) map[[2]string][]*wireWait {
	all := map[wireLink]*wireWait{}
	at := func(e signals.Entity, from, to int32) *wireWait {
		k := wireLink{e.Job, e.Comm, from, to}
		if all[k] == nil {
			all[k] = &wireWait{link: k}
		}
		return all[k]
	}
	for id, row := range d.rows {
		e := t.Entities.Of(id)
		n, err := strconv.ParseInt(e.Peer, 10, 31)
		if err != nil || e.Comm == "" || e.Rank == 0 {
			continue
		}
		switch peer := int32(n) + 1; e.Detail {
		case "wire":
			w := at(e, e.Rank, peer)
			w.entity, w.wire, w.stamp = e, row.value, max(w.stamp, row.stamp)
		case "recv_wait":
			w := at(e, peer, e.Rank)
			w.recv, w.heardBoth = row.value, true
		}
	}
	out := map[[2]string][]*wireWait{}
	for k, w := range all {
		if w.stamp != 0 {
			out[[2]string{k.job, k.comm}] = append(out[[2]string{k.job, k.comm}], w)
		}
	}
	return out
}
