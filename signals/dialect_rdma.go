package signals

// words is the factor of counters that the kernel keeps in 4-byte words.
const words = 4

// efa is the node exporter for AWS's Elastic Fabric Adapter. The driver says
// ACTIVE whatever happens, so it offers no state.
func efa() Dialect {
	const p = "node_amazonefa_"
	const on = "AWS EFA node exporter"
	const srd = "AWS EFA node exporter on Nitro v4 or later"
	c := func(name string, id ID, detail, on string) Rule {
		return Rule{Metric: p + name, Signal: id, Type: Counter, Detail: detail, Enable: on}
	}
	return Dialect{
		Name: "efa", Exporter: "efa", Family: "infiniband", Rank: 10, Kind: KindNIC, NonNegative: true, Steady: true,
		About:   "AWS 3.efa-node-exporter; counters without _total",
		Columns: Columns{Host: "nodename|node|instance", Device: "device", Port: "port"},
		Rules: []Rule{
			c("tx_bytes", NICTx, "", on), c("rx_bytes", NICRx, "", on), c("rx_drops", NICDiscards, "rx", on),
			c("retrans_bytes", NICRetransmitBytes, "", srd), c("retrans_pkts", NICRetransmits, "", srd),
			c("retrans_timeout_events", NICAckTimeouts, "", srd), c("impaired_remote_conn_events", NICRemoteImpaired, "", srd),
			c("unresponsive_remote_events", NICRemoteUnresponsive, "", srd),
			c("rdma_read_wr_err", NICCQEErrors, "rdma_read", on), c("rdma_write_wr_err", NICCQEErrors, "rdma_write", on),
		},
	}
}

// efaCloudWatch is the CloudWatch agent, which exports what was added since
// its last sample.
func efaCloudWatch() Dialect {
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: "efa_" + name, Signal: id, Type: Increment, Detail: detail, Enable: "CloudWatch agent's EFA metrics"}
	}
	return Dialect{
		Name: "efa-cloudwatch", Exporter: "cloudwatch-agent", Family: "infiniband", Rank: 20, Kind: KindNIC, NonNegative: true,
		About:   "CloudWatch agent: increments, not counters",
		Columns: Columns{Host: "NodeName|nodename|node|instance", Device: "device|EniId|eniId", Port: "port"},
		Rules: []Rule{
			c("tx_bytes", NICTx, ""), c("rx_bytes", NICRx, ""), c("rx_dropped", NICDiscards, "rx"), c("rx_drops", NICDiscards, "rx"),
			c("retrans_bytes", NICRetransmitBytes, ""), c("retrans_pkts", NICRetransmits, ""),
		},
	}
}

// rdmaExporter is yuuki/rdma_exporter: the kernel's own names, data in words.
func rdmaExporter() Dialect {
	const p, on = "rdma_", "rdma_exporter"
	const mlx = "rdma_exporter on a physical mlx5 port"
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: p + name + "_total", Signal: id, Type: Counter, Detail: detail, Saturates: true, Enable: on}
	}
	data := func(name string, id ID) Rule {
		r := c(name, id, "")
		r.Scale = words
		r.Note = "4-byte words"
		return r
	}
	pause := func(direction string, id ID) Rule {
		return Rule{
			Metric: p + "roce_pfc_pause_duration_total", Where: []string{"direction=" + direction}, Signal: id, Type: Counter, Scale: 1e-6,
			Detail: "prio{priority}", Enable: mlx, Note: "us; the rate is occupancy",
		}
	}
	return Dialect{
		Name: "rdma-exporter", Exporter: "rdma", Family: "rdma", Rank: 10, Kind: KindNIC, NonNegative: true, Steady: true,
		About: "yuuki/rdma_exporter", Where: []string{"device"}, Columns: Columns{Host: "nodename|node|hostname|instance", Device: "device", Port: "port"},
		Rules: []Rule{
			{
				Metric: p + "port_info", Signal: NICPath, Type: Info, Detail: "{pci_addr}", Columns: Columns{Peer: "netdev", Op: "link_layer"},
				Join: JoinNetdev, Enable: on,
			},
			data("port_xmit_data", NICTx), data("port_rcv_data", NICRx),
			c("port_xmit_wait", NICTransmitWait, ""), c("link_downed", NICLinkDowned, ""), c("link_error_recovery", NICLinkRecovery, ""),
			c("symbol_error", NICSymbolErrors, ""), c("port_rcv_errors", NICRxErrors, ""), c("port_xmit_discards", NICDiscards, "tx"),
			c("local_link_integrity_errors", NICLinkIntegrity, ""), c("out_of_sequence", NICOutOfSequence, ""),
			c("packet_seq_err", NICSeqErrors, ""), c("implied_nak_seq_err", NICSeqErrors, "implied_nak"), c("local_ack_timeout_err", NICAckTimeouts, ""),
			c("rnr_nak_retry_err", NICRNR, ""), c("out_of_buffer", NICDiscards, "out_of_buffer"), c("rx_icrc_encapsulated", NICICRC, ""),
			c("roce_adp_retrans", NICRetransmits, ""), c("roce_adp_retrans_to", NICRetransmits, "adp_timeout"),
			c("roce_slow_restart", NICRetransmits, "slow_restart"), c("roce_slow_restart_trans", NICRetransmits, "slow_restart_trans"),
			c("np_ecn_marked_roce_packets", NICECNReceived, ""), c("np_cnp_sent", NICCNPSent, ""), c("rp_cnp_handled", NICCNPHandled, ""),
			pause("rx", NICPauseRx), pause("tx", NICPauseTx),
			{Metric: p + "pcie_outbound_stalled_seconds_total", Signal: NICPCIeStall, Type: Counter, Enable: mlx},
			c("phy_link_down_events", NICLinkDowned, "phy"),
			{Metric: p + "netdev_pause_storm_events_total", Signal: NICPauseStorms, Type: Counter, Detail: "{severity}", Enable: mlx},
		},
	}
}

// oci is Oracle's rdma_counters_exporter: gauges although they count.
func oci() Dialect {
	const on = "OCI rdma_counters_exporter"
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: name, Signal: id, Type: CountingGauge, Detail: detail, Saturates: true, Enable: on}
	}
	data := c("ib_port_xmit_data", NICTx, "")
	data.Scale, data.Note = words, "4-byte words"
	return Dialect{
		Name: "oci-rdma", Exporter: "oci-rdma", Family: "rdma", Rank: 20, Kind: KindNIC, NonNegative: true, Steady: true,
		About: "OCI HPC rdma_counters_exporter (port 9500)", Where: []string{"interface"},
		Columns: Columns{Host: "hostname|instance", Device: "interface"},
		Rules: []Rule{
			{Metric: "ib_link_state", Signal: NICState, Values: map[float64]float64{0: 1, 1: 4}, Enable: on},
			c("rdma_out_of_sequence", NICOutOfSequence, ""), c("rdma_packet_seq_err", NICSeqErrors, ""), c("rdma_local_ack_timeout_err", NICAckTimeouts, ""),
			c("rdma_rx_icrc_encapsulated", NICICRC, ""), c("rdma_np_ecn_marked_roce_packets", NICECNReceived, ""), c("rdma_np_cnp_sent", NICCNPSent, ""),
			c("rdma_rp_cnp_handled", NICCNPHandled, ""), c("rdma_roce_adp_retrans", NICRetransmits, ""),
			c("rdma_roce_slow_restart", NICRetransmits, "slow_restart"), c("ib_symbol_error", NICSymbolErrors, ""),
			c("ib_link_downed", NICLinkDowned, ""), c("ib_link_error_recovery", NICLinkRecovery, ""), c("ib_port_xmit_wait", NICTransmitWait, ""), data,
		},
	}
}
