package optrace

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Play says how a trace is played. The zero value plays it once in recorded
// order with the dump phases of seed 0, every 15 s, labels only.
type Play struct {
	Seed    uint64
	Shuffle bool          // random order of steps
	For     time.Duration // how long; steps repeat. Once through if zero
	Scale   float64       // multiplies all times, 1 if zero
	// Interval is the time between ticks and Scrape that between scrapes, 15 s
	// each if zero; the dumps come every 30 s.
	Interval, Scrape time.Duration
	// RankMap tells stages and replicas.
	RankMap bool
	Rename  func(host string) string
	// Mutate may change the operations of a step, which are its own copy.
	Mutate func(r *rand.Rand, s *Step)
}

const dumpPeriod = 30 * time.Second

// Begin is the time at which every trace begins.
func Begin() time.Time { return time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC) }

// seriesKey is one series of one worker.
type seriesKey struct {
	worker int
	op     string
	group  string
}

type mean struct {
	sum time.Duration
	n   int
}

// dump is what a GPU's file holds.
type dump struct {
	at     time.Duration
	values map[seriesKey]float64
}

// player is the state of one play.
type player struct {
	Play
	t        *Trace
	rng      *rand.Rand
	open     []map[seriesKey]*mean
	file     []dump
	next     []time.Duration // next dump of each worker
	entities *signals.Entities
	groups   []*signals.Group
	groupOf  map[string]int32
	job      *signals.Job
}

// Play yields one snapshot a tick until yield returns false or the time is
// over. Each snapshot is new.
func (t *Trace) Play(p Play, yield func(*signals.Snapshot) bool) {
	if p.Scale == 0 {
		p.Scale = 1
	}
	if p.Interval == 0 {
		p.Interval = 15 * time.Second
	}
	if p.Scrape == 0 {
		p.Scrape = 15 * time.Second
	}
	pl := &player{Play: p, t: t, rng: rand.New(rand.NewPCG(p.Seed, 11)), entities: signals.NewEntities()}
	pl.prepare()
	order := make([]int, len(t.Steps))
	for i := range order {
		order[i] = i
	}
	var clock time.Duration
	tick := p.Interval
	for pass := 0; ; pass++ {
		if p.Shuffle || pass > 0 {
			pl.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		for _, i := range order {
			s := Step{Ops: slices.Clone(t.Steps[i].Ops), Length: t.Steps[i].Length}
			if p.Mutate != nil {
				p.Mutate(pl.rng, &s)
			}
			for _, op := range s.Ops {
				end := clock + pl.scaled(op.End)
				for tick <= end {
					pl.dumps(tick)
					if (p.For > 0 && tick > p.For) || !yield(pl.snapshot(tick)) {
						return
					}
					tick += p.Interval
				}
				pl.dumpsOf(op.Worker, end)
				pl.add(op)
			}
			clock += pl.scaled(s.Length)
		}
		if p.For == 0 {
			return
		}
	}
}

func (p *player) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * p.Scale) }

// prepare draws one dump phase a host and builds job and groups.
func (p *player) prepare() {
	phase := map[string]time.Duration{}
	for _, w := range p.t.Workers {
		if _, ok := phase[w.Host]; !ok {
			phase[w.Host] = time.Duration(p.rng.Int64N(int64(dumpPeriod)))
		}
		p.next = append(p.next, phase[w.Host])
		p.open = append(p.open, map[seriesKey]*mean{})
		p.file = append(p.file, dump{values: map[seriesKey]float64{}})
	}
	p.build()
}

// series maps an operation to its series, "" if it is not exported.
func (p *player) series(op Op) (name, group string) {
	w := &p.t.Workers[op.Worker]
	switch op.Kind {
	case "grads-reduce-scatter":
		return "ReduceScatter", w.Data
	case "params-all-gather":
		return "AllGather", w.Data
	case "embedding-grads-all-reduce":
		return "AllReduce", w.Embed
	case "layernorm-grads-all-reduce":
		return "AllReduce", w.Tensor
	case "forward-send", "backward-send":
		return "Send", w.Pipe
	case "forward-recv", "backward-recv":
		return "Recv", w.Pipe
	}
	return "", ""
}

func (p *player) add(op Op) {
	name, group := p.series(op)
	if name == "" || group == "" {
		return
	}
	k := seriesKey{op.Worker, name, group}
	m := p.open[op.Worker][k]
	if m == nil {
		m = &mean{}
		p.open[op.Worker][k] = m
	}
	m.sum += p.scaled(op.Took)
	m.n++
}

// dumps writes the files that are due before now.
func (p *player) dumps(now time.Duration) {
	for i := range p.t.Workers {
		p.dumpsOf(i, now)
	}
}

func (p *player) dumpsOf(i int, now time.Duration) {
	for p.next[i] < now {
		at := p.next[i]
		p.next[i] += dumpPeriod
		if len(p.open[i]) == 0 {
			continue // nothing completed: the file stays as it is
		}
		f := &p.file[i]
		f.at = at
		clear(f.values)
		for k, m := range p.open[i] {
			f.values[k] = m.sum.Seconds() / float64(m.n)
		}
		clear(p.open[i])
	}
}
