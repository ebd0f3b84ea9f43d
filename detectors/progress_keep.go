package detectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// A job that has stood for longer than history is read looks, to a daemon that
// begins, like one that never began. What was known of it is kept: that it went
// on once, what its GPUs did then, and who was in which state when it stopped.

const (
	// recallFor is how long after a restart jobs are waited for whose series
	// come late.
	recallFor = time.Hour
	// levelsFor is how long levels are waited for that have no sample yet.
	levelsFor = 5 * time.Minute
	// recallMost bounds what is taken of a file, in jobs and in members of one.
	recallMost = 1 << 20
)

// keptProgress is the saved form of progress.
type keptProgress struct {
	At   time.Time          `json:"at"` // of the last evaluation
	Jobs map[string]keptJob `json:"jobs"`

	until time.Time // when the rest is forgotten, zero before the first evaluation
}

type keptJob struct {
	Talking  time.Duration    `json:"talking"`
	WriteGap time.Duration    `json:"write_gap,omitempty"`
	Pauses   []time.Duration  `json:"pauses,omitempty"`
	Ran      map[string]int64 `json:"ran"` // by clock, Unix ms
	Stop     *keptStop        `json:"stop,omitempty"`
}

// keptStop is a stop that goes on.
type keptStop struct {
	Watched time.Time   `json:"watched"`
	Since   time.Time   `json:"since"`
	Things  []keptThing `json:"things"`
	Levels  []keptLevel `json:"levels,omitempty"`
}

// keptThing is a member and its state, or a rank that was seen behind.
type keptThing struct {
	Rank   bool      `json:"rank,omitempty"`
	Host   string    `json:"host"`
	Device string    `json:"device"`
	State  string    `json:"state,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Behind time.Time `json:"behind,omitzero"`
}

// keptLevel is what a GPU, NIC or host usually does.
type keptLevel struct {
	Level  string  `json:"level"` // the name of its signal
	Host   string  `json:"host"`
	Device string  `json:"device,omitempty"`
	Port   string  `json:"port,omitempty"`
	Usual  float32 `json:"usual"`
}

// Keep implements [Keeper].
func (d *progress) Keep() (json.RawMessage, error) {
	out := keptProgress{At: d.at, Jobs: map[string]keptJob{}}
	if d.recalled != nil {
		if d.recalled.At.After(out.At) {
			out.At = d.recalled.At
		}
		maps.Copy(out.Jobs, d.recalled.Jobs) // not seen again yet
	}
	for id, p := range d.jobs {
		if p.talking < d.o.Progress.InitTime {
			continue
		}
		k := keptJob{Talking: p.talking, WriteGap: p.writeGap, Pauses: p.pauses, Ran: map[string]int64{}}
		for i, name := range clockNames() {
			if p.clocks[i].run != 0 {
				k.Ran[name] = p.clocks[i].run
			}
		}
		if !p.watched.IsZero() {
			k.Stop = p.keepStop()
		}
		out.Jobs[id] = k
	}
	if len(out.Jobs) == 0 {
		return nil, nil
	}
	return json.Marshal(out)
}

func (p *progressJob) keepStop() *keptStop {
	s := &keptStop{Watched: p.watched, Since: p.since, Levels: p.usual}
	thing := func(e signals.Entity) keptThing {
		return keptThing{Rank: e.Kind == signals.KindRank, Host: e.Host, Device: e.Device}
	}
	for e, m := range p.members {
		k := thing(e)
		k.State, k.Since, k.Behind = m.State.String(), m.Since, p.graph.first[e]
		s.Things = append(s.Things, k)
	}
	for e, at := range p.graph.first {
		if _, ok := p.members[e]; !ok {
			k := thing(e)
			k.Behind = at
			s.Things = append(s.Things, k)
		}
	}
	slices.SortFunc(s.Things, func(a, b keptThing) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
	})
	return s
}

// Recall implements [Keeper].
func (d *progress) Recall(raw json.RawMessage) error {
	var in keptProgress
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	if len(in.Jobs) > recallMost {
		return fmt.Errorf("%d jobs are more than %d", len(in.Jobs), recallMost)
	}
	for id, k := range in.Jobs {
		if k.Talking < 0 || k.WriteGap < 0 || len(k.Pauses) > pauseKept {
			return fmt.Errorf("job %q: what is kept of its progress cannot be", id)
		}
		if s := k.Stop; s != nil && (s.Watched.After(in.At) || s.Since.After(in.At) || len(s.Things) > recallMost || len(s.Levels) > recallMost) {
			return fmt.Errorf("job %q: what is kept of its stop cannot be", id)
		}
	}
	d.recalled = &in
	return nil
}

// recall gives the jobs of a tick what was kept of them, once history is behind.
// What history shows itself counts more.
func (d *progress) recall(t *Tick) {
	if d.recalled == nil || !t.Time.After(d.recalled.At) {
		return
	}
	if d.recalled.until.IsZero() {
		d.recalled.until = t.Time.Add(recallFor)
	}
	for _, j := range t.Jobs {
		k, ok := d.recalled.Jobs[j.ID]
		if !ok {
			continue
		}
		delete(d.recalled.Jobs, j.ID)
		if p := d.jobs[j.ID]; p.talking < d.o.Progress.InitTime {
			d.takeUp(t, j, p, k)
		}
	}
	if len(d.recalled.Jobs) == 0 || t.Time.After(d.recalled.until) {
		d.recalled = nil
	}
}

// recallLevels gives the parts of jobs that were taken up their usual levels.
func (d *progress) recallLevels(t *Tick) {
	for _, j := range t.Jobs {
		p := d.jobs[j.ID]
		if p.recalled == nil {
			continue
		}
		d.levels.recall(t, j, p.recalled)
		if t.Time.Sub(p.taken) > levelsFor {
			p.recalled = nil
		}
	}
}

// takeUp continues a job where it was.
func (d *progress) takeUp(t *Tick, j *signals.Job, p *progressJob, k keptJob) {
	if p.talking == 0 {
		p.clocks[clockPower].run = 0 // what is low was not known: any power looked like work
	}
	ran := int64(0)
	for _, c := range p.clocks {
		ran = max(ran, c.run)
	}
	p.talking, p.writeGap = max(p.talking, k.Talking), max(p.writeGap, k.WriteGap)
	if len(p.pauses) == 0 {
		p.pauses = k.Pauses
	}
	for i, name := range clockNames() {
		p.clocks[i].run = max(p.clocks[i].run, k.Ran[name])
	}
	s := k.Stop
	if s == nil {
		return
	}
	p.recalled, p.taken = s.Levels, t.Time
	if ran > s.Since.UnixMilli() {
		return // it went on in between, and stands anew if at all
	}
	// What else is known of it has to be looked at anew before it is stalled.
	p.watched, p.still, p.since, p.usual = s.Watched, t.Time, s.Since, s.Levels
	for _, x := range s.Things {
		e := signals.Entity{Kind: signals.KindGPU, Host: x.Host, Device: x.Device}
		if x.Rank {
			e.Kind, e.Job = signals.KindRank, j.ID
		}
		for state := StateUnknown; state <= StateStopped; state++ {
			if state.String() == x.State {
				p.members[e] = Member{Entity: e, State: state, Since: x.Since}
			}
		}
		if !x.Behind.IsZero() {
			p.graph.note(e, x.Behind)
		}
	}
}
