package signals

// Meta is what there is to say about a signal.
type Meta struct {
	Name string
	Unit string
	// Bad is the direction in which things get worse.
	Bad Direction
	// Counts says that the rows of its usual dialects are rates of counters.
	Counts bool
}

var metaTable = [Count]Meta{
	None:             {Name: "none"},
	CollExecTime:     {"coll_exec_time", "s", Context, false},
	CollBusBandwidth: {"coll_bus_bandwidth", "B/s", Context, false},
	CollTransferTime: {"coll_transfer_time", "s", Up, false},
	P2PExecTime:      {"p2p_exec_time", "s", Context, false},
	P2PBusBandwidth:  {"p2p_bus_bandwidth", "B/s", Context, false},
	CollOps:          {"coll_ops", "count", Context, true},
	CollEnqueued:     {"coll_enqueued", "count", Context, true},
	CollStarted:      {"coll_started", "count", Context, true},
	CollSequence:     {"coll_sequence", "number", Context, false},
	CollInflight:     {"coll_inflight", "count", Context, false},
	CollInflightAge:  {"coll_inflight_age", "s", Up, false},
	CollInflightPeer: {"coll_inflight_peer", "number", Context, false},
	ProxyWait:        {"proxy_wait", "s/s", Up, true},
	ProxySteps:       {"proxy_steps", "count", Context, false},
	InspectorAge:     {"inspector_age", "s", Up, false},
	StepCount:        {"step_count", "count", Context, true},
	StepTime:         {"step_time", "s", Up, false},
	ProcessUp:        {"process_up", "flag", Down, false},
	ProcessStopped:   {"process_stopped", "flag", Up, false},
	RASMissing:       {"ras_missing", "flag", Up, false},
	RASCount:         {"ras_count", "count", Context, false},
	CollBytes:        {"coll_bytes", "B", Context, true},
	CollBusy:         {"coll_busy", "s/s", Context, true},

	GPUSMClock:         {"gpu_sm_clock", "Hz", Down, false},
	GPUMemClock:        {"gpu_mem_clock", "Hz", Down, false},
	GPUClockReasons:    {"gpu_clock_reasons", "bits", Context, false},
	GPUThrottleTime:    {"gpu_throttle_time", "s/s", Up, true},
	GPUClockEvents:     {"gpu_clock_events", "count", Up, false},
	GPUTemp:            {"gpu_temp", "°C", Up, false},
	GPUMemTemp:         {"gpu_mem_temp", "°C", Up, false},
	GPUPower:           {"gpu_power", "W", Down, false},
	GPUUtil:            {"gpu_util", "ratio", Context, false},
	GPUSMActive:        {"gpu_sm_active", "ratio", Context, false},
	GPUTensorActive:    {"gpu_tensor_active", "ratio", Context, false},
	GPUDRAMActive:      {"gpu_dram_active", "ratio", Context, false},
	GPUMemUsed:         {"gpu_mem_used", "B", Context, false},
	GPUXid:             {"gpu_xid", "code", Context, false},
	GPUXidCount:        {"gpu_xid_count", "count", Up, false},
	GPURowRemapFailure: {"gpu_row_remap_failure", "flag", Up, false},
	GPURemappedRows:    {"gpu_remapped_rows", "count", Up, true},
	GPUECC:             {"gpu_ecc", "count", Up, true},
	GPUPCIeGen:         {"gpu_pcie_gen", "number", Down, false},
	GPUPCIeWidth:       {"gpu_pcie_width", "lanes", Down, false},
	GPUPCIeReplays:     {"gpu_pcie_replays", "count", Up, true},
	NVLinkErrors:       {"nvlink_errors", "count", Up, true},
	NVLinkRate:         {"nvlink_rate", "B/s", Context, false},

	NICState:              {"nic_state", "enum", Down, false},
	NICPhysState:          {"nic_phys_state", "enum", Context, false},
	NICRate:               {"nic_rate", "B/s", Down, false},
	NICTx:                 {"nic_tx", "B/s", Context, true},
	NICRx:                 {"nic_rx", "B/s", Context, true},
	NICLinkDowned:         {"nic_link_downed", "count", Up, true},
	NICLinkRecovery:       {"nic_link_recovery", "count", Up, true},
	NICCarrierDown:        {"nic_carrier_down", "count", Up, true},
	NICSymbolErrors:       {"nic_symbol_errors", "count", Up, true},
	NICRxErrors:           {"nic_rx_errors", "count", Up, true},
	NICICRC:               {"nic_icrc", "count", Up, true},
	NICLinkIntegrity:      {"nic_link_integrity", "count", Up, true},
	NICSeqErrors:          {"nic_seq_errors", "count", Up, true},
	NICOutOfSequence:      {"nic_out_of_sequence", "count", Up, true},
	NICAckTimeouts:        {"nic_ack_timeouts", "count", Up, true},
	NICRetransmits:        {"nic_retransmits", "count", Up, true},
	NICRetransmitBytes:    {"nic_retransmit_bytes", "B", Up, true},
	NICRNR:                {"nic_rnr", "count", Up, true},
	NICTransmitWait:       {"nic_transmit_wait", "ticks", Up, true},
	NICECNReceived:        {"nic_ecn_received", "count", Up, true},
	NICCNPSent:            {"nic_cnp_sent", "count", Up, true},
	NICCNPHandled:         {"nic_cnp_handled", "count", Up, true},
	NICPauseRx:            {"nic_pause_rx", "s/s", Up, true},
	NICPauseTx:            {"nic_pause_tx", "s/s", Up, true},
	NICPCIeStall:          {"nic_pcie_stall", "s/s", Up, true},
	NICRemoteUnresponsive: {"nic_remote_unresponsive", "count", Up, true},
	NICRemoteImpaired:     {"nic_remote_impaired", "count", Up, true},
	NICDiscards:           {"nic_discards", "count", Up, true},
	NICCQEErrors:          {"nic_cqe_errors", "count", Up, true},
	NICPauseStorms:        {"nic_pause_storms", "count", Up, true},
	NICModel:              {"nic_model", "info", Context, false},
	NICPath:               {"nic_path", "info", Context, false},

	SwitchPortState:        {"switch_port_state", "enum", Down, false},
	SwitchPortRate:         {"switch_port_rate", "B/s", Down, false},
	SwitchPortTx:           {"switch_port_tx", "B/s", Context, true},
	SwitchPortTransmitWait: {"switch_port_transmit_wait", "ticks", Up, true},
	SwitchPortECNMarked:    {"switch_port_ecn_marked", "count", Up, true},
	SwitchPortDiscards:     {"switch_port_discards", "count", Up, true},
	SwitchPortErrors:       {"switch_port_errors", "count", Up, true},
	SwitchPortPauseRx:      {"switch_port_pause_rx", "s/s", Up, true},
	SwitchPortPauseTx:      {"switch_port_pause_tx", "s/s", Up, true},
	SwitchUplink:           {"switch_uplink", "info", Context, false},
	SwitchLink:             {"switch_link", "info", Context, false},

	HostCPUPressure: {"host_cpu_pressure", "s/s", Up, true},
	HostIOPressure:  {"host_io_pressure", "s/s", Up, true},
	HostMemPressure: {"host_mem_pressure", "s/s", Up, true},
	HostIRQPressure: {"host_irq_pressure", "s/s", Up, true},
	HostLoad:        {"host_load", "number", Up, false},
	HostOOMKills:    {"host_oom_kills", "count", Up, true},
	HostBootTime:    {"host_boot_time", "Unix s", Context, false},
	HostKernel:      {"host_kernel", "info", Context, false},
	HostNetRx:       {"host_net_rx", "B/s", Context, true},
	HostNetTx:       {"host_net_tx", "B/s", Context, true},

	JobOnNode:   {"job_on_node", "info", Context, false},
	JobState:    {"job_state", "info", Context, false},
	NodeState:   {"node_state", "info", Context, false},
	HostParent:  {"host_parent", "info", Context, false},
	HealthEvent: {"health_event", "count", Context, false},
	TargetUp:    {"target_up", "flag", Down, false},
	ScrapeOK:    {"scrape_ok", "flag", Down, false},
	Custom:      {"custom", "", Context, false},
}

// Meta describes the signal.
func (id ID) Meta() Meta { return metaTable[id] }

// String is the signal's name, such as "nic_rate".
func (id ID) String() string { return metaTable[id].Name }

// ParseID finds a signal by name.
func ParseID(name string) (ID, bool) {
	for id := None + 1; id < numIDs; id++ {
		if metaTable[id].Name == name {
			return id, true
		}
	}
	return None, false
}
