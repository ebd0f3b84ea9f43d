package signals

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collwatch/collwatch/internal/dense"
	"github.com/collwatch/collwatch/promapi"
)

// Reader fills one Snapshot a tick. It is owned by the goroutine of the tick
// and is not safe for concurrent use.
type Reader struct {
	opts    Options
	book    *rulebook
	sources map[string]*source
	names   []string
	queries []*query

	entities   *Entities
	generation uint64
	slots      []slot
	slotIndex  dense.Index // by signal and entity
	owners     []owner
	ownerIndex map[ownerKey]int32
	pairs      []pair
	pairIndex  map[pairKey]int32
	boot       []int64 // boot time of a host in Unix ms, 0 unknown
	hostIdx    map[string]int32

	repairs     []repair
	repairIndex map[repairKey]int32

	parentLabels [][2]string // node label as a series has it, and the level

	ident      *identity
	dumps      *dumpTable
	jobs       *jobTable
	groups     *groupTable
	unnamed    *unnamedJobs
	targets    *targetTable
	stats      *readStats
	derive     deriver
	plainRules [Count]compiled // for rows that come from no single series
	fileAges   map[string]span
	groupSlots plainSlots    // of the ages of dump groups
	gives      [Count]uint64 // dialects that ever delivered a signal, as bits

	tick       uint32
	now        int64 // evaluation time of the tick, Unix ms
	catchingUp bool  // history is replayed: old dumps are not stale
	frames     [Count]*Frame
	snap       Snapshot
	answers    []answer
}

// query is one family at one source, with what is kept between ticks.
type query struct {
	family family
	src    *source
	custom int // index of the custom signal, -1 for a family
	names  []string
	res    promapi.Result
	err    error
	coming coming  // of history only
	pieces []piece // of history only: what this tick sees of res

	expr     string
	selector string // added to that of the family
	window   time.Duration
	okAt     time.Time // last success
	downFrom time.Time
	found    bool // ever had rows
	idle     int  // ticks in a row without rows
	turn     int  // of a slow family: at which of slowEvery ticks it is asked
	skipped  bool
}

// NewReader prepares a Reader for the given queriers, by name.
func NewReader(o Options, queriers map[string]promapi.Querier) (*Reader, error) {
	o = o.withDefaults()
	book, err := compileRules(Catalogue())
	if err != nil {
		return nil, err
	}
	book.prefer(o.HostLabels, o.JobLabels)
	book.addCustom(o.Custom, o.HostLabels, o.JobLabels)
	names := slices.Sorted(maps.Keys(queriers))
	if err := o.validate(book, names); err != nil {
		return nil, err
	}
	if o.Source == "" {
		o.Source = names[0]
	}
	r := &Reader{
		opts: o, book: book, sources: map[string]*source{}, names: names,
		entities: NewEntities(), ownerIndex: map[ownerKey]int32{}, pairIndex: map[pairKey]int32{},
		hostIdx: map[string]int32{}, repairIndex: map[repairKey]int32{}, ident: newIdentity(), dumps: newDumpTable(o.Dump.Milliseconds()),
		jobs: newJobTable(o.Known), groups: newGroupTable(o.RankMap), unnamed: newUnnamedJobs(), targets: newTargetTable(), fileAges: map[string]span{}, stats: newReadStats(),
	}
	r.parentLabels = nodeParentLabels()
	for _, l := range o.NodeLabels {
		r.parentLabels = append(r.parentLabels, [2]string{kubeLabel(l[0]), l[1]})
	}
	r.derive.init()
	r.ident.keepDomain = o.KeepDomain
	for name, host := range o.HostAliases {
		r.ident.learnHost(name, host)
	}
	for name, q := range queriers {
		r.sources[name] = &source{name: name, q: q, in: q.Interner(), epoch: q.Interner().Epoch()}
	}
	r.plan()
	return r, nil
}

// plan lists the queries of a tick.
func (r *Reader) plan() {
	turns := 0
	for _, f := range families() {
		// One query a source: signals may be asked elsewhere.
		for _, name := range r.names {
			mine := r.book.metricsOf(f.name, func(c *compiled) bool { return r.allowed(c) && r.sourceOf(c.Signal) == name })
			if len(mine) == 0 {
				continue
			}
			q := &query{family: f, src: r.sources[name], custom: -1, names: mine, window: r.window0(f), selector: r.opts.near(f.name)}
			q.expr = f.query(mine, q.selector, q.window)
			if f.slow {
				q.turn = turns
				turns++
			}
			r.queries = append(r.queries, q)
		}
	}
	for i, c := range r.opts.Custom {
		name := c.Source
		if name == "" {
			name = r.opts.Source
		}
		r.queries = append(r.queries, &query{family: family{name: customFamily(&c)}, src: r.sources[name], custom: i, expr: c.Expr})
	}
}

func (r *Reader) sourceOf(id ID) string {
	if s, ok := r.opts.Sources[id]; ok {
		return s
	}
	return r.opts.Source
}

// window0 is how far back a family is read in the steady state: one interval,
// one scrape, and some slack for a late one. Slow exporters get more.
func (r *Reader) window0(f family) time.Duration {
	if w, ok := r.opts.Windows[f.name]; ok && w > 0 {
		return w
	}
	w := r.opts.Interval + r.opts.Scrape + 15*time.Second
	return max(w, f.wait)
}

// Entities is the table behind all snapshots of this Reader.
func (r *Reader) Entities() *Entities { return r.entities }

// Read reads one tick. It never returns nil: what went wrong is in Frame.Err
// and Snapshot.Gaps. The snapshot is valid until the next call.
func (r *Reader) Read(ctx context.Context, at time.Time) *Snapshot {
	r.compact()
	r.ask(ctx, at)
	return r.digest(at, false)
}

// slowEvery is how many ticks a family without rows is left alone.
const slowEvery = 4

// rests says that q is not asked at this tick. Families without rows take turns, so
// that no tick has all of them beside what it needs.
func (q *query) rests() bool {
	return q.family.slow && !q.found && q.idle > 0 && (q.idle+q.turn)%slowEvery != 0
}

// ask runs the queries of a tick, a few at a time.
func (r *Reader) ask(ctx context.Context, at time.Time) {
	var g errgroup.Group
	g.SetLimit(r.opts.Concurrency)
	for _, q := range r.queries {
		q.skipped = q.rests()
		if q.skipped {
			q.idle++
			q.err = nil
			q.res.Reset()
			continue
		}
		expr := r.exprAt(q, at)
		g.Go(func() error {
			q.err = q.src.q.Instant(ctx, expr, at, &q.res)
			return nil
		})
	}
	_ = g.Wait()
	for _, q := range r.queries {
		if !q.skipped {
			q.note(at)
		}
	}
}

// exprAt widens the window after missed ticks, so that nothing is lost.
func (r *Reader) exprAt(q *query, at time.Time) string {
	if q.custom >= 0 || q.family.shape != "" || q.okAt.IsZero() {
		return q.expr
	}
	need := at.Sub(q.okAt) + r.opts.Scrape + 15*time.Second
	if need <= q.window || !at.After(q.okAt) {
		return q.expr
	}
	return q.family.query(q.names, q.selector, min(need.Round(time.Minute)+time.Minute, r.opts.MaxWindow))
}

// note remembers how a query ended.
func (q *query) note(at time.Time) {
	bad := q.err != nil && promapi.ClassOf(q.err) != promapi.ClassIncomplete
	if bad {
		q.res.Reset()
		if q.downFrom.IsZero() {
			q.downFrom = at
			if !q.okAt.IsZero() {
				q.downFrom = q.okAt
			}
		}
		return
	}
	q.okAt, q.downFrom = at, time.Time{}
	q.trim()
	if q.res.Len() > 0 {
		q.found, q.idle = true, 0
	} else {
		q.idle++
	}
	if q.err == nil && (q.res.Partial || len(q.res.Warnings) > 0) {
		q.err = &promapi.Error{Class: promapi.ClassIncomplete, Source: q.src.name, Msg: fmt.Sprintf("%q", q.res.Warnings)}
	}
}

// trim gives back most of what an answer took that was much larger than this one:
// those of the warm-up, or after an outage.
func (q *query) trim() {
	if n := len(q.res.Samples); cap(q.res.Samples) > 3*n+1<<12 {
		q.res.Samples = append(make([]promapi.Sample, 0, n+n/4), q.res.Samples...)
	}
}

// frame returns the frame of a signal, made or emptied for this tick.
func (r *Reader) frame(id ID) *Frame {
	f := r.frames[id]
	if f == nil {
		f = &Frame{Signal: id}
		r.frames[id] = f
	}
	r.snap.Frames[id] = f
	return f
}
