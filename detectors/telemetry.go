package detectors

import (
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// telemetry reports inputs that should be there and are not: targets that are
// down, exporters that answer without rows, sources that fail. It adds what
// cannot be judged for that reason, so that nothing is concluded from silence.
type telemetry struct {
	silent map[missing]time.Time // since
	rows   map[missing]int64     // Unix ms of the newest row per host and exporter
	newest map[string]int64      // the same per exporter
}

// missing is one input of one host; host is empty for a whole source.
type missing struct{ host, source, code string }

const (
	rowsPeriod = 3 * time.Minute // six periods of DCGM without a row
	gapHold    = 45 * time.Second
	// rowsForgotten is when a host without rows is taken as gone for good.
	rowsForgotten = 2 * time.Hour
)

func newTelemetry() *telemetry {
	return &telemetry{silent: map[missing]time.Time{}, rows: map[missing]int64{}, newest: map[string]int64{}}
}

func (d *telemetry) Name() string { return "telemetry" }

// Observe implements [Detector].
func (d *telemetry) Observe(t *Tick, r *Report) {
	now := map[missing]bool{}
	for _, g := range t.Gaps {
		now[missing{g.Host, g.Source, g.Reason}] = true
	}
	d.targets(t, now)
	d.zeroRows(t, now)
	for k := range now {
		if _, ok := d.silent[k]; !ok {
			d.silent[k] = t.Time
		}
	}
	keys := make([]missing, 0, len(d.silent))
	for k := range d.silent {
		if !now[k] {
			delete(d.silent, k)
			continue
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b missing) int {
		return orderThings(signals.Entity{Host: a.host, Device: a.source, Port: a.code}, signals.Entity{Host: b.host, Device: b.source, Port: b.code})
	})
	for _, k := range keys {
		d.report(t, r, k, d.silent[k])
	}
}

func (d *telemetry) targets(t *Tick, now map[missing]bool) {
	if f := t.Frames[signals.TargetUp]; f.Len() > 0 {
		for i, id := range f.Entity {
			if e := t.Entities.Of(id); f.Value[i] == 0 && e.Host != "" {
				now[missing{e.Host, e.Detail, CodeExporterDown}] = true
			}
		}
	}
	if f := t.Frames[signals.ScrapeOK]; f.Len() > 0 {
		for i, id := range f.Entity {
			if e := t.Entities.Of(id); f.Value[i] == 0 && e.Host != "" {
				now[missing{e.Host, "node", CodeExporterDown}] = true
			}
		}
	}
}

// zeroRows finds hosts whose exporter used to give rows of a kind and gives
// none, while other hosts go on.
func (d *telemetry) zeroRows(t *Tick, now map[missing]bool) {
	d.count(t, "dcgm", signals.GPUUtil, signals.GPUSMClock, signals.GPUPower)
	d.count(t, "node", signals.NICState, signals.NICTx, signals.HostBootTime)
	for k, last := range d.rows {
		newest := d.newest[k.source]
		switch {
		case t.Time.UnixMilli()-last > rowsForgotten.Milliseconds():
			delete(d.rows, k) // the host is no more
		case t.Time.UnixMilli()-newest > rowsPeriod.Milliseconds():
			// Nobody reports: that is said of the source, not of every host.
		case newest-last > rowsPeriod.Milliseconds() && !now[missing{k.host, k.source, CodeExporterDown}]:
			now[k] = true
		}
	}
}

// count notes which hosts have rows of the first of several signals that is
// there. A frame that could not be read says nothing.
func (d *telemetry) count(t *Tick, source string, ids ...signals.ID) {
	for _, id := range ids {
		f := t.Frames[id]
		if f.Len() == 0 {
			continue
		}
		for i, e := range f.Entity {
			k := missing{t.Entities.Of(e).Host, source, CodeZeroRows}
			d.rows[k] = max(d.rows[k], f.Stamp[i])
			d.newest[source] = max(d.newest[source], f.Stamp[i])
		}
		return
	}
}

func (d *telemetry) report(t *Tick, r *Report, k missing, since time.Time) {
	what := "host " + k.host + ": " + k.source
	if k.host == "" {
		what = k.source
	}
	r.Blind = append(r.Blind, Blind{Detector: d.Name(), Signal: sourceSignal(k), Host: k.host, Reason: what + " not reported (" + k.code + ")"})
	if t.Time.Sub(since) < gapHold {
		return
	}
	r.Findings = append(r.Findings, Finding{
		Detector: d.Name(), Pattern: Missing, Signal: signals.TargetUp, Entity: signals.Entity{Kind: signals.KindHost, Host: k.host, Detail: k.source},
		Value: math.NaN(), Expected: math.NaN(), Score: math.NaN(), Since: since, Code: k.code,
	})
}

// sourceSignal stands for what one exporter tells; None for everything.
func sourceSignal(k missing) signals.ID {
	switch k.source {
	case "dcgm":
		return signals.GPUUtil
	case "node":
		return signals.NICState
	case "efa", "rdma":
		return signals.NICTx
	case "switch":
		return signals.SwitchPortTx
	}
	return signals.None
}
