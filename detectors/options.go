package detectors

import (
	"slices"
	"time"
)

// Options configures a Bank. The zero value means the defaults of each field.
type Options struct {
	// Interval is the time between two ticks as configured, 15 s if zero.
	Interval time.Duration
	// Dump is the period of the Inspector's files, 30 s if zero. A window of
	// a lateness test is one dump or more.
	Dump time.Duration
	// Disabled are the names of detectors that do not run, see [Optional].
	Disabled []string
	// Lateness, Transfer and Progress are the limits of these detectors.
	Lateness LatenessOptions
	Transfer TransferOptions
	Progress ProgressOptions
	// Efficiency are the limits of what is worth a hint.
	Efficiency EfficiencyOptions
	// ErrorFactor is the multiple of what is usual, on the fabric and for the
	// port, from which on the rate of an error counter is unusual, 10 if zero.
	// Each counter has a floor of its own besides.
	ErrorFactor float64
	// Memory is how long an ended job is compared with those that follow, 7
	// days if zero.
	Memory time.Duration
	// Extra are more detectors, called after the built-in ones.
	Extra []Detector
}

// LatenessOptions are the limits of lateness and stages, as shares of the
// median time of the others. Zero fields mean their defaults.
type LatenessOptions struct {
	// Ratio in Run windows in a row names a member, 0.5 and 3; so does
	// SoftRatio in SoftRun disjoint means of two windows, 0.7 and 4.
	Ratio, SoftRatio float64
	Run, SoftRun     int
	// WaitsRatio is the ratio of the own receive, send or tensor-parallel time
	// to that of role peers above which a late GPU is itself waiting, 1.2.
	WaitsRatio float64
	// StageRatio is the share of the next receive time below which a stage of
	// a pipeline waits too little, 0.7.
	StageRatio float64
}

// TransferOptions are the limits of transfer. Zero fields mean their defaults.
type TransferOptions struct {
	// Effect is the least relative slowness against a group's own past, 0.10;
	// PeerEffect that against groups of the same role, 0.15, which also have
	// to be PeerScore robust standard deviations away, 5.
	Effect, PeerEffect, PeerScore float64
	// EWMA is the chart against the own past.
	EWMA EWMAOptions
}

// EWMAOptions are the parameters of an EWMA control chart. Zero fields mean
// their defaults.
type EWMAOptions struct {
	// Lambda is the weight of a new sample, 0.3; Limit the height in robust
	// standard deviations, 5; Phi the least autocorrelation assumed, 0.5: where
	// residuals show a higher one, that is taken.
	Lambda, Limit, Phi float64
	// ScaleFloor is the least standard deviation of ln(value), 0.02.
	ScaleFloor float64
	// WarmUp is the number of samples learned before one is judged, 20.
	WarmUp int
}

// ProgressOptions are the times of progress. Zero fields mean their defaults.
type ProgressOptions struct {
	// InitTime is how long a job has to communicate before its start is over,
	// 3 min: what stands before that is not judged.
	InitTime time.Duration
	// InitLimit is how long the start of a job may take, 45 min.
	InitLimit time.Duration
	// PauseLimit is how long a checkpoint with evidence, or any pause of a
	// kind that came before, is excused, 15 min.
	PauseLimit time.Duration
}

// EfficiencyOptions are the limits of efficiency. Zero fields mean their
// defaults.
type EfficiencyOptions struct {
	// Share is the least part of a job's time that a kind of operation must
	// cost, 0.2; Part the part of the possible bandwidth below which it must
	// be, 0.6.
	Share, Part float64
}

func (o Options) withDefaults() Options {
	orElse(&o.Interval, 15*time.Second)
	orElse(&o.Dump, 30*time.Second)
	orElse(&o.ErrorFactor, usualFactor)
	orElse(&o.Memory, 7*24*time.Hour)

	l := &o.Lateness
	orElse(&l.Ratio, lateStrong)
	orElse(&l.SoftRatio, lateWeak)
	orElse(&l.Run, lateStrongRun)
	orElse(&l.SoftRun, lateWeakRun)
	orElse(&l.WaitsRatio, waitsToo)
	orElse(&l.StageRatio, stageRatio)

	t := &o.Transfer
	orElse(&t.Effect, transferEffect)
	orElse(&t.PeerEffect, peerEffect)
	orElse(&t.PeerScore, peerScore)
	orElse(&t.EWMA.Lambda, 0.3)
	orElse(&t.EWMA.Limit, 5)
	orElse(&t.EWMA.Phi, 0.5)
	orElse(&t.EWMA.ScaleFloor, transferFloor)
	orElse(&t.EWMA.WarmUp, warmUp)

	orElse(&o.Efficiency.Share, effShare)
	orElse(&o.Efficiency.Part, effPart)

	orElse(&o.Progress.InitTime, initTime)
	orElse(&o.Progress.InitLimit, initLimit)
	orElse(&o.Progress.PauseLimit, checkpointLimit)
	return o
}

func orElse[T int | float64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// Optional returns the names of the detectors that may be disabled, in order.
// The windows that other detectors read are none of them.
func Optional() []string {
	names := NewBank(Options{}).Names()
	names = slices.DeleteFunc(names, func(n string) bool { return n == windowsName })
	slices.Sort(names)
	return names
}
