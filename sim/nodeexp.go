package sim

import (
	"math"
	"strconv"
)

type nicRefs struct {
	state, phys, rate, tx, rx, info                        ref
	counts                                                 [nCounters]ref
	pauseTx, pauseRx, stall, portInfo, ethInfo             ref
	netTx, netRx                                           ref
	efaTx, efaRx, efaRetrans, efaTimeouts, efaUnresponsive ref
	efaImpaired, efaDrops, rdmaTx, rdmaRx                  ref
}

type hostRefs struct {
	cpu, io, ioStalled, mem, load, boot, uname, oom, textErr, ibOK ref
}

// nicSeries are the counters of the infiniband collector; hw ones need
// node_exporter 1.11 and the hardware.
func nicSeries(k int) (name string, hw bool) {
	switch k {
	case cLinkDowned:
		return "node_infiniband_link_downed_total", false
	case cLinkRecovery:
		return "node_infiniband_link_error_recovery_total", false
	case cSymbol:
		return "node_infiniband_symbol_error_total", false
	case cRxErrors:
		return "node_infiniband_port_errors_received_total", false
	case cLinkIntegrity:
		return "node_infiniband_local_link_integrity_errors_total", false
	case cXmitDiscards:
		return "node_infiniband_port_discards_transmitted_total", false
	case cXmitWait:
		return "node_infiniband_port_transmit_wait_total", false
	case cOutOfSequence:
		return "node_infiniband_out_of_sequence_packets_received_total", true
	case cSeqErr:
		return "node_infiniband_packet_sequence_errors_total", true
	case cAckTimeout:
		return "node_infiniband_local_ack_timeout_errors_total", true
	case cAdpRetrans:
		return "node_infiniband_roce_adp_retransmits_total", true
	case cICRC:
		return "node_infiniband_rx_icrc_encapsulated_errors_total", true
	case cRNR:
		return "node_infiniband_rnr_nak_retry_packets_received_total", true
	case cECN:
		return "node_infiniband_np_ecn_marked_roce_packets_received_total", true
	case cCNPSent:
		return "node_infiniband_np_cnp_packets_sent_total", true
	case cCNPHandled:
		return "node_infiniband_rp_cnp_packets_handled_total", true
	}
	return "", false
}

// advance integrates the pressures up to t.
func (h *Host) advance(t int64) {
	dt := float64(t-h.advanced) / 1000
	if dt <= 0 {
		return
	}
	h.advanced = t
	n := factor(h.rng, 0.1)
	h.cpuSec += h.CPU * dt * n
	h.ioSec += h.IO * dt * n
	h.memSec += h.Memory * dt * n
}

func (h *Host) emitNode(t *target, now int64) {
	d := h.c.opt.Dialect
	if d.NodeExporter {
		h.advance(now)
		h.emitHost(t)
		for _, n := range h.NICs {
			n.advance(now)
			if n.host.c.shape.Fabric == FabricEFA {
				n.emitEFA(t, now)
			} else {
				n.emitIB(t, now)
			}
		}
		if h.disk != nil {
			h.disk.advance(now)
			h.disk.emitIB(t, now)
		}
	}
	h.emitFiles(t)
}

func (h *Host) emitHost(t *target) {
	r := &h.refs
	t.put(&r.cpu, h.cpuSec, "node_pressure_cpu_waiting_seconds_total")
	t.put(&r.io, h.ioSec, "node_pressure_io_waiting_seconds_total")
	t.put(&r.ioStalled, h.ioSec*0.8, "node_pressure_io_stalled_seconds_total")
	t.put(&r.mem, h.memSec, "node_pressure_memory_waiting_seconds_total")
	t.put(&r.load, h.Load*factor(h.rng, 0.1), "node_load1")
	t.put(&r.boot, float64(h.boot/1000), "node_boot_time_seconds")
	t.put(&r.oom, h.oom, "node_vmstat_oom_kill")
	t.put(&r.textErr, 0, "node_textfile_scrape_error")
	t.put(&r.ibOK, 1, "node_scrape_collector_success", "collector", "infiniband")
	t.put(&r.uname, 1, "node_uname_info", "domainname", "(none)", "machine", "x86_64", "nodename", h.c.opt.Dialect.node(h.Name), "release", h.Release, "sysname", "Linux", "version", "#53-Ubuntu SMP")
}

func (n *NIC) emitIB(t *target, now int64) {
	r := &n.refs
	c := n.host.c
	hca := "MT4129"
	if n.Index < 0 {
		hca = "MT4119"
	}
	t.put(&r.state, float64(n.State), "node_infiniband_state_id", "device", n.Name, "port", "1")
	t.put(&r.phys, float64(n.Phys), "node_infiniband_physical_state_id", "device", n.Name, "port", "1")
	t.put(&r.rate, n.Rate, "node_infiniband_rate_bytes_per_second", "device", n.Name, "port", "1")
	t.put(&r.tx, math.Floor(n.bytes(now)), "node_infiniband_port_data_transmitted_bytes_total", "device", n.Name, "port", "1")
	t.put(&r.rx, math.Floor(n.bytes(now)-n.otherTx+n.otherRx), "node_infiniband_port_data_received_bytes_total", "device", n.Name, "port", "1")
	t.put(&r.info, 1, "node_infiniband_info", "board_id", n.card, "device", n.Name, "firmware_version", "28.42.1000", "hca_type", hca)
	roce := c.shape.Fabric == FabricToR
	for k := range cPauseRx {
		name, hw := nicSeries(k)
		if hw && (!c.opt.Dialect.HWCounters || n.Index < 0 || !roce && k >= cECN) || roce && k == cXmitWait {
			continue
		}
		t.put(&r.counts[k], math.Floor(n.counts[k]), name, "device", n.Name, "port", "1")
	}
	if roce {
		t.put(&r.counts[cCarrierDown], n.counts[cCarrierDown], "node_network_carrier_down_changes_total", "device", n.netdev)
		if c.opt.Dialect.Pause == "ethtool" {
			n.emitEthtool(t)
		}
	}
}

func (n *NIC) emitEthtool(t *target) {
	r := &n.refs
	t.put(&r.pauseRx, math.Floor(n.counts[cPauseRx]), "node_ethtool_received_prio3_pause_duration", "device", n.netdev)
	t.put(&r.pauseTx, math.Floor(n.counts[cPauseTx]), "node_ethtool_transmitted_prio3_pause_duration", "device", n.netdev)
	t.put(&r.stall, math.Floor(n.counts[cPCIeStall]), "node_ethtool_outbound_pci_stalled_wr", "device", n.netdev)
	t.put(&r.ethInfo, 1, "node_ethtool_info", "bus_info", n.pci(), "device", n.netdev, "driver", "mlx5_core", "firmware_version", "28.42.1000")
}

func (n *NIC) pci() string { return "0000:" + strconv.FormatInt(int64(0x1a+16*n.Index), 16) + ":00.0" }

// emitRDMA is rdma_exporter: data in words of four bytes, pause in µs.
func (h *Host) emitRDMA(t *target, now int64) {
	for _, n := range h.NICs {
		n.advance(now)
		r := &n.refs
		t.put(&r.portInfo, 1, "rdma_port_info", "device", n.Name, "port", "1", "netdev", n.netdev, "link_layer", "Ethernet", "state", "ACTIVE", "phys_state", "LinkUp",
			"link_width", "4X", "link_speed", "100 Gb/sec", "pci_addr", n.pci(), "is_vf", "false", "pf_device", "")
		t.put(&r.rdmaTx, math.Floor(n.bytes(now)/4), "rdma_port_xmit_data_total", "device", n.Name, "port", "1")
		t.put(&r.rdmaRx, math.Floor(n.bytes(now)/4), "rdma_port_rcv_data_total", "device", n.Name, "port", "1")
		t.put(&r.pauseRx, math.Floor(n.counts[cPauseRx]), "rdma_roce_pfc_pause_duration_total", "device", n.Name, "port", "1", "netdev", n.netdev, "direction", "rx", "priority", "3")
		t.put(&r.pauseTx, math.Floor(n.counts[cPauseTx]), "rdma_roce_pfc_pause_duration_total", "device", n.Name, "port", "1", "netdev", n.netdev, "direction", "tx", "priority", "3")
		t.put(&r.stall, n.counts[cPCIeStall]/1e6, "rdma_pcie_outbound_stalled_seconds_total", "device", n.Name, "port", "1")
	}
}

// emitEFA is the AWS exporter. The port always says ACTIVE, so it says nothing.
func (n *NIC) emitEFA(t *target, now int64) {
	r := &n.refs
	b := n.bytes(now)
	if n.fallsBackToIP {
		if n.Index == 0 {
			all := math.Floor(b * float64(len(n.host.NICs)))
			t.put(&r.netTx, all, "node_network_transmit_bytes_total", "device", "eth0")
			t.put(&r.netRx, all, "node_network_receive_bytes_total", "device", "eth0")
		}
		b = 0
	}
	t.put(&r.efaTx, math.Floor(b), "node_amazonefa_tx_bytes", "device", n.Name, "port", "1")
	t.put(&r.efaRx, math.Floor(b), "node_amazonefa_rx_bytes", "device", n.Name, "port", "1")
	t.put(&r.efaRetrans, math.Floor(n.counts[cRetransBytes]), "node_amazonefa_retrans_bytes", "device", n.Name, "port", "1")
	t.put(&r.efaTimeouts, math.Floor(n.counts[cRetransTimeout]), "node_amazonefa_retrans_timeout_events", "device", n.Name, "port", "1")
	t.put(&r.efaUnresponsive, math.Floor(n.counts[cUnresponsive]), "node_amazonefa_unresponsive_remote_events", "device", n.Name, "port", "1")
	t.put(&r.efaImpaired, 0, "node_amazonefa_impaired_remote_conn_events", "device", n.Name, "port", "1")
	t.put(&r.efaDrops, math.Floor(n.counts[cXmitDiscards]), "node_amazonefa_rx_drops", "device", n.Name, "port", "1")
}
