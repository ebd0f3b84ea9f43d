package signals

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// freshFor is how long an entity counts as covered after its last sample. Rare
// operations come and go within minutes.
const freshFor = 10 * time.Minute

// Coverage says what this installation can and cannot tell.
type Coverage struct {
	Time    time.Time        `json:"time"`
	Signals []SignalCoverage `json:"signals"`
	Classes []ClassCoverage  `json:"classes"`
	// Short are hosts that show fewer GPUs or NICs than the others.
	Short []Shortage `json:"short"`
	// Idle are configured things that match nothing.
	Idle []string `json:"matches_nothing"`
	Gaps []string `json:"gaps"`
}

// SignalCoverage is one signal in one dialect.
type SignalCoverage struct {
	Signal   string `json:"signal"`
	Unit     string `json:"unit"`
	Dialect  string `json:"dialect"` // "" if nobody offers it
	Exporter string `json:"exporter"`
	// Entities have had a sample within ten minutes; Expected is how many
	// things of that kind are known here, 0 if that cannot be said.
	Entities int `json:"entities"`
	Expected int `json:"expected"`
	// Age is that of the newest sample, in seconds.
	Age float64 `json:"age_seconds"`
	// Repairs are the decisions about units, with how many targets each holds
	// for.
	Repairs map[string]int `json:"repairs,omitempty"`
	// Unused counts samples by why they were not used.
	Unused map[string]uint64 `json:"unused,omitempty"`
	// Enable says what adds the signal where it is missing.
	Enable []string `json:"enable,omitempty"`
}

// Level is how well a class of fault can be diagnosed.
type Level string

// The levels.
const (
	LevelFull   Level = "full"
	LevelCoarse Level = "coarse"
	LevelBlind  Level = "blind"
)

// ClassCoverage is how well one class can be diagnosed here.
type ClassCoverage struct {
	Class string `json:"class"`
	Level Level  `json:"level"`
	// Missing are the inputs that would make it better, each a list of
	// alternatives, and Enable what adds them.
	Missing [][]string `json:"missing,omitempty"`
	Enable  []string   `json:"enable,omitempty"`
	Beside  string     `json:"beside,omitempty"`
	// Partly are inputs that are there, but not everywhere.
	Partly []PartCoverage `json:"partly,omitempty"`
}

// Shortage is a host that shows less than expected.
type Shortage struct {
	Host     string `json:"host"`
	What     string `json:"what"` // GPUs or NICs
	Found    int    `json:"found"`
	Expected int    `json:"expected"`
}

// Coverage looks at everything read so far. It costs time in proportion to
// the number of series: call it now and then, from the goroutine of the tick.
func (r *Reader) Coverage() *Coverage {
	c := &Coverage{Time: r.snap.Time}
	count := r.countSlots()
	c.Signals = r.signalRows(count)
	c.Classes = r.classRows(count)
	c.Short = r.shortages(count)
	for i := range r.opts.Custom {
		d := &r.opts.Custom[i]
		if _, ok := count.customs[d.Name]; !ok && d.Signal == None {
			c.Idle = append(c.Idle, fmt.Sprintf("custom signal %q", d.Name))
		}
	}
	for id, list := range r.opts.Dialects {
		if len(list) > 0 && count.bySignal[id] == 0 {
			c.Idle = append(c.Idle, fmt.Sprintf("dialects of signal %s", id))
		}
	}
	slices.Sort(c.Idle)
	for _, g := range r.snap.Gaps {
		c.Gaps = append(c.Gaps, g.String())
	}
	return c
}

// slotCounts is what the slots hold.
type slotCounts struct {
	rows     map[noteKey]*slotCount
	bySignal [Count]int
	things   map[Kind]map[Entity]bool
	perHost  map[Kind]map[string]int
	customs  map[string]bool
}

type slotCount struct {
	things map[Entity]bool
	newest int64
}

func (r *Reader) countSlots() *slotCounts {
	n := &slotCounts{rows: map[noteKey]*slotCount{}, things: map[Kind]map[Entity]bool{}, perHost: map[Kind]map[string]int{}, customs: map[string]bool{}}
	for i := range r.slots {
		s := &r.slots[i]
		if s.lastT == 0 || s.blank || r.now-s.lastT > freshFor.Milliseconds() {
			continue
		}
		e := r.entities.Of(s.entity)
		k := noteKey{s.signal, int(s.dialect)}
		row := n.rows[k]
		if row == nil {
			row = &slotCount{things: map[Entity]bool{}}
			n.rows[k] = row
		}
		thing := e.Thing()
		if s.signal == InspectorAge && thing.Kind == KindHost {
			continue // youngest and oldest file of a host
		}
		row.things[thing] = true
		row.newest = max(row.newest, s.lastT)
		n.bySignal[s.signal]++
		if s.signal == Custom {
			for j := range r.opts.Custom {
				if d := &r.opts.Custom[j]; len(e.Detail) >= len(d.Name) && e.Detail[:len(d.Name)] == d.Name {
					n.customs[d.Name] = true
				}
			}
			continue
		}
		if n.things[thing.Kind] == nil {
			n.things[thing.Kind], n.perHost[thing.Kind] = map[Entity]bool{}, map[string]int{}
		}
		if !n.things[thing.Kind][thing] {
			n.things[thing.Kind][thing] = true
			n.perHost[thing.Kind][thing.Host]++
		}
	}
	return n
}

// signalRows lists each signal with the dialects that offer it here, or with
// what would add it.
func (r *Reader) signalRows(n *slotCounts) []SignalCoverage {
	var out []SignalCoverage
	for id := None + 1; id < numIDs; id++ {
		if id == Custom && len(r.opts.Custom) == 0 {
			continue
		}
		m := id.Meta()
		base := SignalCoverage{Signal: m.Name, Unit: m.Unit}
		found := false
		for di := range r.book.dialects {
			k := noteKey{id, di}
			row, notes := n.rows[k], r.stats.by[k]
			if row == nil && notes == nil {
				continue
			}
			s := base
			s.Dialect, s.Exporter = r.book.dialects[di].Name, r.book.dialects[di].Exporter
			if row != nil {
				found = true
				s.Entities, s.Age = len(row.things), float64(r.now-row.newest)/1000
				for t := range row.things {
					s.Expected = len(n.things[t.Kind])
					break
				}
			}
			s.Repairs = r.repairCounts(id, di)
			s.Unused = unusedOf(notes)
			out = append(out, s)
		}
		if !found {
			base.Enable = r.enables(id)
			out = append(out, base)
		}
	}
	return out
}

func (r *Reader) repairCounts(id ID, dialect int) map[string]int {
	var out map[string]int
	for i := range r.repairs {
		p := &r.repairs[i]
		if p.signal == id && p.dialect == dialect && p.name() != "" {
			if out == nil {
				out = map[string]int{}
			}
			out[p.name()]++
		}
	}
	return out
}

func unusedOf(notes *[numNotes]uint64) map[string]uint64 {
	if notes == nil {
		return nil
	}
	out := map[string]uint64{}
	for i, v := range notes {
		if v > 0 {
			out[noteNames[i]] = v
		}
	}
	return out
}

// enables lists what would add a signal, the best dialect first.
func (r *Reader) enables(id ID) []string {
	type hint struct {
		rank uint8
		text string
	}
	var hints []hint
	for i := range r.book.rules {
		c := &r.book.rules[i]
		if c.Signal != id || c.custom != nil {
			continue
		}
		h := hint{c.rank, c.Enable}
		if h.text == "" {
			h.text = r.book.dialects[c.dialect].Exporter + " (" + c.Metric + ")"
		}
		if !slices.ContainsFunc(hints, func(o hint) bool { return o.text == h.text }) {
			hints = append(hints, h)
		}
	}
	slices.SortStableFunc(hints, func(a, b hint) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]string, 0, 4)
	for _, h := range hints {
		if len(out) < 4 {
			out = append(out, h.text)
		}
	}
	return out
}

// classRows says how well each class can be diagnosed.
func (r *Reader) classRows(n *slotCounts) []ClassCoverage {
	var out []ClassCoverage
	missing := func(needs [][]ID) (list [][]string, hints []string) {
		for _, alternatives := range needs {
			if slices.ContainsFunc(alternatives, func(id ID) bool { return n.bySignal[id] > 0 }) {
				continue
			}
			var names []string
			for _, id := range alternatives {
				names = append(names, id.String())
			}
			list = append(list, names)
			for _, h := range r.enables(alternatives[0]) {
				if !slices.Contains(hints, h) {
					hints = append(hints, h)
				}
			}
		}
		return list, hints
	}
	for _, req := range Requirements() {
		c := ClassCoverage{Class: req.Class, Level: LevelFull, Beside: req.Beside}
		if c.Missing, c.Enable = missing(req.Full); len(c.Missing) > 0 {
			c.Level = LevelCoarse
			if blind, hints := missing(req.Coarse); len(blind) > 0 {
				c.Level = LevelBlind
				c.Missing, c.Enable = blind, hints
			}
		}
		if c.Level != LevelBlind {
			c.Partly = n.partly(req.Full)
		}
		out = append(out, c)
	}
	return out
}

// shortages compares hosts with each other.
func (r *Reader) shortages(n *slotCounts) []Shortage {
	var out []Shortage
	for _, k := range []struct {
		kind Kind
		what string
		want int
	}{{KindGPU, "GPUs", r.opts.GPUsPerHost}, {KindNIC, "NICs", r.opts.NICsPerHost}} {
		want := k.want
		if want == 0 {
			want = mostCommon(n.perHost[k.kind])
		}
		for _, host := range sortedKeys(n.perHost[k.kind]) {
			if got := n.perHost[k.kind][host]; got < want {
				out = append(out, Shortage{Host: host, What: k.what, Found: got, Expected: want})
			}
		}
	}
	return out
}

// mostCommon returns the count that most hosts show, 0 if none stands out.
func mostCommon(per map[string]int) int {
	votes := map[int]int{}
	for _, v := range per {
		votes[v]++
	}
	best := 0
	for v, n := range votes {
		if n > votes[best] || n == votes[best] && v > best {
			best = v
		}
	}
	if 2*votes[best] <= len(per) {
		return 0
	}
	return best
}

// String says the gap in a line.
func (g Gap) String() string {
	s := g.Source + ": " + g.Reason
	if g.Host != "" {
		s = g.Host + " " + s
	}
	if !g.Since.IsZero() {
		s += " since " + g.Since.UTC().Format(time.RFC3339)
	}
	if g.Err != nil {
		s += ": " + g.Err.Error()
	}
	return s
}
