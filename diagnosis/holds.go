package diagnosis

import (
	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// whole says whether the tick saw enough to resolve anything: an input that
// failed for all hosts forbids it.
func whole(s *signals.Snapshot) bool {
	for _, g := range s.Gaps {
		if g.Host == "" && g.Reason == "source_down" {
			return false
		}
	}
	for _, f := range s.Frames {
		if f.Len() > 0 {
			return true
		}
	}
	return false
}

// holds turns missing inputs into holds: what needs them is neither confirmed
// nor resolved.
func holds(s *signals.Snapshot, r *detectors.Report) []Hold {
	var out []Hold
	seen := map[string]bool{}
	add := func(h Hold) {
		key := h.Host + "|" + h.Job + "|" + h.Reason
		if len(h.Classes) > 0 {
			key += "|" + string(h.Classes[0])
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, h)
		}
	}
	for _, g := range s.Gaps {
		add(Hold{Classes: classesOfSource(g.Source), Host: g.Host, Reason: g.Source + " not reported: " + g.Reason})
	}
	for _, b := range r.Blind {
		add(Hold{Classes: classesNeeding(b.Signal), Host: b.Host, Job: b.Job, Reason: b.Reason})
	}
	return out
}

// classesOfSource are the classes that live on one exporter, nil for all.
func classesOfSource(source string) []Class {
	switch source {
	case "dcgm":
		return classesNeeding(signals.GPUUtil)
	case "switch":
		return classesNeeding(signals.SwitchPortTx)
	}
	return nil
}

// classesNeeding are the classes that cannot be judged without a signal, nil
// for all. The ranges are those of the catalogue.
func classesNeeding(id signals.ID) []Class {
	timing := []Class{StragglerCompute, RotatingStraggler, RoleImbalance, ComputeCommContention, InefficientCollective, InitStall, CollectiveStall}
	switch {
	case id == signals.None:
		return nil
	case id <= signals.CollBusy:
		return append(timing, NICContention, NICUnusedAfterFlap, RailDegraded, LeafDegraded, HostPathDegraded, ConfigSuspected, NodeSuspect, NVLinkDegraded)
	case id <= signals.NVLinkRate:
		return []Class{GPUThrottle, ThermalGroup, GPUFault, PCIeDegraded, NVLinkDegraded, NVLinkDomainFault, CollectiveStall, ComputeCommContention, InitStall}
	case id <= signals.NICPath:
		return []Class{
			LinkDown, LinkFlap, NICDegraded, NICContention, NICUnusedAfterFlap, LeafDegraded, LeafRestart, RailDegraded,
			RoCECongestion, RoCELoss, PFCStorm, FabricCongestion, CollectiveStall, ConfigSuspected, InefficientCollective,
		}
	case id <= signals.SwitchLink:
		return []Class{UplinkCongestion, LeafDegraded, LeafRestart, RoCELoss, RailMiscabled}
	case id <= signals.HostNetTx:
		return []Class{StragglerCompute, NodeRestart, CollectiveStall, HostPathDegraded, ConfigSuspected, InefficientCollective}
	}
	return nil
}
