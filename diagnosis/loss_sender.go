package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// A sender is told of a loss by the receiver, so that its counter says nothing of
// the end at which packets get lost. It is to blame if the loss is spread over those
// it sends to, each of which sees less than would be reported of it. Where one of
// them sees as much, the loss is on the path between the two.

const (
	// unorderedLeast is the rate of packets out of sequence that is remembered: half
	// of what is reported of a sender at least.
	unorderedLeast = 2.5
	// unorderedKept is how long it is: a scrape may be a minute apart.
	unorderedKept = 3 * time.Minute
	// unorderedAlike is the part of the sender's errors that a single receiver sees.
	// It counts more than one packet for each error, but is read at other times.
	unorderedAlike = 0.7
)

// seenRate is a rate and when it was seen.
type seenRate struct {
	rate float64
	at   time.Time
}

// noteUnordered remembers who receives packets out of sequence, however few.
func (c *Case) noteUnordered() {
	f := c.Snapshot.Frame(signals.NICOutOfSequence)
	for i := range f.Len() {
		if f.Value[i] >= unorderedLeast {
			c.memory.unordered[c.thing(c.Snapshot.Entities.Of(f.Entity[i]))] = seenRate{f.Value[i], c.Now}
		}
	}
	for nic, x := range c.memory.unordered {
		if c.Now.Sub(x.at) > unorderedKept {
			delete(c.memory.unordered, nic)
		}
	}
}

// oneSender judges a sender that sees losses where nothing is reported of receivers.
func (c *Case) oneSender(sender signals.Entity, by map[signals.Entity][]*detectors.Finding) Hypothesis {
	rate := 0.0
	for _, x := range by[sender] {
		rate = max(rate, x.Value)
	}
	seen := map[signals.Entity]bool{}
	for nic, x := range c.memory.unordered {
		if nic != sender && x.rate >= unorderedAlike*rate {
			seen[nic] = true
		}
	}
	if len(seen) == 0 && c.Offered(signals.NICOutOfSequence) {
		return c.oneLossy(sender, by)
	}
	h := c.oneLossy(sender, by)
	h.Candidates = []Suspect{c.NICSuspect(sender)}
	for _, nic := range sortedThings(seen) {
		h.Candidates = append(h.Candidates, c.NICSuspect(nic))
		h.Covers = append(h.Covers, nic)
	}
	h.nobody(max(2, len(h.Candidates)))
	return h
}
