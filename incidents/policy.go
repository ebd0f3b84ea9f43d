package incidents

import (
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// Policy is how incidents of one class live. All times are evaluated time: a
// period without ticks does not count.
type Policy struct {
	// Pending is the number of evaluations in a row that must confirm a
	// verdict before it is told, PendingFor the time they must span.
	Pending    int
	PendingFor time.Duration
	// Clear is the number of evaluations in a row without the verdict before
	// it resolves, ClearFor the time they must span.
	Clear    int
	ClearFor time.Duration
	// Latch keeps the incident open that long after it went quiet. 0 means
	// that it latches only after Flaps returns.
	Latch time.Duration
	// Reopen is how long after its end the same incident comes back instead of
	// a new one.
	Reopen time.Duration
	// Max caps the severity, whatever raises it; Min lifts it, so that what is
	// only recorded by default can be sent.
	Min, Max diagnosis.Severity
	// Repeats says that a component's history raises the severity.
	Repeats bool
	// Exclusive says that a job has at most one incident of the class at a
	// time, so that another suspect replaces the former.
	Exclusive bool
}

// Defaults of Policy. Two evaluations to open keep a single bad scrape quiet;
// five to resolve are more than the look-back of a missed scrape at the usual
// 15 s. The ten minutes for statistical classes hold an effect that wanders
// around its limit in one incident: their windows are at least 30 s long, so
// that fewer evaluations would be only a few independent looks.
const (
	defaultPending = 2
	defaultClear   = 5
	statistical    = 10 * time.Minute
	defaultReopen  = 15 * time.Minute
	defaultLatch   = time.Hour
)

// DefaultPolicy is the policy of a class without an entry of its own.
func DefaultPolicy() Policy {
	return Policy{Pending: defaultPending, Clear: defaultClear, Reopen: defaultReopen, Max: diagnosis.Critical}
}

// Policies returns the policy of each class that differs from DefaultPolicy.
// The map is fresh, callers may change it.
func Policies() map[diagnosis.Class]Policy {
	with := func(change ...func(*Policy)) Policy {
		p := DefaultPolicy()
		for _, c := range change {
			c(&p)
		}
		return p
	}
	slow := func(p *Policy) { p.ClearFor = statistical }
	repeats := func(p *Policy) { p.Repeats = true }
	exclusive := func(p *Policy) { p.Exclusive = true }
	atMost := func(s diagnosis.Severity) func(*Policy) { return func(p *Policy) { p.Max = s } }
	latched := func(p *Policy) { p.Latch = defaultLatch }

	return map[diagnosis.Class]Policy{
		diagnosis.LinkDown:              with(repeats),
		diagnosis.LinkFlap:              with(repeats, latched),
		diagnosis.NICDegraded:           with(slow, repeats),
		diagnosis.NICContention:         with(slow),
		diagnosis.NICUnusedAfterFlap:    with(slow),
		diagnosis.RailMiscabled:         with(slow),
		diagnosis.LeafDegraded:          with(slow, repeats),
		diagnosis.RailDegraded:          with(slow),
		diagnosis.LeafRestart:           with(atMost(diagnosis.Info)),
		diagnosis.UplinkCongestion:      with(slow),
		diagnosis.RoCECongestion:        with(slow, atMost(diagnosis.Warning)),
		diagnosis.RoCELoss:              with(slow),
		diagnosis.PFCStorm:              with(slow, repeats),
		diagnosis.FabricCongestion:      with(slow),
		diagnosis.HostPathDegraded:      with(slow, repeats),
		diagnosis.ConfigSuspected:       with(slow, exclusive),
		diagnosis.NodeSuspect:           with(slow, repeats),
		diagnosis.NodeRestart:           with(atMost(diagnosis.Info)),
		diagnosis.PCIeDegraded:          with(slow, repeats),
		diagnosis.NVLinkDegraded:        with(slow, repeats),
		diagnosis.NVLinkDomainFault:     with(slow),
		diagnosis.GPUThrottle:           with(slow),
		diagnosis.ThermalGroup:          with(slow),
		diagnosis.GPUFault:              with(repeats),
		diagnosis.StragglerCompute:      with(slow, exclusive),
		diagnosis.RotatingStraggler:     with(slow, exclusive, atMost(diagnosis.Info)),
		diagnosis.RoleImbalance:         with(slow, exclusive, atMost(diagnosis.Recorded)),
		diagnosis.ComputeCommContention: with(slow, exclusive, atMost(diagnosis.Warning)),
		diagnosis.CollectiveStall:       with(exclusive),
		diagnosis.InefficientCollective: with(slow, atMost(diagnosis.Info)),
		diagnosis.InitStall:             with(exclusive, atMost(diagnosis.Warning)),
		diagnosis.TelemetryGap:          with(atMost(diagnosis.Info)),
		Storm:                           with(func(p *Policy) { p.Pending, p.ClearFor = 1, statistical }),
	}
}

// Storm is the class of the incident that summarises what a storm hides. No
// diagnosis makes it.
const Storm diagnosis.Class = "incident_storm"
