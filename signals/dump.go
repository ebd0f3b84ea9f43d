package signals

import "slices"

// The Inspector rewrites a GPU's file when operations completed, and the
// textfile collector serves the last file for ever. So a value that arrives
// again with a newer time stamp is not a newer value. What counts is a new
// write, and this file decides at which scrapes there was one.
//
// A write is proven by the file's mtime, or by any series of the GPU that
// changed its value: all series of a file come from the same write, so one that
// moved speaks for those that happen to be equal. Which file belongs to which
// GPU is told by the UUID where dcgm-exporter maps it, and is learned otherwise:
// the file of a GPU is among those that moved whenever its values moved.
// While several files are possible, a write counts only if all of them moved.

// dumpFile is one Inspector file at one scrape target.
type dumpFile struct {
	target int32
	uuid   string
	path   string
	mtime  int64 // Unix ms
	seenT  int64 // newest sample of the mtime
	period int64 // learned time between writes, ms
	moves  []move
}

// move is a write as seen at a scrape.
type move struct{ t, mtime int64 }

// dumpGroup is the series of one GPU of one job that come from one file.
type dumpGroup struct {
	target            int32
	host, device, job string
	ordinal           ordinal
	first             int64   // scrape of the first write seen
	files             []int32 // candidates; nil if nothing was learned yet
	moves             []move  // writes seen in this tick, in order
	changes           []int64 // scrapes at which a value changed
	last, before      move    // the newest write known, and as of the tick before
	seenTick          uint32  // tick that last had any of its series
	distrust          bool    // the UUID's file did not move with the values
	fixed             bool    // files come from the UUID
}

type dumpKey struct {
	target            int32
	host, device, job string
}

type dumpTable struct {
	period int64 // ms
	groups []dumpGroup
	index  map[dumpKey]int32
	files  []dumpFile
	byPath map[fileKey]int32
	of     map[int32][]int32 // files of a target
}

type fileKey struct {
	target int32
	path   string
}

func newDumpTable(period int64) *dumpTable {
	return &dumpTable{period: period, index: map[dumpKey]int32{}, byPath: map[fileKey]int32{}, of: map[int32][]int32{}}
}

func (d *dumpTable) indexOf(target int32, e Entity, o ordinal) int32 {
	k := dumpKey{target, e.Host, e.Device, e.Job}
	if i, ok := d.index[k]; ok {
		return i
	}
	i := int32(len(d.groups))
	d.groups = append(d.groups, dumpGroup{target: target, host: e.Host, device: e.Device, job: e.Job, ordinal: o})
	d.index[k] = i
	return i
}

func (d *dumpTable) fileOf(target int32, path string) int32 {
	k := fileKey{target, path}
	if i, ok := d.byPath[k]; ok {
		return i
	}
	uuid, ok := fileUUID(path)
	if !ok || len(d.files) >= maxTable {
		return -1
	}
	i := int32(len(d.files))
	d.files = append(d.files, dumpFile{target: target, uuid: uuid, path: path})
	d.byPath[k] = i
	d.of[target] = append(d.of[target], i)
	return i
}

// begin forgets the writes of the tick before.
func (d *dumpTable) begin() {
	for i := range d.files {
		d.files[i].moves = d.files[i].moves[:0]
	}
	for i := range d.groups {
		g := &d.groups[i]
		g.moves, g.changes, g.before = g.moves[:0], g.changes[:0], g.last
	}
}

// sample notes one sample of a file's mtime.
func (d *dumpTable) sample(i int32, t int64, seconds float64) {
	f := &d.files[i]
	mtime := int64(seconds * 1000)
	switch {
	case f.seenT == 0 && t-mtime <= 2*max(d.period, f.period):
		// First sight of a file that is being written.
		f.moves = append(f.moves, move{t, mtime})
	case f.seenT != 0 && mtime != f.mtime:
		f.moves = append(f.moves, move{t, mtime})
		if p := mtime - f.mtime; p > 0 && p < 20*d.period {
			f.period = p
		}
	}
	f.mtime, f.seenT = mtime, t
}

// change notes that a value of group i changed at scrape t.
func (d *dumpTable) change(i int32, t int64) {
	g := &d.groups[i]
	for _, v := range slices.Backward(g.changes) {
		if v == t {
			return
		}
	}
	g.changes = append(g.changes, t)
}

// settle turns moves of files and changes of values into the writes of each
// group, after all mtimes and all values of the tick were looked at.
func (d *dumpTable) settle(tick uint32, ident *identity) {
	learned := false
	for i := range d.groups {
		g := &d.groups[i]
		if g.seenTick != tick {
			continue
		}
		files := d.candidates(g, ident)
		for _, t := range g.changes {
			mtime := t
			if m, ok := d.movedAt(files, t, false); ok {
				mtime = m
			}
			g.moves = append(g.moves, move{t, mtime})
			learned = d.learn(g, t) || learned
		}
		if len(files) > 0 {
			for _, m := range d.files[files[0]].moves {
				if mtime, ok := d.movedAt(files, m.t, true); ok && !slices.Contains(g.changes, m.t) {
					g.moves = append(g.moves, move{m.t, mtime})
				}
			}
		}
		if len(g.moves) > 0 {
			slices.SortFunc(g.moves, func(a, b move) int { return int(a.t - b.t) })
			g.last = g.moves[len(g.moves)-1]
			if g.first == 0 {
				g.first = g.moves[0].t
			}
		}
	}
	if learned {
		d.exclude(tick)
	}
}

// unsettle takes the writes of this tick back, for groups to be seen anew.
func (d *dumpTable) unsettle(tick uint32) {
	for i := range d.groups {
		if g := &d.groups[i]; g.seenTick == tick {
			g.moves, g.changes, g.last, g.seenTick = g.moves[:0], g.changes[:0], g.before, tick-1
		}
	}
}

// candidates are the files that may hold the series of g.
func (d *dumpTable) candidates(g *dumpGroup, ident *identity) []int32 {
	all := d.of[g.target]
	if g.files != nil {
		return g.files
	}
	if !g.distrust {
		for i, f := range all {
			if at, ok := ident.gpu[d.files[f].uuid]; ok && at[0] == g.host && at[1] == g.device {
				g.files, g.fixed = all[i:i+1], true
				return g.files
			}
		}
	}
	return all
}

// exclude takes files that are certain for one group off the others: each
// file belongs to one GPU.
func (d *dumpTable) exclude(tick uint32) {
	taken := map[int32]bool{}
	for i := range d.groups {
		if g := &d.groups[i]; g.seenTick == tick && len(g.files) == 1 {
			taken[g.files[0]] = true
		}
	}
	for i := range d.groups {
		g := &d.groups[i]
		if g.seenTick != tick || len(g.files) == 1 {
			continue
		}
		from := g.files
		if from == nil {
			from = d.of[g.target]
		}
		rest := from[:0:0]
		for _, f := range from {
			if !taken[f] {
				rest = append(rest, f)
			}
		}
		if len(rest) > 0 && len(rest) < len(from) {
			g.files = rest
		}
	}
}

// movedAt says whether the files moved at scrape t, all of them or any, and
// when the youngest was written.
func (d *dumpTable) movedAt(files []int32, t int64, every bool) (mtime int64, ok bool) {
	n := 0
	for _, f := range files {
		for _, m := range d.files[f].moves {
			if m.t == t {
				n++
				mtime = max(mtime, m.mtime)
			}
		}
	}
	return mtime, n > 0 && (!every || n == len(files))
}

// learn narrows the candidates: a value changed at t, so its file moved at t.
// It says whether anything was learned.
func (d *dumpTable) learn(g *dumpGroup, t int64) bool {
	all := d.of[g.target]
	if len(all) == 0 {
		return false
	}
	from := g.files
	if from == nil {
		from = all
	}
	n := 0
	for _, f := range from {
		if d.files[f].movedAt(t) {
			n++
		}
	}
	if n == len(from) {
		return false
	}
	var moved []int32
	for _, f := range from {
		if d.files[f].movedAt(t) {
			moved = append(moved, f)
		}
	}
	switch {
	case len(moved) > 0:
		g.files = moved
		return true
	case g.files != nil:
		// What was believed is contradicted: the ordinal is not the index, or
		// another process has the GPU now.
		if _, ok := d.movedAt(all, t, false); ok {
			g.distrust = g.distrust || g.fixed
			g.files, g.fixed = nil, false
			return true
		}
	}
	return false
}

func (f *dumpFile) movedAt(t int64) bool {
	for _, m := range f.moves {
		if m.t == t {
			return true
		}
	}
	return false
}

// dumpAt returns the write that a sample at t comes from: the newest not after
// it. A series that was absent at the newest write before this tick (the
// scrape met half a file) may take it from the next scrape.
func (g *dumpGroup) dumpAt(t, lastT, period int64) (move, bool) {
	for _, v := range slices.Backward(g.moves) {
		if v.t <= t {
			return v, true
		}
	}
	if b := g.before; b.t != 0 && lastT < b.t && t-b.t < period {
		return b, true
	}
	return move{}, false
}
