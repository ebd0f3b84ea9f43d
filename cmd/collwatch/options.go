package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func detectorOptions(cfg *config.Config) detectors.Options {
	d := cfg.Detectors
	return detectors.Options{
		Interval: cfg.Global.Interval.Std(), Dump: cfg.Signals.Dump.Std(), Disabled: d.Disabled,
		Memory: time.Duration(d.Memory) * 24 * time.Hour, ErrorFactor: d.Counters.Factor,
		Lateness: detectors.LatenessOptions{
			Ratio: d.Lateness.Ratio, Run: d.Lateness.Windows, SoftRatio: d.Lateness.SoftRatio, SoftRun: d.Lateness.SoftWindows,
			WaitsRatio: d.Lateness.ReceiveRatio, StageRatio: d.Lateness.StageRatio,
		},
		Transfer: detectors.TransferOptions{
			Effect: d.Transfer.Effect, PeerEffect: d.Transfer.PeerEffect, PeerScore: d.Transfer.PeerScore,
			EWMA: detectors.EWMAOptions{
				Lambda: d.EWMA.Lambda, Limit: d.EWMA.Limit, Phi: d.EWMA.Phi, ScaleFloor: d.EWMA.ScaleFloor, WarmUp: d.EWMA.Learn,
			},
		},
		Efficiency: detectors.EfficiencyOptions{Share: d.Efficiency.Share, Part: d.Efficiency.Part},
		Progress:   detectors.ProgressOptions{InitTime: cfg.Diagnosis.StartTime.Std(), InitLimit: cfg.Diagnosis.InitStall.Std(), PauseLimit: cfg.Diagnosis.PauseExcuse.Std()},
	}
}

func diagnosisOptions(cfg *config.Config) (diagnosis.Options, error) {
	d := cfg.Diagnosis
	o := diagnosis.Options{
		Interval:         cfg.Global.Interval.Std(),
		StallFact:        d.StallFact.Std(),
		StallMinority:    d.StallMinority.Std(),
		StallAlike:       d.StallAlike.Std(),
		LinkBootGrace:    d.BootGrace.Std(),
		FlapCritical:     d.FlapCritical,
		FlapDown:         d.FlapDown.Std(),
		SwitchRestart:    d.LeafRestart.Std(),
		ErrorsHold:       cfg.Detectors.Counters.Hold.Std(),
		ErrorsCritical:   d.BitErrorsCritical.Std(),
		HostWindows:      cfg.Detectors.Lateness.HostWindows,
		ThrottleClock:    d.ThrottleClock,
		ThrottleCritical: d.ThrottleCritical,
		CordonShare:      d.CordonShare,
		Shard:            diagnosis.Shard{Index: cfg.Global.Shard.Index, Count: cfg.Global.Shard.Count},
		Disabled:         classSet(cfg.Incidents.DisabledClasses),
	}
	if len(d.Xid) > 0 {
		o.Xid = map[int]diagnosis.XidClass{}
	}
	for code, class := range d.Xid {
		n, err := strconv.Atoi(code)
		if err != nil {
			return o, fmt.Errorf("[diagnosis.xid]: %q is no Xid code: write a number in quotes, such as \"79\"", code)
		}
		c, err := diagnosis.ParseXidClass(class)
		if err != nil {
			return o, fmt.Errorf("[diagnosis.xid]: code %s: %w", code, err)
		}
		o.Xid[n] = c
	}
	return o, nil
}

func incidentOptions(cfg *config.Config) incidents.Options {
	in := cfg.Incidents
	o := incidents.Options{
		Interval:      cfg.Global.Interval.Std(),
		Policies:      policies(&in),
		External:      cfg.Global.Labels(),
		Shadow:        classSet(in.ShadowClasses),
		BreakerShare:  cfg.Diagnosis.CordonShare,
		Cap:           in.Storm.MaxOpen,
		FoldAbove:     in.Storm.Fold,
		LatchFlaps:    in.Flaps,
		LatchFor:      in.Latch.Std(),
		HeldLimit:     in.DataGone.Std(),
		Warmed:        cfg.Global.WarmUp.Std(),
		HistoryWindow: in.History.Std(),

		History:        in.HistorySize,
		RepeatOffender: in.RepeatOffender,
		CoolDown:       in.CoolDown.Std(),
	}
	return o
}

func classSet(names []string) map[diagnosis.Class]bool {
	if len(names) == 0 {
		return nil
	}
	set := make(map[diagnosis.Class]bool, len(names))
	for _, n := range names {
		set[diagnosis.Class(n)] = true
	}
	return set
}

// policies overlays the hold times of the configuration on those that each
// class has by its nature: a general key moves the general default only.
func policies(in *config.Incidents) map[diagnosis.Class]incidents.Policy {
	base := incidents.Policies()
	plain := incidents.DefaultPolicy()
	defaults := config.Default().Incidents
	out := map[diagnosis.Class]incidents.Policy{}
	for _, c := range append(diagnosis.Classes(), incidents.Storm) {
		p, ok := base[c]
		if !ok {
			p = plain
		}
		if in.Pending != defaults.Pending && p.Pending == plain.Pending {
			p.Pending = in.Pending
		}
		if in.Resolve != defaults.Resolve && p.Clear == plain.Clear {
			p.Clear = in.Resolve
		}
		if in.Reopen != defaults.Reopen && p.Reopen == plain.Reopen {
			p.Reopen = in.Reopen.Std()
		}
		if in.Latch != defaults.Latch && p.Latch > 0 {
			p.Latch = in.Latch.Std()
		}
		if s, ok := in.Classes[string(c)]; ok {
			overlay(&p, s)
		}
		out[c] = p
	}
	return out
}

func overlay(p *incidents.Policy, s config.ClassSettings) {
	if s.Pending > 0 {
		p.Pending = s.Pending
	}
	if s.Resolve > 0 {
		// Whoever counts evaluations means them instead of the time by nature.
		p.Clear, p.ClearFor = s.Resolve, 0
	}
	if s.Latch > 0 {
		p.Latch = s.Latch.Std()
	}
	if s.Send {
		p.Min, p.Max = diagnosis.Info, max(p.Max, diagnosis.Info)
	}
	switch s.MaxSeverity {
	case "info":
		p.Max = diagnosis.Info
	case "warning":
		p.Max = diagnosis.Warning
	case "critical":
		p.Max = diagnosis.Critical
	}
}

func renderer(cfg *config.Config) incidents.Renderer {
	r := incidents.Renderer{
		ExternalURL:  cfg.Global.ExternalURL.String(),
		DashboardURL: cfg.Incidents.DashboardURL,
		RunbookURL:   cfg.Incidents.RunbookURL.Template(),
	}
	if r.ExternalURL == "" {
		if host, err := os.Hostname(); err == nil {
			r.ExternalURL = "http://" + host + defaultAddress
		}
	}
	if len(cfg.Alertmanager.Targets) > 0 {
		r.AlertmanagerURL = cfg.Alertmanager.Targets[0].URL.String()
	}
	return r
}
