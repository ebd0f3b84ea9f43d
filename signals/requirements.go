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
	either := func(ids ...ID) []ID { return ids }
	timing := either(CollExecTime, CollBusBandwidth, CollTransferTime)
	times := either(CollExecTime)
	traffic := either(NICTx, NICRx)
	linkErrors := either(NICSymbolErrors, NICLinkRecovery, NICRxErrors, NICICRC, NICLinkIntegrity)
	progress := either(InspectorAge, CollInflightAge, CollOps, CollSequence)
	downs := either(NICLinkDowned, NICCarrierDown)
	xid := either(GPUXid, GPUXidCount)
	throttle := either(GPUClockReasons, GPUThrottleTime, GPUClockEvents)
	jobs := either(JobOnNode, CollExecTime, CollOps)
	busy := either(GPUTensorActive, GPUPower, GPUSMActive)
	return []Requirement{
		{Class: "link_down", Full: all(either(NICState), downs, either(HostBootTime)), Coarse: all(either(NICState, NICLinkDowned, NICCarrierDown))},
		{Class: "link_flap", Full: all(downs, either(NICState)), Coarse: all(either(NICLinkDowned, NICCarrierDown, NICState, NICLinkRecovery))},
		{
			Class: "nic_degraded", Full: all(either(NICRate), linkErrors, either(NICSeqErrors, NICOutOfSequence, NICRetransmits, NICRetransmitBytes), timing),
			Coarse: all(either(NICRate, NICSymbolErrors, NICRxErrors, NICOutOfSequence, NICRetransmitBytes)),
		},
		{Class: "nic_contention", Full: all(traffic, timing, either(NICRate)), Coarse: all(traffic, timing)},
		{Class: "nic_unused_after_flap", Full: all(traffic, downs, timing), Coarse: all(traffic, either(NICLinkDowned, NICCarrierDown, NICState))},
		{Class: "rail_miscabled", Full: all(timing, either(SwitchLink, HostParent)), Coarse: all(timing), Beside: "a topology that names the leaf of each NIC"},
		{
			Class: "leaf_degraded", Full: all(timing, either(NICTransmitWait, NICECNReceived, SwitchPortErrors, NICDiscards), either(SwitchLink, HostParent)),
			Coarse: all(timing), Beside: "a topology that names the leaf of each NIC",
		},
		{Class: "rail_degraded", Full: all(timing, either(NICTransmitWait, NICECNReceived)), Coarse: all(timing)},
		{Class: "leaf_restart", Full: all(either(NICState), downs), Coarse: all(either(NICState, NICLinkDowned, NICCarrierDown)), Beside: "a topology that names the leaf of each NIC"},
		{Class: "uplink_congestion", Full: all(either(SwitchPortTx), either(SwitchPortECNMarked, SwitchPortTransmitWait), timing), Coarse: all(either(SwitchPortTx, SwitchPortTransmitWait))},
		{
			Class: "roce_congestion", Full: all(either(NICECNReceived, NICCNPSent, NICCNPHandled), either(NICPauseRx), either(NICPauseTx)),
			Coarse: all(either(NICECNReceived, NICCNPSent, NICCNPHandled, NICPauseRx)),
		},
		{Class: "pfc_storm", Full: all(either(NICPauseTx), either(NICPauseRx), either(NICPCIeStall)), Coarse: all(either(NICPauseTx, NICPauseStorms))},
		{
			Class: "roce_loss", Full: all(either(NICOutOfSequence), either(NICSeqErrors, NICRetransmits, NICAckTimeouts), either(SwitchPortDiscards)),
			Coarse: all(either(NICOutOfSequence, NICSeqErrors, NICRetransmits, NICAckTimeouts)),
		},
		{Class: "fabric_congestion", Full: all(either(NICRetransmitBytes), traffic, either(NICRemoteUnresponsive)), Coarse: all(either(NICRetransmitBytes, NICRetransmits, NICECNReceived))},
		{Class: "host_path_degraded", Full: all(timing, either(HostKernel), either(NICRate)), Coarse: all(timing), Beside: "the topology dump of NCCL for high confidence"},
		{Class: "config_suspected", Full: all(timing, traffic, either(HostNetTx)), Coarse: all(timing)},
		{Class: "node_suspect", Full: all(timing, jobs), Coarse: all(timing)},
		{Class: "node_restart", Full: all(either(HostBootTime), either(TargetUp)), Coarse: all(either(HostBootTime))},
		{Class: "pcie_degraded", Full: all(either(GPUPCIeWidth), either(GPUPCIeGen), either(GPUPCIeReplays)), Coarse: all(either(GPUPCIeReplays, GPUPCIeWidth, NICPCIeStall))},
		{Class: "nvlink_degraded", Full: all(either(NVLinkErrors), timing), Coarse: all(either(NVLinkErrors, CollBusBandwidth))},
		{Class: "nvlink_domain_fault", Full: all(xid, busy, either(HostParent)), Coarse: all(either(GPUXid, GPUXidCount, GPUTensorActive)), Beside: "the NVLink domain of each host"},
		{Class: "gpu_throttle", Full: all(either(GPUSMClock), throttle, either(GPUTemp), times), Coarse: all(either(GPUSMClock))},
		{Class: "thermal_group", Full: all(either(GPUTemp), either(GPUSMClock)), Coarse: all(either(GPUTemp)), Beside: "the rack of each host"},
		{Class: "gpu_fault", Full: all(either(GPUXidCount), either(GPURowRemapFailure), either(GPUUtil)), Coarse: all(either(GPUXid, GPUXidCount, GPUUtil, GPURowRemapFailure))},
		{Class: "straggler_compute", Full: all(times, either(HostCPUPressure), either(GPUSMClock)), Coarse: all(times)},
		{Class: "rotating_straggler", Full: all(times), Coarse: all(times)},
		{Class: "role_imbalance", Full: all(times, either(P2PExecTime)), Coarse: all(times), Beside: "a rank map where names do not tell the stages"},
		{Class: "compute_comm_contention", Full: all(timing, either(GPUSMActive), either(GPUDRAMActive), either(StepTime)), Coarse: all(timing, busy)},
		{Class: "collective_stall", Full: all(progress, busy, traffic, xid, either(GPUMemUsed, ProcessUp)), Coarse: all(either(InspectorAge, CollInflightAge, CollOps, CollSequence, GPUTensorActive))},
		{Class: "inefficient_collective", Full: all(either(CollOps), times, either(CollBusBandwidth), either(NICRate), traffic), Coarse: all(times, either(CollBusBandwidth))},
		{Class: "init_stall", Full: all(either(GPUMemUsed), progress, jobs), Coarse: all(either(GPUMemUsed), jobs)},
		{Class: "telemetry_gap", Full: all(either(TargetUp), either(ScrapeOK)), Coarse: all(either(TargetUp))},
	}
}
