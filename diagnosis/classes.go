package diagnosis

// Classes returns all classes in the order of the vocabulary.
func Classes() []Class {
	return []Class{
		LinkDown, LinkFlap, NICDegraded, NICContention, NICUnusedAfterFlap, RailMiscabled, LeafDegraded, RailDegraded,
		LeafRestart, UplinkCongestion, RoCECongestion, RoCELoss, PFCStorm, FabricCongestion, HostPathDegraded,
		ConfigSuspected, NodeSuspect, NodeRestart, PCIeDegraded, NVLinkDegraded, NVLinkDomainFault, GPUThrottle,
		ThermalGroup, GPUFault, StragglerCompute, RotatingStraggler, RoleImbalance, ComputeCommContention,
		CollectiveStall, InefficientCollective, InitStall, TelemetryGap,
	}
}
