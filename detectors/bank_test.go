package detectors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// counting is a detector that counts how often it saw each entity.
type counting struct{ seen States[int] }

func (c *counting) Name() string { return "counting" }

func (c *counting) Observe(t *Tick, r *Report) {
	f := t.Frame(signals.GPUTemp)
	for _, id := range f.Entity {
		*c.seen.At(id)++
	}
	r.Findings = append(r.Findings, Finding{Detector: c.Name()})
}

func (c *counting) Renumber(to []signals.EntityID, count int) { c.seen.Renumber(to, count) }

func gpu(host, device string) signals.Entity {
	return signals.Entity{Kind: signals.KindGPU, Host: host, Device: device}
}

func snapshotOf(at time.Time, entities *signals.Entities, es ...signals.Entity) *signals.Snapshot {
	s := &signals.Snapshot{Time: at, Entities: entities}
	f := &signals.Frame{Signal: signals.GPUTemp}
	for _, e := range es {
		f.Entity = append(f.Entity, entities.Intern(e))
		f.Value = append(f.Value, 50)
		f.Stamp = append(f.Stamp, at.UnixMilli())
	}
	s.Frames[signals.GPUTemp] = f
	return s
}

func TestBankMovesStateWithItsEntity(t *testing.T) {
	c := &counting{}
	b := NewBank(Options{Extra: []Detector{c}})
	now := time.Unix(1000, 0)
	first := signals.NewEntities()
	b.Observe(snapshotOf(now, first, gpu("a", "GPU0"), gpu("b", "GPU0"), gpu("c", "GPU0")))
	b.Observe(snapshotOf(now.Add(15*time.Second), first, gpu("a", "GPU0"), gpu("b", "GPU0")))

	second := signals.NewEntities()
	s := snapshotOf(now.Add(30*time.Second), second, gpu("b", "GPU0"), gpu("d", "GPU0"))
	s.Generation = 1
	b.Observe(s)
	id, ok := second.Find(gpu("b", "GPU0"))
	require.True(t, ok)
	require.Equal(t, 3, *c.seen.At(id))
	id, _ = second.Find(gpu("d", "GPU0"))
	require.Equal(t, 1, *c.seen.At(id))
}

func TestBankReportsNothingWhileWarming(t *testing.T) {
	b := NewBank(Options{Extra: []Detector{&counting{}}})
	s := snapshotOf(time.Unix(0, 0), signals.NewEntities(), gpu("a", "GPU0"))
	s.Warming = true
	require.Empty(t, b.Observe(s).Findings)
	s.Warming = false
	require.NotEmpty(t, b.Observe(s).Findings)
}

func TestFrozenCoversWhatBelongsToAThing(t *testing.T) {
	tick := newTick()
	tick.freeze([]signals.Entity{
		{Kind: signals.KindHost, Host: "h1"}, gpu("h2", "GPU3"), {Kind: signals.KindJob, Job: "42"},
	})
	for name, tc := range map[string]struct {
		e    signals.Entity
		want bool
	}{
		"GPU of a suspect host":    {gpu("h1", "GPU0"), true},
		"suspect GPU":              {gpu("h2", "GPU3"), true},
		"its sibling":              {gpu("h2", "GPU4"), false},
		"member on a suspect GPU":  {signals.Entity{Kind: signals.KindComm, Host: "h2", Device: "GPU3", Job: "7"}, true},
		"member of a suspect job":  {signals.Entity{Kind: signals.KindComm, Host: "h9", Device: "GPU3", Job: "42"}, true},
		"member of a healthy job":  {signals.Entity{Kind: signals.KindComm, Host: "h9", Device: "GPU3", Job: "7"}, false},
		"an unrelated switch port": {signals.Entity{Kind: signals.KindSwitchPort, Device: "leaf1", Port: "3"}, false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tick.Frozen(tc.e)) })
	}
}

// A second job on the free GPUs of a host makes them busy. That is no activity
// of the job that was there before.
func TestGPUsThatAreNotOfTheJobAreSpare(t *testing.T) {
	tick := newTick()
	half := &signals.Job{ID: "a", Hosts: []string{"h", "i"}, GPUs: []signals.Entity{gpu("h", "GPU0"), gpu("h", "GPU1")}}
	tick.begin(&signals.Snapshot{Jobs: []*signals.Job{half}})
	require.False(t, tick.spare(gpu("h", "GPU1")))
	require.True(t, tick.spare(gpu("h", "GPU4")))
	require.False(t, tick.spare(gpu("i", "GPU4")), "nothing tells which GPUs of this host work")
	require.False(t, tick.spare(signals.Entity{Kind: signals.KindHost, Host: "h"}))

	d := newProfile(Options{}.withDefaults(), newWindows(Options{}.withDefaults()))
	snap := &signals.Snapshot{Time: time.Unix(1_700_000_000, 0), Jobs: []*signals.Job{half}, Entities: signals.NewEntities()}
	frame := &signals.Frame{}
	for device, v := range map[string]float64{"GPU0": 0.8, "GPU1": 0.8, "GPU4": 0, "GPU5": 0} {
		frame.Entity = append(frame.Entity, snap.Entities.Intern(gpu("h", device)))
		frame.Value = append(frame.Value, v)
	}
	snap.Frames[signals.GPUSMActive] = frame
	tick.begin(snap)
	d.open(&tick, half)
	d.readGPUs(&tick)
	require.InDelta(t, 0.8, d.sums["a"].sum[signals.GPUSMActive]/float64(d.sums["a"].n[signals.GPUSMActive]), 1e-9)
}

func TestJobOfASharedHostIsToldByItsGPUsOnly(t *testing.T) {
	tick := newTick()
	a := &signals.Job{ID: "a", Hosts: []string{"h"}, GPUs: []signals.Entity{gpu("h", "GPU0")}}
	b := &signals.Job{ID: "b", Hosts: []string{"h"}, GPUs: []signals.Entity{gpu("h", "GPU1")}}
	tick.begin(&signals.Snapshot{Jobs: []*signals.Job{a, b}})
	require.Same(t, a, tick.JobOf(gpu("h", "GPU0")))
	require.Same(t, b, tick.JobOf(gpu("h", "GPU1")))
	require.Nil(t, tick.JobOf(signals.Entity{Kind: signals.KindHost, Host: "h"}))
}
