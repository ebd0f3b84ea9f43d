package incidents_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

const interval = 15 * time.Second

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// driver feeds a manager tick by tick.
type driver struct {
	t   *testing.T
	m   *incidents.Manager
	now time.Time
	// got are all events so far.
	got []incidents.Event
}

func drive(t *testing.T, o incidents.Options) *driver {
	t.Helper()
	return &driver{t: t, m: incidents.NewManager(o), now: t0}
}

// tick applies verdicts n times and returns the events.
func (d *driver) tick(n int, vs ...diagnosis.Verdict) []incidents.Event {
	return d.apply(n, diagnosis.Result{Whole: true, Verdicts: vs})
}

func (d *driver) apply(n int, r diagnosis.Result) []incidents.Event {
	d.t.Helper()
	var out []incidents.Event
	for range n {
		d.now = d.now.Add(interval)
		r.Time = d.now
		out = append(out, d.m.Apply(&r)...)
	}
	d.got = append(d.got, out...)
	return out
}

// kinds are the words of events, as "open nic_degraded".
func kinds(es []incidents.Event) []string {
	out := []string{}
	for _, e := range es {
		w := string(e.Kind) + " " + string(e.Incident.Verdict.Class)
		if e.Kind == incidents.EventResolve {
			w += " " + string(e.Incident.ResolveReason)
		}
		out = append(out, w)
	}
	return out
}

func nic(node, device string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.LinkDown, Reason: "port_not_active", Severity: diagnosis.Critical, Confidence: diagnosis.High,
		Owner: diagnosis.Infrastructure, Job: "48213", Scope: "job", TieSet: 1,
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: node, Device: device, Switch: "leaf-r3", Score: 0.9}},
		Hosts:    []string{node}, StartedAt: t0,
	}
}

func stall(job string, hosts ...string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.CollectiveStall, Reason: "all_alike", Severity: diagnosis.Critical,
		Owner: diagnosis.OwnerUnknown, Job: job, Scope: "job", Hosts: hosts, StartedAt: t0,
	}
}

func named(v diagnosis.Verdict, kind, node, device string) diagnosis.Verdict {
	v.Suspects = []diagnosis.Suspect{{Kind: kind, Node: node, Device: device, Score: 1}}
	v.TieSet = 1
	return v
}

func TestOpensAfterTwoResolvesAfterFive(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-007", "mlx5_3")
	require.Empty(t, d.tick(1, v))
	require.Equal(t, []string{"open link_down"}, kinds(d.tick(1, v)))
	require.Empty(t, d.tick(10, v))
	require.Empty(t, d.tick(4))
	require.Equal(t, []string{"resolve link_down recovered"}, kinds(d.tick(1)))
	require.Empty(t, d.m.Live())
	require.Len(t, d.m.Ended(), 1)
}

func TestImmediateSkipsPending(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-007", "mlx5_3")
	v.Immediate = true
	require.Equal(t, []string{"open link_down"}, kinds(d.tick(1, v)))
}

func TestOneBadEvaluationStaysQuiet(t *testing.T) {
	d := drive(t, incidents.Options{})
	for range 20 {
		d.tick(1, nic("gpu-007", "mlx5_3"))
		d.tick(1)
	}
	require.Empty(t, d.got)
	require.Empty(t, d.m.Live())
}

func TestNoVerdictHolds(t *testing.T) {
	for name, r := range map[string]diagnosis.Result{
		"nothing whole":  {Whole: false},
		"everywhere":     {Whole: true, Holds: []diagnosis.Hold{{Reason: "source_down"}}},
		"host":           {Whole: true, Holds: []diagnosis.Hold{{Host: "gpu-007"}}},
		"job":            {Whole: true, Holds: []diagnosis.Hold{{Job: "48213"}}},
		"class and host": {Whole: true, Holds: []diagnosis.Hold{{Classes: []diagnosis.Class{diagnosis.LinkDown}, Host: "gpu-007"}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, incidents.Options{})
			d.tick(2, nic("gpu-007", "mlx5_3"))
			require.Empty(t, d.apply(1000, r))
			inc := d.m.Live()[0]
			require.Equal(t, 1000, inc.HeldTicks)
			require.NotEmpty(t, inc.Held)
		})
	}
	for name, h := range map[string]diagnosis.Hold{
		"other host":  {Host: "gpu-008"},
		"other job":   {Job: "1"},
		"other class": {Classes: []diagnosis.Class{diagnosis.GPUFault}},
	} {
		t.Run(name, func(t *testing.T) {
			d := drive(t, incidents.Options{})
			d.tick(2, nic("gpu-007", "mlx5_3"))
			es := d.apply(5, diagnosis.Result{Whole: true, Holds: []diagnosis.Hold{h}})
			require.Equal(t, []string{"resolve link_down recovered"}, kinds(es))
		})
	}
}

func TestHeldForADayIsDataGone(t *testing.T) {
	d := drive(t, incidents.Options{HeldLimit: time.Hour})
	d.tick(2, nic("gpu-007", "mlx5_3"))
	es := d.apply(300, diagnosis.Result{Whole: true, Holds: []diagnosis.Hold{{Host: "gpu-007", Reason: "exporter_down"}}})
	require.Equal(t, []string{"resolve link_down data_gone"}, kinds(es))
	require.True(t, es[0].Incident.Inconclusive())
	require.Contains(t, es[0].Why, "exporter_down")
}

func TestSeverityRisesAndNeverFalls(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-007", "mlx5_3")
	v.Severity = diagnosis.Warning
	d.tick(2, v)
	v.Severity = diagnosis.Critical
	es := d.tick(1, v)
	require.Len(t, es, 1)
	require.Equal(t, incidents.EventUpdate, es[0].Kind)
	require.Equal(t, diagnosis.Warning, es[0].Was)
	require.Equal(t, diagnosis.Critical, es[0].Incident.Severity)
	v.Severity = diagnosis.Info
	require.Empty(t, d.tick(5, v))
	require.Equal(t, diagnosis.Critical, d.m.Live()[0].Severity)
}

// The end of an incident may not be told yet when the clock steps ahead.
func TestEndedStayAtHandWhenTheClockStepsAhead(t *testing.T) {
	d := drive(t, incidents.Options{})
	d.tick(2, nic("gpu-007", "mlx5_3"))
	d.tick(100)
	require.Len(t, d.m.Ended(), 1)
	d.now = d.now.Add(24 * time.Hour)
	d.tick(1)
	require.Len(t, d.m.Ended(), 1, "people may not know yet")
	d.tick(500)
	require.Empty(t, d.m.Ended())
}

func TestWhatChangesAtOnceIsOneEvent(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-007", "mlx5_3")
	v.Severity = diagnosis.Warning
	d.tick(2, v)
	v.Severity, v.Reason = diagnosis.Critical, "carrier_lost"
	es := d.tick(1, v)
	require.Equal(t, []string{"update link_down"}, kinds(es))
	require.Equal(t, diagnosis.Warning, es[0].Was)
	require.Contains(t, es[0].Why, "severity rises from warning to critical")
	require.Contains(t, es[0].Why, "reason is now carrier_lost")
}

func TestJobEndedIsTheReason(t *testing.T) {
	d := drive(t, incidents.Options{})
	d.tick(2, stall("48213", "a", "b"))
	es := d.apply(1, diagnosis.Result{Whole: true, Ended: []string{"48213"}})
	require.Equal(t, []string{"update collective_stall"}, kinds(es))
	es = d.tick(10)
	require.Equal(t, []string{"resolve collective_stall job_ended"}, kinds(es))
}

func TestFaultThatOutlivesItsJobRecovers(t *testing.T) {
	d := drive(t, incidents.Options{})
	d.tick(2, nic("gpu-007", "mlx5_3"))
	d.apply(1, diagnosis.Result{Whole: true, Ended: []string{"48213"}})
	fleet := nic("gpu-007", "mlx5_3")
	fleet.Job = ""
	d.tick(40, fleet)
	es := d.tick(10)
	require.Equal(t, []string{"resolve link_down recovered"}, kinds(es))
}

func TestFlapLatches(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-015", "mlx5_1")
	v.Class, v.Severity = diagnosis.LinkFlap, diagnosis.Info
	d.tick(2, v)
	for range 4 {
		d.tick(16) // four quiet minutes between two events
		d.tick(3, v)
	}
	require.Equal(t, []string{"open link_flap"}, kinds(d.got))
	d.tick(30)
	require.Equal(t, incidents.Latched, d.m.Live()[0].State)
	es := d.tick(240)
	require.Equal(t, []string{"resolve link_flap recovered"}, kinds(es))
	require.GreaterOrEqual(t, es[0].Incident.ClearFor, time.Hour)
}

func TestComesBackAsTheSameIncident(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-007", "mlx5_3")
	d.tick(2, v)
	d.tick(5)
	id := d.got[0].Incident.ID
	es := d.tick(2, v)
	require.Equal(t, []string{"open link_down"}, kinds(es))
	require.Equal(t, id, es[0].Incident.ID)
	require.Equal(t, 1, es[0].Incident.Flaps)
	d.tick(5)
	d.tick(2, v)
	d.tick(5)
	d.tick(2, v) // third return: latched from here on
	before := len(d.got)
	d.tick(30)
	d.tick(2, v)
	require.Len(t, d.got, before)
	d.tick(6)
	d.tick(300)
	require.Empty(t, d.m.Live())

	d.tick(200)
	es = d.tick(2, v)
	require.NotEqual(t, id, es[0].Incident.ID, "after the reopen window it is a new incident")
}

// The ID follows from key and time, and a clock may come to the same time twice.
func TestOneIDIsOneIncidentWhenTheClockStepsBack(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := nic("gpu-007", "mlx5_3")
	v.Immediate = true
	first := d.tick(1, v)
	d.tick(2 * 240) // two hours, so that it does not come back
	d.now = t0
	second := d.tick(1, v)
	require.Equal(t, []string{"open link_down"}, kinds(first))
	require.Equal(t, []string{"open link_down"}, kinds(second))
	require.True(t, first[0].Time.Equal(second[0].Time))
	require.NotEqual(t, first[0].Incident.ID, second[0].Incident.ID)
}
