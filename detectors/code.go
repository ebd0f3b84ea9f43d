package detectors

// Codes of facts, counters and missing inputs. A code says what was seen, in
// one word that diagnosis can ask for; it never says who is guilty.
const (
	// NIC ports.
	CodePortNotActive = "port_not_active" // Fact; Value is the state, Count the seconds so far
	CodePortDowntime  = "port_downtime"   // Event; Value is the seconds down in the last 10 min, Count the times in the last hour
	CodeLinkDowned    = "link_downed"     // Event; Value is the events in the last 10 min, Count those in the last hour
	CodeLinkRecovery  = "link_recovery"   // Event; as before
	CodeRateBelow     = "rate_below_peers"

	CodeBitErrors       = "bit_errors"      // Errors: symbol, receive, icrc, link integrity
	CodePacketLoss      = "packet_loss"     // Errors: out of sequence, sent again for a sequence error
	CodeRetransmissions = "retransmissions" // Errors: share of bytes, timeouts
	CodeRemoteSilent    = "remote_silent"   // Errors: the other end does not answer
	CodeDiscards        = "discards"        // Errors

	CodeTransmitWait = "transmit_wait" // Congestion
	CodeECN          = "ecn"           // Congestion: ECN marks and CNPs
	CodePauseRx      = "pause_rx"      // Congestion: the network pushes back
	CodePauseTx      = "pause_tx"      // Congestion: this host does not absorb
	CodePCIeStall    = "pcie_stall"    // Congestion: the NIC waits for PCIe

	CodeWireWait = "wire_wait" // PeerOutlier: network steps wait on one link of a communicator; the sender, and the peer's rank in Entity.Peer

	CodeTrafficAbove = "traffic_above" // PeerOutlier: share of own past above that of sister ports
	CodeTrafficGone  = "traffic_gone"  // PeerOutlier: near zero while sister ports carry

	// Switches.
	CodeUplinkUneven   = "uplink_uneven" // PeerOutlier
	CodeUplinksLost    = "uplinks_lost"  // Fact; Value links now, Expected before
	CodeSwitchECN      = "switch_ecn"
	CodeSwitchDiscards = "switch_discards"
	CodeSwitchErrors   = "switch_errors"
	CodeSwitchWait     = "switch_wait"
	CodeSwitchPortDown = "switch_port_down"

	// GPUs.
	CodeClockBelow     = "clock_below_peers"  // PeerOutlier
	CodeThrottleReason = "throttle_reason"    // Fact; Value is the set of bits that peers lack
	CodeThrottleTime   = "throttle_time"      // PeerOutlier; cause in Entity.Detail
	CodeHot            = "hot"                // PeerOutlier
	CodeXid            = "xid"                // Event; Value is the code
	CodeRowRemap       = "row_remap_failure"  // Fact
	CodeECC            = "ecc_uncorrectable"  // Event
	CodeGPUVanished    = "gpu_vanished"       // Vanished
	CodePCIeWidth      = "pcie_width"         // PeerOutlier
	CodePCIeGen        = "pcie_generation"    // PeerOutlier
	CodePCIeReplays    = "pcie_replays"       // Errors
	CodeInsideBelow    = "inside_below_peers" // PeerOutlier: bandwidth inside a host, over a quarter of an hour
	CodeNVLink         = "nvlink_errors"      // Event; link in Entity.Port, kind in Entity.Detail

	// Hosts.
	CodeCPUPressure  = "cpu_pressure" // PeerOutlier, as the four below
	CodeIOPressure   = "io_pressure"
	CodeMemPressure  = "memory_pressure"
	CodeIRQPressure  = "irq_pressure"
	CodeLoad         = "load"
	CodeOOM          = "oom_kill"          // Event
	CodeBoot         = "boot_time_changed" // Event
	CodeDriverReload = "driver_reload"     // Event: all NIC counters of a host began anew
	CodeKernel       = "kernel_differs"    // PeerOutlier; release in Entity.Detail
	CodeDrained      = "drained"           // Fact: out of service by decision

	// Jobs.
	CodeBelowShape     = "below_shape"     // BaselineShape: a job far below others of its shape
	CodeAtShape        = "at_shape"        // BaselineShape: a job of that shape that is as fast as usual
	CodeBelowLinks     = "below_links"     // BelowPossible, as those below: slower than links and shape allow; Share of the job's time
	CodeSingleRail     = "single_rail"     // one NIC of Peers carries it; device in Entity.Detail
	CodeSmallMessages  = "small_messages"  // latency rules; Score is the size of a message in bytes, 0 unknown
	CodeOtherAlgorithm = "other_algorithm" // Peers jobs of the shape, faster with the algorithm in Entity.Detail
	CodeBelowBest      = "below_best"      // Peers jobs of the shape, the best of which is faster

	CodeSocketsOnly = "sockets_only" // Fact: a job across hosts whose bytes go through sockets, not through its NICs

	// Inputs.
	CodeExporterDown = "exporter_down" // Missing; exporter in Entity.Detail
	CodeZeroRows     = "zero_rows"     // Missing
	CodeSourceDown   = "source_down"   // Missing
	CodeStaleFile    = "stale_file"    // Missing
)
