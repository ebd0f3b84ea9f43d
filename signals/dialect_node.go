package signals

const nodeColumns = "nodename|instance"

// nodeHost is node_exporter's host series: boot, pressure, memory.
func nodeHost() Dialect {
	const pressure = "kernel with PSI (psi=1); node_exporter's pressure collector"
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: "node_pressure_" + name + "_seconds_total", Signal: id, Type: Counter, Detail: detail, Enable: pressure}
	}
	return Dialect{
		Name: "node-host", Exporter: "node", Family: "host", Rank: 10, Kind: KindHost, NonNegative: true, Steady: true,
		About: "node_exporter: boot time, kernel, pressure, load, out of memory", Columns: Columns{Host: nodeColumns},
		Rules: []Rule{
			{Metric: "node_uname_info", Signal: HostKernel, Type: Info, Detail: "{release}", Join: JoinUname},
			{Metric: "node_boot_time_seconds", Signal: HostBootTime, Join: JoinBoot},
			c("cpu_waiting", HostCPUPressure, ""), c("io_waiting", HostIOPressure, ""), c("io_stalled", HostIOPressure, "stalled"),
			c("memory_waiting", HostMemPressure, ""), c("memory_stalled", HostMemPressure, "stalled"), c("irq_stalled", HostIRQPressure, ""),
			{Metric: "node_load1", Signal: HostLoad},
			{Metric: "node_vmstat_oom_kill", Signal: HostOOMKills, Type: CountingGauge},
			{Metric: "node_scrape_collector_success", Signal: ScrapeOK, Detail: "{collector}"},
		},
	}
}

// nodeTextfile is what node_exporter says about the files it serves.
func nodeTextfile() Dialect {
	const on = "node_exporter --collector.textfile.directory with the Inspector's or plugin's files"
	return Dialect{
		Name: "node-textfile", Exporter: "node", Family: "host", Rank: 10, Kind: KindHost,
		About: "node_exporter's textfile collector: the only clock of Inspector files", Columns: Columns{Host: nodeColumns},
		Rules: []Rule{
			{Metric: "node_textfile_mtime_seconds", Signal: InspectorAge, Join: JoinFile, Enable: on},
			{Metric: "node_textfile_scrape_error", Signal: ScrapeOK, Values: map[float64]float64{0: 1, 1: 0}, Detail: "textfile_content"},
		},
	}
}

// target is what Prometheus itself says about its targets.
func target() Dialect {
	return Dialect{
		Name: "prometheus", Exporter: "prometheus", Family: "host", Rank: 10, Kind: KindHost,
		About: "written by Prometheus for each scrape", Columns: Columns{Host: "nodename|instance"},
		Rules: []Rule{{Metric: "up", Signal: TargetUp, Detail: "{job}", Join: JoinUp}},
	}
}

// nodeInfiniband is node_exporter's infiniband collector, with the hw_counters
// of 1.11.0 and later. Data counters are bytes already.
func nodeInfiniband() Dialect {
	const p = "node_infiniband_"
	const hw = "node_exporter 1.11.0 or later (hw_counters)"
	g := func(name string, id ID) Rule { return Rule{Metric: p + name, Signal: id} }
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: p + name + "_total", Signal: id, Type: Counter, Detail: detail, Saturates: true}
	}
	h := func(name string, id ID, detail string) Rule { r := c(name, id, detail); r.Enable = hw; return r }
	return Dialect{
		Name: "node-infiniband", Exporter: "node", Family: "infiniband", Rank: 20, Kind: KindNIC, NonNegative: true, Steady: true,
		About: "node_exporter's infiniband collector (on by default)", Columns: Columns{Host: nodeColumns, Device: "device", Port: "port"},
		Rules: []Rule{
			{Metric: p + "info", Signal: NICModel, Type: Info, Detail: "{board_id|hca_type}"},
			g("state_id", NICState), g("physical_state_id", NICPhysState), g("rate_bytes_per_second", NICRate),
			c("port_data_received_bytes", NICRx, ""), c("port_data_transmitted_bytes", NICTx, ""),
			c("port_transmit_wait", NICTransmitWait, ""),
			c("link_downed", NICLinkDowned, ""), c("link_error_recovery", NICLinkRecovery, ""), c("symbol_error", NICSymbolErrors, ""),
			// Not here: remote physical errors are packets that were damaged elsewhere and
			// only marked on the way; relay and constraint errors are routes and keys.
			c("port_errors_received", NICRxErrors, ""),
			c("port_discards_received", NICDiscards, "rx"), c("port_discards_transmitted", NICDiscards, "tx"),
			c("local_link_integrity_errors", NICLinkIntegrity, ""), c("excessive_buffer_overrun_errors", NICLinkIntegrity, "buffer_overrun"),
			c("vl15_dropped", NICDiscards, "vl15"),
			h("local_ack_timeout_errors", NICAckTimeouts, ""), h("packet_sequence_errors", NICSeqErrors, ""),
			h("implied_nak_seq_errors", NICSeqErrors, "implied_nak"), h("out_of_sequence_packets_received", NICOutOfSequence, ""),
			h("duplicate_requests_packets", NICRetransmits, "duplicate_request"), h("rnr_nak_retry_packets_received", NICRNR, ""),
			h("out_of_buffer_drops", NICDiscards, "out_of_buffer"), h("rx_icrc_encapsulated_errors", NICICRC, ""),
			h("req_cqes_errors", NICCQEErrors, "req"), h("req_cqes_flush_errors", NICCQEErrors, "req_flush"),
			h("resp_cqes_errors", NICCQEErrors, "resp"), h("resp_cqes_flush_errors", NICCQEErrors, "resp_flush"),
			h("req_remote_access_errors", NICCQEErrors, "req_remote_access"), h("resp_remote_access_errors", NICCQEErrors, "resp_remote_access"),
			h("req_remote_invalid_request_errors", NICCQEErrors, "req_remote_invalid"), h("resp_local_length_errors", NICCQEErrors, "resp_local_length"),
			h("np_cnp_packets_sent", NICCNPSent, ""), h("np_ecn_marked_roce_packets_received", NICECNReceived, ""),
			h("rp_cnp_packets_handled", NICCNPHandled, ""), h("rp_cnp_ignored_packets_received", NICCNPHandled, "ignored"),
			h("roce_adp_retransmits", NICRetransmits, ""), h("roce_adp_retransmits_timeout", NICRetransmits, "adp_timeout"),
			h("roce_slow_restart_used", NICRetransmits, "slow_restart"), h("roce_slow_restart_cnps", NICRetransmits, "slow_restart_cnps"),
			h("roce_slow_restart", NICRetransmits, "slow_restart_trans"),
		},
	}
}

const ethtoolOn = "node_exporter --collector.ethtool"

// nodeEthtool is node_exporter's ethtool collector with mlx5's names. Bits that the
// code of the link corrected (rx_corrected_bits_phy) are no errors: a healthy lane of
// 50 Gb/s and more corrects thousands a second, and ports differ a hundredfold.
func nodeEthtool() Dialect {
	const p = "node_ethtool_"
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: p + name, Signal: id, Type: CountingGauge, Detail: detail, Enable: ethtoolOn}
	}
	pause := func(name string, id ID) Rule {
		return Rule{
			Metric: p + name + `_prio([0-7])_pause_duration`, Pattern: true, Signal: id, Type: CountingGauge, Scale: 1e-6, Detail: "prio$1",
			Enable: ethtoolOn, Note: "us; the rate is occupancy",
		}
	}
	return Dialect{
		Name: "node-ethtool", Exporter: "node", Family: "rdma", Rank: 30, Kind: KindNIC, NonNegative: true, Steady: true,
		About: "node_exporter's ethtool collector (off by default), mlx5 driver", Columns: Columns{Host: nodeColumns, Device: "device"},
		Rules: []Rule{
			{Metric: p + "info", Signal: NICPath, Type: Info, Detail: "{bus_info}", Columns: Columns{Peer: "device"}, Join: JoinNetdev, Enable: ethtoolOn},
			pause("received", NICPauseRx), pause("transmitted", NICPauseTx),
			c("received_discards_phy", NICDiscards, "rx"), c("received_symbol_err_phy", NICSymbolErrors, ""),
			c("link_down_events_phy", NICLinkDowned, ""),
			c("transmitted_pause_storm_warning_events", NICPauseStorms, ""),
			{
				Metric: p + "outbound_pci_stalled_wr", Signal: NICPCIeStall, Scale: 0.01, Max: 101, Enable: ethtoolOn,
				Note: "mlx5: percent of the last second in which writes were stalled",
			},
		},
	}
}

// nodeNetclass tells about carriers of network devices.
func nodeNetclass() Dialect {
	return Dialect{
		Name: "node-netclass", Exporter: "node", Family: "netdev", Rank: 40, Kind: KindNIC, NonNegative: true,
		About: "node_exporter's netclass collector", Columns: Columns{Host: nodeColumns, Device: "device"},
		Rules: []Rule{
			{Metric: "node_network_carrier_down_changes_total", Signal: NICCarrierDown, Type: Counter},
			{
				Metric: "node_network_carrier_changes_total", Signal: NICCarrierDown, Type: Counter, Scale: 0.5, Second: true,
				Note: "counts ups and downs: half of it",
			},
		},
	}
}

// nodeNetdev tells about socket traffic; RDMA mostly does not show here.
func nodeNetdev() Dialect {
	return Dialect{
		Name: "node-netdev", Exporter: "node", Family: "netdev", Rank: 40, Kind: KindHost, NonNegative: true, Steady: true,
		About: "node_exporter's netdev collector", Columns: Columns{Host: nodeColumns, Device: "device"},
		Rules: []Rule{
			{Metric: "node_network_receive_bytes_total", Signal: HostNetRx, Type: Counter},
			{Metric: "node_network_transmit_bytes_total", Signal: HostNetTx, Type: Counter},
		},
	}
}
