package incidents

import "github.com/collwatch/collwatch/diagnosis"

// refinements lists, for a class, the classes that say the same of the same
// fault with less knowledge. A confirmed refinement replaces them; once it is
// open, the coarser verdict only keeps it alive.
func refinements() map[diagnosis.Class][]diagnosis.Class {
	return map[diagnosis.Class][]diagnosis.Class{
		diagnosis.LeafDegraded:     {diagnosis.RailDegraded, diagnosis.LeafRestart},
		diagnosis.UplinkCongestion: {diagnosis.RoCECongestion},
		diagnosis.PFCStorm:         {diagnosis.RoCECongestion},
		diagnosis.RoCELoss:         {diagnosis.RoCECongestion},
		diagnosis.HostPathDegraded: {diagnosis.ConfigSuspected, diagnosis.NodeSuspect},
		diagnosis.PCIeDegraded:     {diagnosis.NodeSuspect, diagnosis.StragglerCompute},
		diagnosis.NICDegraded:      {diagnosis.NodeSuspect, diagnosis.RailDegraded},
		diagnosis.GPUThrottle:      {diagnosis.StragglerCompute},
		diagnosis.ThermalGroup:     {diagnosis.GPUThrottle, diagnosis.StragglerCompute},
		diagnosis.NVLinkDegraded:   {diagnosis.NodeSuspect, diagnosis.StragglerCompute},
	}
}

// causes lists, for a class, what it may have caused. An incident of such a
// class that is no longer reported while its cause is open did not recover: it
// was explained, and joins the cause.
func causes() map[diagnosis.Class][]diagnosis.Class {
	slow := []diagnosis.Class{
		diagnosis.CollectiveStall, diagnosis.StragglerCompute, diagnosis.RailDegraded,
		diagnosis.ComputeCommContention, diagnosis.InefficientCollective,
	}
	more := func(c ...diagnosis.Class) []diagnosis.Class { return append(c, slow...) }
	return map[diagnosis.Class][]diagnosis.Class{
		diagnosis.LinkDown:          more(diagnosis.NICDegraded, diagnosis.LinkFlap),
		diagnosis.LinkFlap:          slow,
		diagnosis.NICDegraded:       slow,
		diagnosis.NICContention:     slow,
		diagnosis.PFCStorm:          more(diagnosis.RoCELoss),
		diagnosis.RoCELoss:          slow,
		diagnosis.UplinkCongestion:  slow,
		diagnosis.PCIeDegraded:      slow,
		diagnosis.GPUThrottle:       slow,
		diagnosis.NVLinkDegraded:    slow,
		diagnosis.NodeRestart:       more(diagnosis.LinkDown, diagnosis.LinkFlap, diagnosis.GPUFault, diagnosis.TelemetryGap),
		diagnosis.NVLinkDomainFault: more(diagnosis.GPUFault, diagnosis.NVLinkDegraded),
		diagnosis.ThermalGroup:      slow,
		diagnosis.CollectiveStall:   {diagnosis.StragglerCompute, diagnosis.GPUFault, diagnosis.InitStall},
		diagnosis.LeafDegraded: more(diagnosis.NICDegraded, diagnosis.LinkDown, diagnosis.LinkFlap,
			diagnosis.UplinkCongestion, diagnosis.RoCELoss),
		diagnosis.LeafRestart: more(diagnosis.LinkDown, diagnosis.LinkFlap),
	}
}

// lineage answers questions about pairs of classes.
type lineage struct {
	refined map[[2]diagnosis.Class]bool // exact, coarse
	caused  map[[2]diagnosis.Class]bool // cause, effect
}

func newLineage() lineage {
	pairs := func(m map[diagnosis.Class][]diagnosis.Class) map[[2]diagnosis.Class]bool {
		out := map[[2]diagnosis.Class]bool{}
		for a, bs := range m {
			for _, b := range bs {
				out[[2]diagnosis.Class{a, b}] = true
			}
		}
		return out
	}
	return lineage{refined: pairs(refinements()), caused: pairs(causes())}
}

func (l lineage) refines(exact, coarse diagnosis.Class) bool {
	return l.refined[[2]diagnosis.Class{exact, coarse}]
}

func (l lineage) explains(cause, effect diagnosis.Class) bool {
	return l.caused[[2]diagnosis.Class{cause, effect}]
}
