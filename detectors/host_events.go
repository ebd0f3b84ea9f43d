package detectors

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// hostEvents reports restarts, driver reloads, out-of-memory kills, kernels that
// differ from the fleet's, and hosts taken out of service. Most are no fault:
// they are what else explains a port that was down or a counter that fell.
type hostEvents struct {
	boot   map[signals.Entity]float64
	kernel map[string]string // host: release
	events map[hostEventKey]hostEvent
	states map[signals.Entity]string
}

type hostEventKey struct{ host, code string }

type hostEvent struct {
	signal signals.ID
	at     int64 // Unix ms of the first sample that showed it
	since  int64 // Unix ms of the event itself
	value  float64
	n      float64
}

const (
	bootMemory   = 100 * time.Minute // the grace of links after a boot, and the hour for which their events are remembered
	oomMemory    = 20 * time.Minute
	reloadMemory = 10 * time.Minute
	bootJitter   = 60.0 // s; the boot time is computed from uptime and wanders with the clock
)

func newHostEvents() *hostEvents {
	return &hostEvents{
		boot: map[signals.Entity]float64{}, kernel: map[string]string{}, events: map[hostEventKey]hostEvent{},
		states: map[signals.Entity]string{},
	}
}

func (d *hostEvents) Name() string { return "host_events" }

// Observe implements [Detector].
func (d *hostEvents) Observe(t *Tick, r *Report) {
	if f := t.Frames[signals.HostBootTime]; f.Len() > 0 {
		for i, id := range f.Entity {
			d.booted(t.Entities.Of(id), f.Value[i], f.Stamp[i])
		}
	}
	if f := t.Frames[signals.HostOOMKills]; f.Len() > 0 && f.Delta != nil {
		for i, id := range f.Entity {
			if n := f.Delta[i]; n >= 1 {
				host := t.Entities.Of(id).Host
				d.events[hostEventKey{host, CodeOOM}] = hostEvent{signals.HostOOMKills, f.Stamp[i], f.Stamp[i], n, n}
			}
		}
	}
	d.reloads(t)
	d.kernels(t, r)
	d.drained(t, r)
	d.report(t, r)
}

func (d *hostEvents) booted(e signals.Entity, v float64, stamp int64) {
	if math.IsNaN(v) {
		return
	}
	host := e.Thing()
	was, seen := d.boot[host]
	d.boot[host] = v
	if seen && v > was+bootJitter {
		d.events[hostEventKey{e.Host, CodeBoot}] = hostEvent{signals.HostBootTime, stamp, int64(v * 1000), v, 1}
	}
}

// reloads finds hosts where the byte counters of all NICs began anew at once
// while the host did not restart.
func (d *hostEvents) reloads(t *Tick) {
	f := t.Frames[signals.NICTx]
	if f.Len() == 0 || f.Delta == nil {
		return
	}
	type tally struct {
		reset, all int
		stamp      int64
	}
	hosts := map[string]tally{}
	for i, id := range f.Entity {
		if !math.IsNaN(f.Delta[i]) && len(hosts) == 0 {
			continue // the usual tick: nothing began anew so far
		}
		h := t.Entities.Of(id).Host
		x := hosts[h]
		if math.IsNaN(f.Delta[i]) {
			x.reset++
			x.stamp = f.Stamp[i]
		}
		hosts[h] = x
	}
	if len(hosts) == 0 || len(hosts) > 1 && float64(len(hosts)) > 0.5*float64(len(d.boot)) {
		return // nothing, or the first tick of all
	}
	for i := range f.Entity {
		h := t.Entities.Of(f.Entity[i]).Host
		if x, ok := hosts[h]; ok {
			x.all++
			hosts[h] = x
		}
	}
	for h, x := range hosts {
		if x.reset >= 2 && x.reset == x.all {
			d.events[hostEventKey{h, CodeDriverReload}] = hostEvent{signals.NICTx, x.stamp, x.stamp, float64(x.reset), 1}
		}
	}
}

// kernels reports hosts whose kernel differs from that of most hosts.
func (d *hostEvents) kernels(t *Tick, r *Report) {
	if f := t.Frames[signals.HostKernel]; f.Len() > 0 {
		for _, id := range f.Entity {
			e := t.Entities.Of(id)
			d.kernel[e.Host] = e.Detail
		}
	}
	votes := map[string]int{}
	for _, release := range d.kernel {
		votes[release]++
	}
	usual, most := "", 0
	for release, n := range votes {
		if n > most || n == most && release < usual {
			usual, most = release, n
		}
	}
	if len(votes) < 2 || 2*most <= len(d.kernel) {
		return
	}
	var odd []string
	for host, release := range d.kernel {
		if release != usual {
			odd = append(odd, host)
		}
	}
	slices.Sort(odd)
	for _, host := range odd {
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: PeerOutlier, Signal: signals.HostKernel,
			Entity: signals.Entity{Kind: signals.KindHost, Host: host, Detail: d.kernel[host], Peer: usual},
			Value:  math.NaN(), Expected: math.NaN(), Score: math.NaN(), Peers: most, Code: CodeKernel,
		})
	}
}

// drained reports hosts that somebody took out of service.
func (d *hostEvents) drained(t *Tick, r *Report) {
	f := t.Frames[signals.NodeState]
	if f.Len() == 0 {
		return
	}
	clear(d.states)
	for i, id := range f.Entity {
		e := t.Entities.Of(id)
		if word := strings.ToLower(e.Detail); f.Value[i] > 0 && (strings.Contains(word, "drain") || strings.Contains(word, "maint") || strings.Contains(word, "unschedulable")) {
			d.states[e.Thing()] = e.Detail
		}
	}
	hosts := make([]signals.Entity, 0, len(d.states))
	for e := range d.states {
		hosts = append(hosts, e)
	}
	slices.SortFunc(hosts, orderThings)
	for _, e := range hosts {
		e.Detail = d.states[e.Thing()]
		r.Findings = append(r.Findings, Finding{
			Detector: d.Name(), Pattern: Fact, Signal: signals.NodeState, Entity: e, Value: 1, Expected: math.NaN(), Score: math.NaN(), Code: CodeDrained,
		})
	}
}

func (d *hostEvents) report(t *Tick, r *Report) {
	keys := make([]hostEventKey, 0, len(d.events))
	for k, e := range d.events {
		keep := bootMemory
		switch k.code {
		case CodeOOM:
			keep = oomMemory
		case CodeDriverReload:
			keep = reloadMemory
		}
		if t.Time.UnixMilli()-e.at > keep.Milliseconds() {
			delete(d.events, k)
			continue
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b hostEventKey) int {
		return orderThings(signals.Entity{Host: a.host, Device: a.code}, signals.Entity{Host: b.host, Device: b.code})
	})
	for _, k := range keys {
		e := d.events[k]
		f := Finding{
			Detector: d.Name(), Pattern: Event, Signal: e.signal, Entity: signals.Entity{Kind: signals.KindHost, Host: k.host},
			Value: e.value, Expected: math.NaN(), Score: math.NaN(), Count: e.n, Since: unixMilli(e.since), Code: k.code,
		}
		if j := t.JobOf(f.Entity); j != nil {
			f.Job = j.ID
		}
		r.Findings = append(r.Findings, f)
	}
}
