package custom

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/signals"
)

const interval = 15 * time.Second

// rig feeds values of entities to a Watch, tick by tick.
type rig struct {
	bank     *detectors.Bank
	watch    *Watch
	entities *signals.Entities
	now      time.Time
	jobs     []*signals.Job
	gen      uint64
}

func newRig(defs ...Signal) *rig {
	w := New(Options{Signals: defs, Interval: interval})
	return &rig{
		bank: detectors.NewBank(detectors.Options{Interval: interval, Extra: []detectors.Detector{w}}), watch: w,
		entities: signals.NewEntities(), now: time.Unix(1_800_000_000, 0),
	}
}

// tick observes the values n times. NaN is no row.
func (r *rig) tick(n int, values map[signals.Entity]float64) {
	for range n {
		r.now = r.now.Add(interval)
		s := &signals.Snapshot{Time: r.now, Entities: r.entities, Generation: r.gen, Jobs: r.jobs}
		f := &signals.Frame{Signal: signals.Custom}
		for e, v := range values {
			f.Entity = append(f.Entity, r.entities.Intern(e))
			f.Value = append(f.Value, v)
			f.Stamp = append(f.Stamp, r.now.UnixMilli())
		}
		s.Frames[signals.Custom] = f
		r.bank.Observe(s)
	}
}

// explained are the lines that a verdict gets, and proves that it gets nothing
// else.
func (r *rig) explained(t *testing.T, v diagnosis.Verdict) (out []string) {
	t.Helper()
	before := v
	res := &diagnosis.Result{Verdicts: []diagnosis.Verdict{v}}
	r.watch.Explain(res)
	after := res.Verdicts[0]
	require.Equal(t, v.Evidence, after.Evidence[:len(v.Evidence):len(v.Evidence)], "what the diagnosis says stays, and first")
	for _, e := range after.Evidence[len(v.Evidence):] {
		require.False(t, e.Decisive)
		require.Equal(t, signals.Custom, e.Signal)
		out = append(out, e.Text)
	}
	after.Evidence = before.Evidence
	require.Equal(t, before, after)
	return out
}

func hostOf(i int) string { return fmt.Sprintf("gpu-%03d", i) }

func onHost(i int, detail string) signals.Entity {
	return signals.Entity{Kind: signals.KindHost, Host: hostOf(i), Detail: detail}
}

// blames is a verdict about a component of a host.
func blames(kind string, i int, device string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.NICDegraded, Job: "7", TieSet: 1, Suspects: []diagnosis.Suspect{{Kind: kind, Node: hostOf(i), Device: device}},
		Evidence: []diagnosis.Evidence{{Signal: signals.NICRate, Text: "the fact", Decisive: true}},
	}
}

// level are n hosts at a value, each a little off, and some elsewhere.
func level(n int, detail string, v float64, odd map[int]float64) map[signals.Entity]float64 {
	out := map[signals.Entity]float64{}
	for i := range n {
		out[onHost(i, detail)] = v * (1 + 0.01*float64(i%3))
		if o, ok := odd[i]; ok {
			out[onHost(i, detail)] = o
		}
	}
	return out
}

func job(hosts int) []*signals.Job {
	j := &signals.Job{ID: "7"}
	for i := range hosts {
		j.Hosts = append(j.Hosts, hostOf(i))
	}
	return []*signals.Job{j}
}

var latency = Signal{Name: "nvme_latency", Unit: "seconds", Direction: signals.Up}

func TestAwayFromPeers(t *testing.T) {
	r := newRig(latency)
	r.jobs = job(8)
	r.tick(2, level(8, "nvme_latency", 0.1, map[int]float64{3: 0.9}))
	require.Empty(t, r.explained(t, blames("node", 3, "")), "two evaluations are not enough")
	r.tick(3, level(8, "nvme_latency", 0.1, map[int]float64{3: 0.9}))
	want := []string{"gpu-003: nvme_latency 900 ms against 101 ms of 7 peers, for 60 s"}
	require.Equal(t, want, r.explained(t, blames("node", 3, "")))
	require.Equal(t, want, r.explained(t, blames("nic", 3, "mlx5_0")), "what happens to the host is told with its NIC")
	require.Empty(t, r.explained(t, blames("node", 4, "")), "another host")
	gap := blames("node", 3, "")
	gap.Class = diagnosis.TelemetryGap
	require.Empty(t, r.explained(t, gap))
	tied := diagnosis.Verdict{Class: diagnosis.StragglerCompute, TieSet: 2, Evidence: blames("", 0, "").Evidence, Candidates: []diagnosis.Suspect{{Kind: "node", Node: hostOf(3)}, {Kind: "node", Node: hostOf(4)}}}
	require.Equal(t, want, r.explained(t, tied))

	r.tick(3, level(8, "nvme_latency", 0.1, nil))
	require.Empty(t, r.explained(t, blames("node", 3, "")), "it is over")
}

func TestWhatIsNotUnusual(t *testing.T) {
	for name, c := range map[string]struct {
		def   Signal
		hosts int
		odd   map[int]float64
	}{
		"the good way":        {latency, 8, map[int]float64{3: 0.01}},
		"too few to compare":  {latency, 5, map[int]float64{3: 0.9}},
		"a small difference":  {latency, 8, map[int]float64{3: 0.11}},
		"context is no alarm": {Signal{Name: "other", Direction: signals.Up}, 8, map[int]float64{3: 0.9}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(c.def)
			r.jobs = job(c.hosts)
			r.tick(10, level(c.hosts, "nvme_latency", 0.1, c.odd))
			require.Empty(t, r.explained(t, blames("node", 3, "")))
		})
	}
}

func TestAwayFromItsOwnPast(t *testing.T) {
	down := Signal{Name: "loader", Unit: "count", Direction: signals.Down}
	r := newRig(down)
	r.jobs = job(3)
	r.tick(80, level(3, "loader", 4000, nil))
	require.Empty(t, r.explained(t, blames("node", 1, "")))
	r.tick(8, level(3, "loader", 4000, map[int]float64{1: 1500}))
	require.Equal(t, []string{"gpu-001: loader 1500 against 4035 before, for 105 s"}, r.explained(t, blames("node", 1, "")))

	// In another job another level is usual.
	r.jobs[0].ID = "8"
	r.tick(8, level(3, "loader", 4000, map[int]float64{1: 1500}))
	require.Empty(t, r.explained(t, blames("node", 1, "")))
}

// What moves everywhere is the job's, and nobody's own.
func TestAllMove(t *testing.T) {
	r := newRig(Signal{Name: "forward", Unit: "seconds", Direction: signals.Up})
	r.jobs = job(4)
	r.tick(80, level(4, "forward", 0.6, nil))
	r.tick(8, level(4, "forward", 0.9, nil))
	require.Equal(t, []string{"job 7: forward 905 ms against 603 ms before, of 4 of 4"}, r.explained(t, blames("node", 1, "")))
	other := blames("node", 1, "")
	other.Job = "9"
	require.Empty(t, r.explained(t, other))
}

func TestContextIsShown(t *testing.T) {
	fans := Signal{Name: "fan_speed", Direction: signals.Context}
	r := newRig(fans, latency)
	values := level(8, "nvme_latency", 0.1, map[int]float64{3: 0.9})
	for _, disk := range []string{"a", "b", "c", "d"} {
		values[onHost(3, "fan_speed "+disk)] = 12
	}
	r.tick(5, values)
	require.Equal(t, []string{
		"gpu-003: nvme_latency 900 ms against 101 ms of 7 peers, for 60 s", "gpu-003: fan_speed a 12", "gpu-003: fan_speed b 12",
	}, r.explained(t, blames("node", 3, "")), "what is unusual comes first, and three lines are enough")
	r.tick(30, nil)
	require.Empty(t, r.explained(t, blames("node", 3, "")), "old values are not shown")
}

// A part of a host that is not the suspect explains nothing.
func TestDevices(t *testing.T) {
	r := newRig(Signal{Name: "retries", Counter: true, Direction: signals.Up})
	values := map[signals.Entity]float64{}
	for i := range 8 {
		for _, d := range []string{"mlx5_0", "mlx5_1"} {
			values[signals.Entity{Kind: signals.KindNIC, Host: hostOf(i), Device: d, Port: "1", Detail: "retries"}] = 0
		}
	}
	values[signals.Entity{Kind: signals.KindNIC, Host: hostOf(3), Device: "mlx5_1", Port: "1", Detail: "retries"}] = 5
	r.tick(5, values)
	want := []string{"gpu-003/mlx5_1: retries 5 per second against 0 per second of 7 peers, for 60 s"}
	require.Equal(t, want, r.explained(t, blames("nic", 3, "mlx5_1")))
	require.Equal(t, want, r.explained(t, blames("node", 3, "")))
	require.Empty(t, r.explained(t, blames("nic", 3, "mlx5_0")))
	require.Empty(t, r.explained(t, blames("gpu", 3, "GPU0")))
}

// What is known moves with its entity when numbers are given out anew.
func TestRenumbered(t *testing.T) {
	r := newRig(latency)
	values := level(8, "nvme_latency", 0.1, map[int]float64{3: 0.9})
	r.tick(4, values)
	r.entities, r.gen = signals.NewEntities(), 1
	r.entities.Intern(onHost(99, "nvme_latency"))
	delete(values, onHost(0, "nvme_latency"))
	r.tick(1, values)
	require.Equal(t, []string{"gpu-003: nvme_latency 900 ms against 101 ms of 6 peers, for 60 s"}, r.explained(t, blames("node", 3, "")))
	require.Len(t, r.watch.ids, 7, "who is gone is forgotten")
}

// A reload forgets nothing, but what now means something else.
func TestInherited(t *testing.T) {
	old := newRig(latency)
	old.jobs = job(3)
	old.tick(80, level(3, "nvme_latency", 0.1, nil))
	old.tick(8, level(3, "nvme_latency", 0.1, map[int]float64{1: 0.3}))
	after := func(def Signal) []string {
		r := newRig(def)
		r.jobs, r.now = job(3), old.now
		r.entities.Intern(onHost(99, "nvme_latency")) // other numbers
		r.watch.Inherit(old.watch)
		r.tick(1, level(3, "nvme_latency", 0.1, map[int]float64{1: 0.3}))
		return r.explained(t, blames("node", 1, ""))
	}
	require.Equal(t, []string{"gpu-001: nvme_latency 300 ms against 101 ms before, for 2 min"}, after(latency))
	other := latency
	other.Expr = "another"
	require.Empty(t, after(other))

	var none *Watch
	none.Inherit(old.watch)
	old.watch.Inherit(none)
}

func TestNothingToFollow(t *testing.T) {
	require.Nil(t, New(Options{}))
}
