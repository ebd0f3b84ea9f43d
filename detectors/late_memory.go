package detectors

import "math"

// lateJob is what lateness knows of one job.
type lateJob struct {
	began int64 // ms, start of the first window
	ops   map[string]*lateMemory
}

func newLateJob(began int64) *lateJob {
	return &lateJob{began: began, ops: map[string]*lateMemory{}}
}

func (j *lateJob) memory(op string) *lateMemory {
	m := j.ops[op]
	if m == nil {
		m = &lateMemory{hosts: map[string]*lateHost{}}
		j.ops[op] = m
	}
	return m
}

// lateMemory remembers how often members of a job were late for a while and
// then not any more. Where lateness comes and goes (sequence lengths, experts,
// garbage collection), the next run of a few windows proves nothing: the run
// that names somebody has to be longer than chance and than what innocent
// members have shown. On recorded data with rotating lateness a fixed limit
// holds for half an hour; this one holds for a long run.
type lateMemory struct {
	windows float64 // windows of members, decaying
	late    float64 // of which late, in runs that have ended
	hosts   map[string]*lateHost
}

type lateHost struct {
	late    float64 // windows in runs that have ended, decaying
	longest float64 // the longest such run, decaying
}

// lateDecay per window of a member keeps about the last 20 000 of them; a
// group of 64 has that many in 2.6 h.
const lateDecay = 1 - 1.0/20000

// spend is the probability with which a job may get an innocent named, if
// windows were independent. It is spent over the windows of the job as
// spend/k², so that a job of a week has no more false names than one of an
// hour, and a fault in the first minutes is not held up.
const spend = 0.01

// prior is the number of windows of a group that are assumed to have been seen
// before the first, with somebody late in half of them.
const prior = 4.0

func (m *lateMemory) window() {
	m.windows = m.windows*lateDecay + 1
	m.late *= lateDecay
}

// ended adds a run of n late windows of a member of host.
func (m *lateMemory) ended(host string, n uint16) {
	if n == 0 {
		return
	}
	h := m.hosts[host]
	if h == nil {
		h = &lateHost{}
		m.hosts[host] = h
	}
	h.late = h.late*0.99 + float64(n)
	h.longest = max(h.longest*0.98, float64(n))
	m.late += float64(n)
}

const (
	// lateTurn is how many late windows in a row are a turn, and lateTurns how
	// many of the longest turns a run must last once two other hosts had one:
	// lateness then stays for minutes and goes on to somebody drawn anew, who
	// can be the same again. Of six hosts one is drawn four times in a row
	// once in two hundred turns.
	lateTurn  = 3
	lateTurns = 4.0
)

// required is the number of late windows in a row that a member of host needs
// in a group of that many members at its k-th window.
func (m *lateMemory) required(host string, members, k int) int {
	others, longest, turns := m.late, 0.0, 0
	for name, h := range m.hosts {
		if name == host && members > 4 {
			others -= h.late
			continue
		}
		longest = max(longest, h.longest)
		if h.longest >= lateTurn {
			turns++
		}
	}
	times := 1.5
	if turns >= 2 {
		times = lateTurns
	}
	size := float64(max(members, 2))
	seen := m.windows * (size - 1) / size
	q := (max(others, 0) + prior/2) / (seen + prior*size)
	if q >= 0.5 {
		return math.MaxInt32
	}
	n := math.Ceil(math.Log(spend/(float64(k)*float64(k)*size)) / math.Log(q))
	return int(max(n, math.Ceil(times*longest)+1, fewest(members)))
}

// fewest is the shortest run believed in a group of that many members. Of two
// equals one is late in nearly every other window, so that a run of one of them
// says little.
func fewest(members int) float64 {
	switch {
	case members <= 2:
		return 10
	case members == 3:
		return 6
	}
	return 3
}

// rotates says that members are late often and that it is not always the
// same one: lateness in a fifth of the windows of a group or more, on at least
// four hosts, none of which has more than two fifths of it. size is the number
// of members of the group.
func (m *lateMemory) rotates(size int) bool {
	if m.windows < float64(20*size) || len(m.hosts) < 4 {
		return false
	}
	total, top := 0.0, 0.0
	for _, h := range m.hosts {
		total += h.late
		top = max(top, h.late)
	}
	return m.late >= 0.2*m.windows/float64(size) && top < 0.4*total
}
