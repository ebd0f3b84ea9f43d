package compare_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

// run is one simulated job.
type run struct {
	seed    uint64
	hosts   int
	minutes int
	noise   sim.Noise
	shape   func(hosts int) sim.Shape
	job     func(*sim.JobSpec)      // changes the job
	again   bool                    // the job is restarted after half of the time
	fault   func(c *sim.Cluster)    // injects faults
	dialect func(d *sim.Dialect)    // changes the exporters
	opts    func(*compare.Options)  // changes the collector
	through func(sim.Sink) sim.Sink // changes the series
}

func (r run) with(edit func(*run)) run {
	edit(&r)
	return r
}

// record simulates the job and reads it the way the command does.
func (r run) record(t testing.TB) *compare.Record {
	t.Helper()
	if r.hosts == 0 {
		r.hosts = 4
	}
	if r.minutes == 0 {
		r.minutes = 30
	}
	if r.noise == (sim.Noise{}) {
		r.noise = sim.DefaultNoise()
	}
	if r.shape == nil {
		r.shape = sim.R16
	}
	o := sim.Options{Seed: r.seed, Shape: r.shape(r.hosts), Dialect: sim.Full(), Noise: r.noise}
	jobs := o.Shape.Jobs
	if r.job != nil {
		r.job(&jobs[0])
	}
	if r.again {
		second := jobs[0]
		half := 30 * float64(r.minutes)
		jobs[0].EndAt, second.StartAt, second.InitFor = half, half+90, 60
		jobs = append(jobs, second)
	}
	o.Jobs = jobs
	if r.dialect != nil {
		r.dialect(&o.Dialect)
	}
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	sink := db.Appender()
	var to sim.Sink = sink
	if r.through != nil {
		to = r.through(sink)
	}
	c, err := sim.New(o, to)
	require.NoError(t, err)
	if r.fault != nil {
		r.fault(c)
	}
	require.NoError(t, c.Run(t.Context(), time.Duration(r.minutes)*time.Minute))
	require.NoError(t, sink.Commit())

	keep := map[signals.ID]bool{}
	for _, id := range compare.Signals() {
		keep[id] = true
	}
	so := signals.Options{Interval: 30 * time.Second, Dialects: map[signals.ID][]string{}}
	for id := signals.None + 1; int(id) < signals.Count; id++ {
		if !keep[id] {
			so.Dialects[id] = []string{}
		}
	}
	reader, err := signals.NewReader(so, map[string]promapi.Querier{"sim": db.Querier()})
	require.NoError(t, err)
	co := compare.Options{Source: "job " + jobs[0].ID, Job: jobs[0].ID, From: c.Start()}
	if r.opts != nil {
		r.opts(&co)
	}
	col := compare.NewCollector(co)
	require.NoError(t, reader.WarmUp(t.Context(), c.Start(), c.Start().Add(time.Duration(r.minutes)*time.Minute), 30*time.Second, func(s *signals.Snapshot) error {
		col.Observe(s)
		return nil
	}))
	return col.Record()
}

func judge(t *testing.T, base, cand run, seed uint64) *compare.Result {
	t.Helper()
	base.seed, cand.seed = 2*seed+1, 2*seed+2
	return compare.Compare(base.record(t), cand.record(t), compare.Settings{})
}

func comm(j *sim.JobSpec, op string, group sim.GroupKind) *sim.Comm {
	for i := range j.Phases {
		if c := j.Phases[i].Comm; c != nil && c.Op == op && c.Group == group {
			return c
		}
	}
	return nil
}

// TestEqualRunsDoNotDiffer: the same job twice, with other noise. The promise is
// one wrong regression in a hundred; at the default limit of 5 % there is none.
func TestEqualRunsDoNotDiffer(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 2
	}
	for _, tc := range []struct {
		name string
		run  run
	}{
		{"tidy", run{}},
		{"rough", run{noise: sim.Rough()}},
		{"one world communicator", run{shape: sim.Q8}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			open := 0
			for seed := range seeds {
				res := judge(t, tc.run, tc.run, seed)
				require.NotEqual(t, compare.Regression, res.Verdict, "seed %d: %s", seed, res.Why)
				require.NotEqual(t, compare.Improvement, res.Verdict, "seed %d: %s", seed, res.Why)
				if res.Verdict != compare.NoDifference {
					open++
				}
			}
			require.LessOrEqual(t, open, int(seeds)/4, "half an hour is enough to tell")
		})
	}
}

func TestChangesAreFound(t *testing.T) {
	for _, tc := range []struct {
		name    string
		base    run
		cand    run
		verdict compare.Verdict
		why     string // in the row that decides
		cause   string
	}{
		{
			name: "a link at a quarter of its speed", verdict: compare.Regression, why: "transfer +", cause: "the transfer itself",
			cand: run{fault: func(c *sim.Cluster) { c.Inject(sim.Downtrain(1, 2, 0.25, 0, 0)) }},
		},
		{
			name: "a slow host", verdict: compare.Regression, why: "mean time +", cause: "is waiting for the last to arrive",
			cand: run{fault: func(c *sim.Cluster) { c.Inject(sim.Starve(1, 0.4, 200, 1.4, 0, 0)) }},
		},
		{
			name: "another algorithm, slower", verdict: compare.Regression, why: "mean time +", cause: "algorithm changed from ring_simple to tree_ll128",
			cand: run{job: func(j *sim.JobSpec) {
				c := comm(j, "AllReduce", sim.GroupDP)
				c.Algo, c.Bandwidth = "TREE_LL128", 36
			}},
		},
		{
			name: "a better setting", verdict: compare.Improvement, why: "bus bandwidth +",
			cand: run{job: func(j *sim.JobSpec) { comm(j, "AllReduce", sim.GroupDP).Bandwidth = 49 }},
		},
		{
			name: "larger messages at the same bandwidth are no regression", verdict: compare.NoDifference,
			cand: run{job: func(j *sim.JobSpec) { comm(j, "AllReduce", sim.GroupDP).Size = 155_000_000 }},
		},
		{
			name: "ten minutes without scrapes", verdict: compare.NoDifference, cand: run{minutes: 40, fault: func(c *sim.Cluster) { c.Gap(15*time.Minute, 25*time.Minute) }},
		},
		{
			name: "a restart in the middle", verdict: compare.NoDifference, cand: run{minutes: 60, again: true},
		},
		{
			name: "an hour against a half", verdict: compare.NoDifference, cand: run{minutes: 60},
		},
		{
			name: "half the hosts", verdict: compare.NotComparable,
			base: run{shape: sim.Q8}, cand: run{shape: sim.Q8, hosts: 2},
		},
		{
			name: "two minutes", verdict: compare.NotComparable, cand: run{minutes: 4},
		},
		{
			name: "no series of collectives", verdict: compare.NotComparable, cand: run{dialect: func(d *sim.Dialect) { d.Inspector = "" }},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := judge(t, tc.base, tc.cand, 7)
			require.Equal(t, tc.verdict, res.Verdict, res.Why)
			if tc.why == "" {
				return
			}
			found := false
			for _, r := range res.Rows {
				if r.Verdict != tc.verdict {
					continue
				}
				require.Contains(t, r.Why, tc.why)
				found = found || tc.cause == "" || strings.Contains(strings.Join(r.Causes, "; "), tc.cause)
			}
			require.True(t, found, "no row with cause %q: %+v", tc.cause, res.Rows)
		})
	}
}

// TestTheStartDoesNotCount: a job whose first windows are slow is no slower.
func TestTheStartDoesNotCount(t *testing.T) {
	base := run{seed: 1}.record(t)
	late := run{seed: 2, minutes: 40, job: func(j *sim.JobSpec) { j.StartAt, j.InitFor = 240, 60 }}
	cand := late.record(t)
	require.Equal(t, compare.NoDifference, compare.Compare(base, cand, compare.Settings{}).Verdict)
	began := cand.From.Sub(time.Unix(1767225600, 0))
	require.GreaterOrEqual(t, began, 300*time.Second+10*30*time.Second, "the first ten windows after the first step are left out")
	all := late.with(func(r *run) { r.opts = func(o *compare.Options) { o.Skip = 1 } }).record(t)
	require.True(t, all.From.Before(cand.From))
}
