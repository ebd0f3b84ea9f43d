package signals

// Requirement is what the diagnosis of one class of fault reads. It is data, so
// that the coverage report can say what an installation cannot see; whoever
// adds a class adds a line.
type Requirement struct {
	Class string
	// Full are the inputs without which the class is not diagnosed as
	// precisely as it can be, Coarse those without which it is not at all.
	// Each input is a list of alternatives.
	Full, Coarse [][]ID
	// Beside says what is needed that no signal tells, such as a topology.
	Beside string
}

// Requirements lists all classes.
func Requirements() []Requirement {
	all := func(needs ...[]ID) [][]ID { return needs }
	any := func(ids ...ID) []ID { return ids }
	timing := any(CollExecTime, CollBusBandwidth, CollTransferTime)
	times := any(CollExecTime)
	traffic := any(NICTx, NICRx)
	linkErrors := any(NICSymbolErrors, NICLinkRecovery, NICRxErrors, NICICRC, NICLinkIntegrity)
	progress := any(InspectorAge, CollInflightAge, CollOps, CollSequence)
	downs := any(NICLinkDowned, NICCarrierDown)
	xid := any(GPUXid, GPUXidCount)
	throttle := any(GPUClockReasons, GPUThrottleTime, GPUClockEvents)
	jobs := any(JobOnNode, CollExecTime, CollOps)
	busy := any(GPUTensorActive, GPUPower, GPUSMActive)
	return []Requirement{
		{Class: "link_down", Full: all(any(NICState), downs, any(HostBootTime)), Coarse: all(any(NICState, NICLinkDowned, NICCarrierDown))},
		{Class: "link_flap", Full: all(downs, any(NICState)), Coarse: all(any(NICLinkDowned, NICCarrierDown, NICState, NICLinkRecovery))},
		{
			Class: "nic_degraded", Full: all(any(NICRate), linkErrors, any(NICSeqErrors, NICOutOfSequence, NICRetransmits, NICRetransmitBytes), timing),
			Coarse: all(any(NICRate, NICSymbolErrors, NICRxErrors, NICOutOfSequence, NICRetransmitBytes)),
		},
		{Class: "nic_contention", Full: all(traffic, timing, any(NICRate)), Coarse: all(traffic, timing)},
		{Class: "nic_unused_after_flap", Full: all(traffic, downs, timing), Coarse: all(traffic, any(NICLinkDowned, NICCarrierDown, NICState))},
		{Class: "rail_miscabled", Full: all(timing, any(SwitchLink, HostParent)), Coarse: all(timing), Beside: "a topology that names the leaf of each NIC"},
		{
			Class: "leaf_degraded", Full: all(timing, any(NICTransmitWait, NICECNReceived, SwitchPortErrors, NICDiscards), any(SwitchLink, HostParent)),
			Coarse: all(timing), Beside: "a topology that names the leaf of each NIC",
		},
		{Class: "rail_degraded", Full: all(timing, any(NICTransmitWait, NICECNReceived)), Coarse: all(timing)},
		{Class: "leaf_restart", Full: all(any(NICState), downs), Coarse: all(any(NICState, NICLinkDowned, NICCarrierDown)), Beside: "a topology that names the leaf of each NIC"},
		{Class: "uplink_congestion", Full: all(any(SwitchPortTx), any(SwitchPortECNMarked, SwitchPortTransmitWait), timing), Coarse: all(any(SwitchPortTx, SwitchPortTransmitWait))},
		{
			Class: "roce_congestion", Full: all(any(NICECNReceived, NICCNPSent, NICCNPHandled), any(NICPauseRx), any(NICPauseTx)),
			Coarse: all(any(NICECNReceived, NICCNPSent, NICCNPHandled, NICPauseRx)),
		},
		{Class: "pfc_storm", Full: all(any(NICPauseTx), any(NICPauseRx), any(NICPCIeStall)), Coarse: all(any(NICPauseTx, NICPauseStorms))},
		{
			Class: "roce_loss", Full: all(any(NICOutOfSequence), any(NICSeqErrors, NICRetransmits, NICAckTimeouts), any(SwitchPortDiscards)),
			Coarse: all(any(NICOutOfSequence, NICSeqErrors, NICRetransmits, NICAckTimeouts)),
		},
		{Class: "fabric_congestion", Full: all(any(NICRetransmitBytes), traffic, any(NICRemoteUnresponsive)), Coarse: all(any(NICRetransmitBytes, NICRetransmits, NICECNReceived))},
		{Class: "host_path_degraded", Full: all(timing, any(HostKernel), any(NICRate)), Coarse: all(timing), Beside: "the topology dump of NCCL for high confidence"},
		{Class: "config_suspected", Full: all(timing, traffic, any(HostNetTx)), Coarse: all(timing)},
		{Class: "node_suspect", Full: all(timing, jobs), Coarse: all(timing)},
		{Class: "node_restart", Full: all(any(HostBootTime), any(TargetUp)), Coarse: all(any(HostBootTime))},
		{Class: "pcie_degraded", Full: all(any(GPUPCIeWidth), any(GPUPCIeGen), any(GPUPCIeReplays)), Coarse: all(any(GPUPCIeReplays, GPUPCIeWidth, NICPCIeStall))},
		{Class: "nvlink_degraded", Full: all(any(NVLinkErrors), timing), Coarse: all(any(NVLinkErrors, CollBusBandwidth))},
		{Class: "nvlink_domain_fault", Full: all(xid, busy, any(HostParent)), Coarse: all(any(GPUXid, GPUXidCount, GPUTensorActive)), Beside: "the NVLink domain of each host"},
		{Class: "gpu_throttle", Full: all(any(GPUSMClock), throttle, any(GPUTemp), times), Coarse: all(any(GPUSMClock))},
		{Class: "thermal_group", Full: all(any(GPUTemp), any(GPUSMClock)), Coarse: all(any(GPUTemp)), Beside: "the rack of each host"},
		{Class: "gpu_fault", Full: all(any(GPUXidCount), any(GPURowRemapFailure), any(GPUUtil)), Coarse: all(any(GPUXid, GPUXidCount, GPUUtil, GPURowRemapFailure))},
		{Class: "straggler_compute", Full: all(times, any(HostCPUPressure), any(GPUSMClock)), Coarse: all(times)},
		{Class: "rotating_straggler", Full: all(times), Coarse: all(times)},
		{Class: "role_imbalance", Full: all(times, any(P2PExecTime)), Coarse: all(times), Beside: "a rank map where names do not tell the stages"},
		{Class: "compute_comm_contention", Full: all(timing, any(GPUSMActive), any(GPUDRAMActive), any(StepTime)), Coarse: all(timing, busy)},
		{Class: "collective_stall", Full: all(progress, busy, traffic, xid, any(GPUMemUsed)), Coarse: all(any(InspectorAge, CollInflightAge, CollOps, CollSequence, GPUTensorActive))},
		{Class: "inefficient_collective", Full: all(any(CollBusy, CollOps), timing), Coarse: all(timing)},
		{Class: "init_stall", Full: all(any(GPUMemUsed), progress, jobs), Coarse: all(any(GPUMemUsed), jobs)},
		{Class: "telemetry_gap", Full: all(any(TargetUp), any(ScrapeOK)), Coarse: all(any(TargetUp))},
	}
}
