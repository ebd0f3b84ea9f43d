package signals

// ID is a canonical quantity. Units are base units: seconds, bytes, bytes per
// second, ratio 0..1, watts, degrees Celsius, hertz. The row of a counter
// holds its rate per second.
type ID uint8

// The signals. The order is that of the catalogue page; numbers are not
// stored anywhere.
const (
	None ID = iota

	// NCCL, per communicator member and kind of operation.
	CollExecTime     // s, mean; contains waiting for peers
	CollBusBandwidth // B/s
	CollTransferTime // s, an exported minimum: near the pure transfer
	P2PExecTime      // s
	P2PBusBandwidth  // B/s
	CollOps          // operations finished, counter
	CollEnqueued     // operations enqueued, counter
	CollStarted      // operations whose kernel started, counter
	CollSequence     // last sequence number, gauge that counts
	CollInflight     // unfinished operations, by state (Entity.Detail)
	CollInflightAge  // s, of the oldest unfinished operation
	CollInflightPeer // rank of the peer of the oldest unfinished Send or Recv, by state
	ProxyWait        // s/s per state (Entity.Detail) and peer
	ProxySteps       // network steps that wait now, per state (Entity.Detail) and peer
	InspectorAge     // s since a GPU's Inspector file changed
	StepCount        // counter
	StepTime         // s
	ProcessUp        // 1 while a training process exists, 0 after it died; pid in Entity.Detail
	ProcessStopped   // 1 while a signal or a debugger stops it; pid in Entity.Detail
	RASMissing       // 1 for a rank that RAS does not reach, how in Entity.Detail
	RASCount         // operations that a rank launched, as RAS counts them
	CollBytes        // B/s moved by finished operations, counter
	CollBusy         // s/s inside operations, counter; timing source in Entity.Detail

	// GPU.
	GPUSMClock
	GPUMemClock
	GPUClockReasons // bit set
	GPUThrottleTime // s/s per cause (Entity.Detail)
	GPUClockEvents  // events in the exporter's sliding window, cause in Entity.Detail
	GPUTemp
	GPUMemTemp
	GPUPower
	GPUUtil
	GPUSMActive
	GPUTensorActive
	GPUDRAMActive
	GPUMemUsed
	GPUXid      // last code, sticky
	GPUXidCount // count in the exporter's sliding window, code in Entity.Detail
	GPURowRemapFailure
	GPURemappedRows
	GPUECC
	GPUPCIeGen
	GPUPCIeWidth
	GPUPCIeReplays
	NVLinkErrors // per kind (Entity.Detail) and link (Entity.Port)
	NVLinkRate

	// NIC port.
	NICState     // 1 down, 2 init, 3 armed, 4 active
	NICPhysState // 2 polling, 3 disabled, 5 link up, 6 error recovery
	NICRate      // B/s, negotiated
	NICTx
	NICRx
	NICLinkDowned
	NICLinkRecovery
	NICCarrierDown
	NICSymbolErrors
	NICRxErrors
	NICICRC
	NICLinkIntegrity
	NICSeqErrors
	NICOutOfSequence
	NICAckTimeouts
	NICRetransmits
	NICRetransmitBytes
	NICRNR
	NICTransmitWait // ticks/s
	NICECNReceived
	NICCNPSent
	NICCNPHandled
	NICPauseRx // s/s
	NICPauseTx // s/s
	NICPCIeStall
	NICRemoteUnresponsive
	NICRemoteImpaired
	NICDiscards
	NICCQEErrors   // completions with an error, kind in Entity.Detail
	NICPauseStorms // storms that the driver saw, severity in Entity.Detail
	NICModel       // 1, board or card model in Entity.Detail: NICs are peers within one model
	NICPath        // 1, PCI address in Entity.Detail, netdev in Entity.Peer, link layer in Entity.Op

	// Switch port. Entity.Device is the switch.
	SwitchPortState
	SwitchPortRate
	SwitchPortTx
	SwitchPortTransmitWait
	SwitchPortECNMarked
	SwitchPortDiscards
	SwitchPortErrors
	SwitchPortPauseRx
	SwitchPortPauseTx
	SwitchUplink // 1 per link to another switch; Entity.Peer is the other end
	SwitchLink   // 1 per link to a host; Entity.Peer is "host device" as the switch names it

	// Host.
	HostCPUPressure
	HostIOPressure
	HostMemPressure
	HostIRQPressure
	HostLoad
	HostOOMKills
	HostBootTime // Unix s
	HostKernel   // 1, release in Entity.Detail
	HostNetRx    // B/s per netdev (Entity.Device), sockets only
	HostNetTx

	// Relations and the state of the inputs.
	JobOnNode   // 1 per (job, host)
	JobState    // 1, state in Entity.Detail
	NodeState   // 1, drained or maintenance in Entity.Detail
	HostParent  // 1; Entity.Detail is rack, domain, pod or leaf, Entity.Peer its name
	HealthEvent // verdict of another agent, evidence only; name in Entity.Detail
	TargetUp    // 0 or 1 per (host, exporter in Entity.Detail)
	ScrapeOK    // 0 or 1 per (host, collector in Entity.Detail)

	// Custom is a signal of the user's own; its name is in Entity.Detail.
	Custom

	numIDs
)

// Count is one more than the largest ID, for arrays indexed by ID.
const Count = int(numIDs)

// Direction says which way a signal moves when things get worse.
type Direction int8

// Directions. Context signals are evidence only: neither way is bad alone.
const (
	Context Direction = 0
	Up      Direction = 1
	Down    Direction = -1
)
