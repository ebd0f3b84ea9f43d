package diagnosis

// cordonAdvice is the tail of a next step that recommends to take a host out.
// It is cut off when too many hosts are suspect at once.
const cordonAdvice = "; keep new jobs off the host until then"

// advice is what every verdict of a class has in common.
type advice struct {
	severity Severity
	owner    Owner
	next     string
	command  string
}

// classAdvice returns owner, usual severity, next step and command of a class.
// Commands carry placeholders in capitals only where no suspect can be filled
// in.
func classAdvice(class Class) advice {
	switch class {
	case LinkDown:
		return advice{Critical, Infrastructure, "look at both ends of the cable, reseat or replace transceiver and cable, take the port and its cage twin out together, restart the job without the host" + cordonAdvice, "ibstat DEVICE; mlxlink -d DEVICE -m"}
	case LinkFlap:
		return advice{Info, Infrastructure, "read error counters and bit error rate at both ends, replace the cable at the next pause of the job; compare NIC bytes afterwards if the job runs on", "mlxlink -d DEVICE -m -c"}
	case NICDegraded:
		return advice{Critical, Infrastructure, "reseat the cable at both ends, check the switch port, retrain the link, measure with a pair bandwidth test" + cordonAdvice, "mlxlink -d DEVICE -m -c; ib_write_bw -d DEVICE PEER"}
	case NICContention:
		return advice{Warning, Workload, "find the other traffic on this card (storage, second tenant, second job) and move it to the storage card; this is no hardware case", "ss -tinp; rdma statistic qp show link DEVICE/1"}
	case NICUnusedAfterFlap:
		return advice{Warning, Workload, "restart the job: NCCL does not return to a NIC that came back; no repair is needed for this", ""}
	case RailMiscabled:
		return advice{Warning, Infrastructure, "swap the cables back at the next pause; until then the job works with less bandwidth", "iblinkinfo"}
	case LeafDegraded:
		return advice{Critical, Infrastructure, "check the switch: ports, uplinks, firmware, power; move jobs off it", "iblinkinfo; perfquery -x LID"}
	case RailDegraded:
		return advice{Critical, Infrastructure, "find the switch of this rail and check ports, uplinks, firmware and power; configure a topology source to have it named", "iblinkinfo"}
	case LeafRestart:
		return advice{Info, Infrastructure, "none if the restart was planned, otherwise read the switch log", ""}
	case UplinkCongestion:
		return advice{Warning, Infrastructure, "check ECMP hashing and queue pairs per connection; restarting the job may spread the flows anew", ""}
	case RoCECongestion:
		return advice{Warning, Infrastructure, "look at job placement, incast and congestion-control settings; no host is to blame", ""}
	case RoCELoss:
		return advice{Critical, Infrastructure, "check QoS and PFC settings of the switches and discards per queue", "ethtool -S NETDEV | grep -E 'discard|pause'; mlnx_qos -i NETDEV"}
	case PFCStorm:
		return advice{Critical, Infrastructure, "look at this host: PCIe, buffers, memory, firmware; isolate it first, because a pause storm spreads" + cordonAdvice, "ethtool -S NETDEV | grep -E 'pause|stalled'; lspci -vv -s PCI | grep LnkSta"}
	case FabricCongestion:
		return advice{Warning, Infrastructure, "nothing to do on the hosts; look at placement, ask the provider", ""}
	case HostPathDegraded:
		return advice{Critical, Platform, "check the peer-memory module, ACS, IOMMU, relaxed ordering and driver versions; compare the topology dump with that of a good host" + cordonAdvice, "lsmod | grep -E 'nvidia_peermem|nv_peer'; nvidia-smi topo -m"}
	case ConfigSuspected:
		return advice{Warning, Platform, "check the job's environment variables, plugin loading and security groups; no host is to blame", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET"}
	case NodeSuspect:
		return advice{Warning, Infrastructure, "run an active pair test between this host and two known-good ones" + cordonAdvice, "all_reduce_perf -b 256M -e 256M -g 8"}
	case NodeRestart:
		return advice{Info, Platform, "find out why the host restarted if that was not planned", "last -x reboot | head; journalctl -b -1 -e"}
	case PCIeDegraded:
		return advice{Critical, Infrastructure, "reseat, check the slot and the kernel message about limited PCIe bandwidth, reboot once, then replace" + cordonAdvice, "dmesg | grep -i 'limited.*bandwidth'; nvidia-smi -q | grep -A4 'Link Width'"}
	case NVLinkDegraded:
		return advice{Warning, Infrastructure, "reset the GPU at the next pause; replace it if this repeats", "nvidia-smi nvlink -e; nvidia-smi nvlink -s"}
	case NVLinkDomainFault:
		return advice{Critical, Infrastructure, "check fabric manager and fabric status of the domain and its NVSwitch trays, then drain the domain", "nvidia-smi -q | grep -A3 Fabric; systemctl status nvidia-fabricmanager"}
	case GPUThrottle:
		return advice{Warning, Infrastructure, "check cooling, power supply and memory temperature of this GPU; throttling alone is no reason to drain the host", "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"}
	case ThermalGroup:
		return advice{Warning, Infrastructure, "check the cooling of the rack", ""}
	case GPUFault:
		return advice{Critical, Infrastructure, "check the kernel log for Xid messages and act by code" + cordonAdvice, "dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER"}
	case StragglerCompute:
		return advice{Warning, OwnerUnknown, "", ""}
	case RotatingStraggler:
		return advice{Info, Workload, "run garbage collection on a schedule, pack sequences by length, balance experts; no host is to blame", ""}
	case RoleImbalance:
		return advice{Recorded, Workload, "move layers between the pipeline stages if the loss matters; nothing is broken", ""}
	case ComputeCommContention:
		return advice{Warning, Workload, "look at the overlap settings, the number of NCCL channels and CUDA_DEVICE_MAX_CONNECTIONS; no host is to blame", ""}
	case CollectiveStall:
		return advice{Critical, OwnerUnknown, "before the watchdog kills the job collect RAS status twice, a stack dump of every rank and the flight recorder", "printf 'SET FORMAT json\\nVERBOSE STATUS\\n' | nc localhost 28028; py-spy dump --pid PID"}
	case InefficientCollective:
		return advice{Info, Workload, "", ""}
	case InitStall:
		return advice{Warning, OwnerUnknown, "look at the log of the job's first rank: rendezvous, name resolution, loading of the checkpoint", ""}
	case TelemetryGap:
		return advice{Info, Platform, "look at the exporter on the hosts that do not report", "systemctl status prometheus-node-exporter dcgm-exporter"}
	}
	return advice{Warning, OwnerUnknown, "", ""}
}

// newHypothesis returns a hypothesis with what its class has in common.
func newHypothesis(class Class, reason string) Hypothesis {
	a := classAdvice(class)
	return Hypothesis{Verdict: Verdict{
		Class: class, Reason: reason, Severity: a.severity, Owner: a.owner, Next: a.next, Command: a.command,
	}}
}
