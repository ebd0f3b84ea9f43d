package signals

import (
	"slices"
	"strconv"
	"strings"
)

// groupTable derives which GPUs form one communicator. It is worked out anew
// only when a new member appeared, a job ended or the rank map changed.
type groupTable struct {
	ranks *RankMap
	seen  map[EntityID]commKey
	comms map[commKey]*comm
	order []commKey
	dirty bool
	ended int
	// gpusAt is the number of slots when processes were looked at whose GPUs
	// are not known, 0 if there are none: a new slot may be of a GPU.
	gpusAt int

	list []*Group
	of   map[EntityID]int32
}

// commKey is what labels tell communicators apart by.
type commKey struct {
	job, comm      string
	nranks, nnodes int32
	byID           bool
}

func commKeyOf(e Entity) commKey {
	return commKey{job: e.Job, comm: e.Comm, nranks: e.NRanks, nnodes: e.NNodes, byID: isCommID(e.Comm)}
}

// comm is everything seen under one commKey.
type comm struct {
	rows    []memberRow
	members map[Entity]bool // of the rows, worked out by update
	ops     map[string]bool
	nnodes  int32
}

type memberRow struct {
	id     EntityID
	member Entity
	rank   int32
	op     string
}

func newGroupTable(ranks *RankMap) *groupTable {
	return &groupTable{ranks: ranks, seen: map[EntityID]commKey{}, comms: map[commKey]*comm{}, of: map[EntityID]int32{}}
}

// add makes a row of a collective known.
func (t *groupTable) add(id EntityID, e Entity) {
	if _, ok := t.seen[id]; ok {
		return
	}
	k := commKeyOf(e)
	t.seen[id], t.dirty = k, true
	c := t.comms[k]
	if c == nil {
		c = &comm{nnodes: k.nnodes}
		t.comms[k] = c
		t.order = append(t.order, k)
	}
	m := Entity{Kind: KindGPU, Host: e.Host, Device: e.Device}
	switch {
	case e.IsProcess():
		m = e.Thing()
	case e.Device == "":
		m = Entity{Kind: KindRank, Host: e.Host, Rank: e.Rank}
	}
	c.rows = append(c.rows, memberRow{id, m, e.Rank, e.Op})
}

// drop forgets a row whose series turned out to be about something else.
func (t *groupTable) drop(id EntityID) {
	k, ok := t.seen[id]
	if !ok {
		return
	}
	delete(t.seen, id)
	t.dirty = true
	c := t.comms[k]
	c.rows = slices.DeleteFunc(c.rows, func(row memberRow) bool { return row.id == id })
	if len(c.rows) == 0 {
		delete(t.comms, k)
		t.order = slices.DeleteFunc(t.order, func(o commKey) bool { return o == k })
	}
}

// gather works out members and operations from the rows.
func (c *comm) gather() {
	c.members, c.ops = map[Entity]bool{}, map[string]bool{}
	for _, row := range c.rows {
		c.members[row.member] = true
		if row.op != "" {
			c.ops[row.op] = true
		}
	}
}

// isCommID says that a communicator's label is an identifier and no name that
// several groups may share: "0x7f3a9c11d0e2" or a hash of eight digits or more.
func isCommID(s string) bool {
	s = strings.TrimPrefix(strings.ToLower(s), "0x")
	if len(s) < 8 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

// update derives the groups if anything changed.
func (t *groupTable) update(r *Reader) {
	ended := 0
	for _, j := range r.jobs.list {
		if j.Ended {
			ended++
		}
	}
	if !t.dirty && ended == t.ended && (t.gpusAt == 0 || t.gpusAt == len(r.slots)) {
		return
	}
	t.dirty, t.ended, t.gpusAt = false, ended, 0
	t.list = nil
	t.of = make(map[EntityID]int32, len(t.seen))
	slices.SortFunc(t.order, compareComms)
	if t.processes(r) {
		t.gpusAt = len(r.slots)
	}
	for _, c := range t.comms {
		c.gather()
	}
	shapes := t.shapes()
	for _, k := range t.order {
		if !r.over(k.job) {
			t.derive(k, t.comms[k], shapes[k.job])
		}
	}
	r.unnamed.learn(t, r.jobs, r.ident)
}

func compareComms(a, b commKey) int {
	if c := strings.Compare(a.job, b.job); c != 0 {
		return c
	}
	if c := strings.Compare(a.comm, b.comm); c != 0 {
		return c
	}
	if c := int(a.nranks - b.nranks); c != 0 {
		return c
	}
	return int(a.nnodes - b.nnodes)
}

// jobShape is what the communicators of a job say about it as a whole.
type jobShape struct {
	members  map[Entity]bool
	hosts    int
	perHost  int // largest number of GPUs seen on one host
	pipeline bool
	// longest is the largest communicator.
	longest int32
}

func (t *groupTable) shapes() map[string]*jobShape {
	out := map[string]*jobShape{}
	for k, c := range t.comms {
		s := out[k.job]
		if s == nil {
			s = &jobShape{members: map[Entity]bool{}}
			out[k.job] = s
		}
		for m := range c.members {
			s.members[m] = true
		}
		s.longest = max(s.longest, k.nranks)
		s.pipeline = s.pipeline || c.ops["Send"] || c.ops["Recv"] || c.ops["SendRecv"]
	}
	for _, s := range out {
		per := map[string]int{}
		for m := range s.members {
			per[m.Host]++
			s.perHost = max(s.perHost, per[m.Host])
		}
		s.hosts = len(per)
	}
	return out
}

// derive splits what was seen under one key into groups.
func (t *groupTable) derive(k commKey, c *comm, shape *jobShape) {
	kind := kindOf(k, c, shape)
	if parts, ok := t.byRankMap(k, c, kind); ok {
		for _, p := range parts {
			t.put(k, c, p)
		}
		return
	}
	for _, p := range split(k, c, kind) {
		t.put(k, c, p)
	}
}

// part is one group with the part of the members that form it.
type part struct {
	Group
	suffix string
	has    func(Entity) bool
}

func (t *groupTable) put(k commKey, c *comm, p part) {
	g := p.Group
	g.Job, g.Comm, g.NRanks, g.NNodes = k.job, k.comm, k.nranks, k.nnodes
	for m := range c.members {
		if p.has == nil || p.has(m) {
			g.Members = append(g.Members, m)
		}
	}
	slices.SortFunc(g.Members, compareEntities)
	g.Whole = g.Derived != DerivedNot && k.nranks > 0 && len(g.Members) == int(k.nranks)
	g.ID = k.job + "/" + k.comm + "/" + strconv.Itoa(int(k.nranks)) + "x" + strconv.Itoa(int(k.nnodes))
	if p.suffix != "" {
		g.ID += "/" + p.suffix
	}
	i := int32(len(t.list))
	t.list = append(t.list, &g)
	for _, row := range c.rows {
		if p.has == nil || p.has(row.member) {
			t.of[row.id] = i
		}
	}
}
