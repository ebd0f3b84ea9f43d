package custom

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/signals"
)

// maxLines bounds what one verdict gets: the evidence of the diagnosis comes
// first, and receivers show few lines.
const maxLines = 3

// Explain adds what is unusual about the suspects of each verdict, or about its
// job, to its evidence. It is never decisive, and changes nothing else. Of a
// Context signal the value is added where there is room.
func (w *Watch) Explain(res *diagnosis.Result) {
	if w.entities == nil {
		return
	}
	for i := range res.Verdicts {
		v := &res.Verdicts[i]
		if v.Class == diagnosis.TelemetryGap {
			continue // what is missing cannot be explained by what is there
		}
		lines := w.lines(v)
		slices.SortStableFunc(lines, func(a, b line) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.Text, b.Text))
		})
		for _, l := range lines[:min(len(lines), maxLines)] {
			v.Evidence = append(slices.Clip(v.Evidence), l.Evidence) // the verdict's may be shared
		}
	}
}

// line is evidence with how much it says.
type line struct {
	diagnosis.Evidence
	weight float64
}

func (w *Watch) lines(v *diagnosis.Verdict) (out []line) {
	add := func(e signals.Entity, weight float64, text string) {
		out = append(out, line{diagnosis.Evidence{Signal: signals.Custom, Entity: e, Text: text}, weight})
	}
	for _, id := range w.ids {
		s, e := w.series.Peek(id), w.entities.Of(id)
		def := w.find(e.Detail)
		if def == nil || w.now.Sub(time.UnixMilli(s.stamp)) > stale || !concerns(v, e) {
			continue
		}
		name, say := e.String()+": "+e.Detail+" ", func(x float64) string { return diagnosis.Human(def.like(), x) }
		m := w.groups[groupOf(e, s.job)]
		switch {
		case s.peer:
			add(e, effect(s.value, s.among), fmt.Sprintf("%s%s against %s of %d peers, for %s", name, say(s.value), say(s.among), s.peers, w.since(s.oddPeers)))
		case s.past && (m == nil || !m.common()):
			add(e, effect(s.value, s.usual()), fmt.Sprintf("%s%s against %s before, for %s", name, say(s.value), say(s.usual()), w.since(s.odd)))
		case def.Direction == signals.Context:
			add(e, 0, name+say(s.value))
		}
	}
	for g, m := range w.groups {
		if v.Job == "" || g.job != v.Job || !m.common() {
			continue
		}
		def := w.find(g.detail)
		now, before := w.middle(m)
		add(signals.Entity{Kind: signals.KindJob, Job: g.job, Detail: g.detail}, effect(now, before), fmt.Sprintf("job %s: %s %s against %s before, of %d of %d",
			g.job, g.detail, diagnosis.Human(def.like(), now), diagnosis.Human(def.like(), before), m.shifted, len(m.ids)))
	}
	return out
}

// middle are the medians of the members that moved, now and before.
func (w *Watch) middle(m *members) (now, before float64) {
	var a, b []float64
	for _, id := range m.ids {
		if s := w.series.Peek(id); s.past {
			a, b = append(a, s.value), append(b, s.usual())
		}
	}
	return detectors.Median(a), detectors.Median(b)
}

func (w *Watch) since(ms int64) string { return diagnosis.Span(w.now.Sub(time.UnixMilli(ms))) }

// effect orders statements by how far a value is from what is compared with.
func effect(v, against float64) float64 {
	return math.Abs(v-against) / max(math.Abs(against), math.SmallestNonzeroFloat64)
}

// concerns says that a thing is a suspect of the verdict, one of those that
// cannot be told apart, a part of either, or its job.
func concerns(v *diagnosis.Verdict, e signals.Entity) bool {
	if e.Kind == signals.KindJob {
		return e.Job != "" && e.Job == v.Job
	}
	list := v.Suspects
	if len(list) == 0 {
		list = v.Candidates
	}
	thing := e.Thing()
	return slices.ContainsFunc(list, func(s diagnosis.Suspect) bool { return isPartOf(thing, s) })
}

func isPartOf(thing signals.Entity, s diagnosis.Suspect) bool {
	switch thing.Kind {
	case signals.KindSwitchPort:
		return s.Switch != "" && s.Switch == thing.Device && (s.Port == "" || s.Port == thing.Port)
	case signals.KindHost:
		return thing.Host != "" && thing.Host == s.Node
	case signals.KindGPU, signals.KindNIC:
		kind := map[signals.Kind]string{signals.KindGPU: "gpu", signals.KindNIC: "nic"}[thing.Kind]
		return thing.Host != "" && thing.Host == s.Node && (s.Kind == "node" || s.Kind == kind && s.Device == thing.Device)
	}
	return false
}

// like is a signal of the catalogue that is written with the same unit; the rate
// of a counter has another one.
func (s *Signal) like() signals.ID {
	units := map[string][2]signals.ID{
		"seconds":          {signals.StepTime, signals.HostCPUPressure},
		"bytes":            {signals.GPUMemUsed, signals.NICTx},
		"bytes_per_second": {signals.NICTx, signals.NICTx},
		"ratio":            {signals.GPUUtil, signals.NICSymbolErrors},
		"watts":            {signals.GPUPower, signals.GPUPower},
		"celsius":          {signals.GPUTemp, signals.GPUTemp},
		"hertz":            {signals.GPUSMClock, signals.GPUSMClock},
	}
	like, ok := units[s.Unit]
	if !ok {
		like = [2]signals.ID{signals.HostLoad, signals.NICSymbolErrors}
	}
	if s.Counter {
		return like[1]
	}
	return like[0]
}
