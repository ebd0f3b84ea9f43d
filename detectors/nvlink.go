package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// nvlinkErrors counts NVLink error events per link. They are rare: a recovery
// every few minutes is a dying link (public limits: more than 1 per hour a
// ticket, more than 10 a page), so events are counted over an hour.
type nvlinkErrors struct {
	links map[signals.EntityID][]nvlinkEvent
	seen  table[int64] // links that report at all
}

type nvlinkEvent struct {
	at int64 // Unix ms
	n  float64
}

const (
	nvlinkMemory  = time.Hour
	nvlinkLeast   = 2    // events in the memory; one alone is weather
	nvlinkCommon  = 0.25 // of the links with events: then it is how this cluster is
	nvlinkMinimum = 16   // links, for that share to mean something
)

func newNVLinkErrors() *nvlinkErrors {
	return &nvlinkErrors{links: map[signals.EntityID][]nvlinkEvent{}}
}

func (d *nvlinkErrors) Name() string { return "nvlink_errors" }

// Observe implements [Detector].
func (d *nvlinkErrors) Observe(t *Tick, r *Report) {
	if f := t.Frames[signals.NVLinkErrors]; f.Len() > 0 && f.Delta != nil {
		for i, id := range f.Entity {
			*d.seen.put(id) = f.Stamp[i]
			if n := f.Delta[i]; n >= 1 {
				list := append(d.links[id], nvlinkEvent{f.Stamp[i], n})
				if len(list) > linkEventsKept {
					list = list[1:]
				}
				d.links[id] = list
			}
		}
	}
	d.report(t, r)
}

func (d *nvlinkErrors) report(t *Tick, r *Report) {
	var ids []signals.EntityID
	for id, list := range d.links {
		for len(list) > 0 && t.Time.UnixMilli()-list[0].at > nvlinkMemory.Milliseconds() {
			list = list[1:]
		}
		if len(list) == 0 {
			delete(d.links, id)
			continue
		}
		d.links[id] = list
		if sum(list) >= nvlinkLeast {
			ids = append(ids, id)
		}
	}
	if n := d.seen.len(); n >= nvlinkMinimum && float64(len(ids)) > nvlinkCommon*float64(n) {
		return
	}
	slices.Sort(ids)
	for _, id := range ids {
		list, e := d.links[id], t.Entities.Of(id)
		f := Finding{
			Detector: d.Name(), Pattern: Event, Signal: signals.NVLinkErrors, Entity: e, Direction: signals.Up,
			Value: sum(list), Expected: math.NaN(), Score: math.NaN(), Peers: max(0, d.seen.len()-1), Count: sum(list),
			Since: unixMilli(list[0].at), Code: CodeNVLink,
		}
		if j := t.JobOf(e); j != nil {
			f.Job = j.ID
		}
		r.Findings = append(r.Findings, f)
	}
}

func sum(list []nvlinkEvent) float64 {
	n := 0.0
	for _, x := range list {
		n += x.n
	}
	return n
}

// Renumber implements [Renumberer].
func (d *nvlinkErrors) Renumber(to []signals.EntityID, _ int) {
	d.links = renumberMap(d.links, to)
	d.seen.renumber(to)
}
