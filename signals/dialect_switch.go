package signals

// treydock is treydock/infiniband_exporter.
func treydock() Dialect {
	const p, on = "infiniband_switch_port_", "treydock/infiniband_exporter"
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: p + name + "_total", Signal: id, Type: Counter, Detail: detail, Enable: on}
	}
	return Dialect{
		Name: "treydock", Exporter: "infiniband_exporter", Family: "switch", Rank: 10, Kind: KindSwitchPort, NonNegative: true,
		About:   "treydock/infiniband_exporter (port 9315); from cron through a textfile it may be minutes old",
		Columns: Columns{Device: "switch|guid", Port: "port"},
		Rules: []Rule{
			{Metric: "infiniband_switch_uplink_info", Where: []string{"uplink_type=CA"}, Signal: SwitchLink, Type: Info, Columns: Columns{Peer: "uplink"}, Enable: on},
			{
				Metric: "infiniband_switch_uplink_info", Where: []string{"uplink_type=SW"}, Signal: SwitchUplink, Type: Info, Columns: Columns{Peer: "uplink"},
				Detail: "{uplink_port}", Enable: on,
			},
			{Metric: p + "rate_bytes_per_second", Signal: SwitchPortRate, Enable: on},
			c("transmit_data_bytes", SwitchPortTx, ""), c("transmit_wait", SwitchPortTransmitWait, ""), c("transmit_discards", SwitchPortDiscards, "tx"),
			c("symbol_error", SwitchPortErrors, "symbol"), c("link_error_recovery", SwitchPortErrors, "link_recovery"),
			c("link_downed", SwitchPortErrors, "link_downed"), c("receive_errors", SwitchPortErrors, "rx"),
			c("local_link_integrity_errors", SwitchPortErrors, "link_integrity"), c("receive_remote_physical_errors", SwitchPortErrors, "remote_physical"),
		},
	}
}

// guilbaults is guilbaults/infiniband-exporter: data in words, active links
// only, narrow counters.
func guilbaults() Dialect {
	const p, on = "infiniband_", "guilbaults/infiniband-exporter"
	sw := []string{"component=switch"}
	c := func(name string, id ID, detail string) Rule {
		return Rule{Metric: p + name + "_total", Where: sw, Signal: id, Type: Counter, Detail: detail, Enable: on}
	}
	data := c("portxmitdata", SwitchPortTx, "")
	data.Scale, data.Note = words, "4-byte words"
	link := data
	link.Signal, link.Type, link.Scale, link.Columns, link.Join = SwitchLink, Info, 0, Columns{Peer: "remote_name"}, JoinCable
	link.Metric, link.Note = p+"portrcvdata_total", "only the labels are used: who is at the other end"
	return Dialect{
		Name: "guilbaults", Exporter: "infiniband-exporter", Family: "switch", Rank: 20, Kind: KindSwitchPort, NonNegative: true,
		About:   "guilbaults/infiniband-exporter (port 9683); a dead link has no series",
		Columns: Columns{Device: "local_name|local_guid", Port: "local_port"},
		Rules: []Rule{
			data, link, c("portxmitwait", SwitchPortTransmitWait, ""), c("portxmitdiscards", SwitchPortDiscards, "tx"),
			c("symbolerrorcounter", SwitchPortErrors, "symbol"), c("linkerrorrecoverycounter", SwitchPortErrors, "link_recovery"),
			c("linkdownedcounter", SwitchPortErrors, "link_downed"), c("portrcverrors", SwitchPortErrors, "rx"),
			c("locallinkintegrityerrors", SwitchPortErrors, "link_integrity"),
		},
	}
}

// cumulus is NVIDIA Cumulus on Spectrum switches through OTLP.
func cumulus() Dialect {
	const p, on = "nvswitch_interface_", "Cumulus 5.16 OTLP export, class interface"
	c := func(name string, id ID, detail string, scale float64) Rule {
		return Rule{Metric: p + name, Signal: id, Type: CountingGauge, Detail: detail, Scale: scale, Enable: on}
	}
	return Dialect{
		Name: "cumulus", Exporter: "cumulus", Family: "switch", Rank: 10, Kind: KindSwitchPort, NonNegative: true,
		About: "Cumulus / Spectrum OTLP: gauges although they count", Columns: Columns{Device: "net_host_name|host_name|instance", Port: "interface"},
		Rules: []Rule{
			{Metric: p + "oper_state", Signal: SwitchPortState, Values: map[float64]float64{0: 1, 1: 4, 2: 1}, Enable: on},
			{Metric: p + "oper_aggregate_speed", Signal: SwitchPortRate, Scale: 125000, Enable: on, Note: "Mb/s"},
			c("if_out_octets", SwitchPortTx, "", 0), c("tx_wait", SwitchPortTransmitWait, "", 0), c("performance_marked_packets", SwitchPortECNMarked, "", 0),
			{Metric: p + "tc_tx_ecn_marked_tc", Signal: SwitchPortECNMarked, Type: CountingGauge, Second: true, Enable: on},
			c("discards_egress_hoq", SwitchPortDiscards, "tx", 0),
			c("sp_rx_pause_duration", SwitchPortPauseRx, "", 1e-6), c("sp_tx_pause_duration", SwitchPortPauseTx, "", 1e-6),
			c("carrier_down_changes_total", SwitchPortErrors, "link_downed", 0),
		},
	}
}

// snmp is IF-MIB through snmp_exporter; the alias often names the peer.
func snmp() Dialect {
	const on = "snmp_exporter with module if_mib"
	return Dialect{
		Name: "snmp", Exporter: "snmp", Family: "switch", Rank: 30, Kind: KindSwitchPort, NonNegative: true,
		About: "SNMP IF-MIB", Columns: Columns{Device: "sysName|instance", Port: "ifName|ifDescr|ifIndex", Peer: "ifAlias"},
		Rules: []Rule{
			{
				Metric: "ifOperStatus", Signal: SwitchPortState, Enable: on,
				Values: map[float64]float64{1: 4, 2: 1, 3: 2, 4: 1, 5: 1, 6: 1, 7: 1},
			},
			{Metric: "ifHighSpeed", Signal: SwitchPortRate, Scale: 125000, Enable: on, Note: "Mb/s"},
			{Metric: "ifHCOutOctets", Signal: SwitchPortTx, Type: Counter, Enable: on},
			{Metric: "ifOutDiscards", Signal: SwitchPortDiscards, Type: Counter, Detail: "tx", Saturates: true, Enable: on},
			{Metric: "ifInErrors", Signal: SwitchPortErrors, Type: Counter, Detail: "rx", Saturates: true, Enable: on},
		},
	}
}
