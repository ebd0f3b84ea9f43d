package signals

// xpuTimer is DLRover's xpu_timer.
func xpuTimer() Dialect {
	const p, on = "XPU_TIMER_COLL_KERNEL_", "DLRover xpu_timer"
	c := func(name string, id ID, scale float64) Rule {
		return Rule{Metric: p + name, Signal: id, Scale: scale, Dumped: true, Enable: on}
	}
	return Dialect{
		Name: "xpu-timer", Exporter: "xpu_timer", Family: "agents", Rank: 25, Kind: KindComm, NonNegative: true,
		About: "intelligent-machine-learning/dlrover xpu_timer (port 18889)",
		Columns: Columns{
			Host: "pod_name|ip|instance", Device: "local_rank", Job: "job_name", Op: "operation", Comm: "transport", Size: "-",
			Algo: "algorithm", Rank: "rank",
		},
		Rules: []Rule{
			c("AVG_LATENCY", CollExecTime, 1e-6), c("MIN_LATENCY", CollTransferTime, 1e-6), c("BANDWIDTH", CollBusBandwidth, 1e9),
			{Metric: "XPU_TIMER_COMMON_HANG", Signal: HealthEvent, Kind: KindRank, Detail: "xpu_timer_hang", Enable: on},
		},
	}
}

// gpud is leptonai/gpud: its verdicts are evidence, its counters are signals.
func gpud() Dialect {
	const p, on = "accelerator_nvidia_", "leptonai/gpud"
	g := func(name string, id ID, t Type, detail string) Rule {
		return Rule{Metric: p + name, Signal: id, Type: t, Detail: detail, Enable: on}
	}
	link := g("infiniband_link_downed", NICLinkDowned, CountingGauge, "")
	link.Kind, link.Columns = KindNIC, Columns{Device: "device_port|device", UUID: "-"}
	return Dialect{
		Name: "gpud", Exporter: "gpud", Family: "agents", Rank: 30, Kind: KindGPU, NonNegative: true,
		About: "leptonai/gpud", Columns: Columns{Host: "node|hostname|instance", UUID: "uuid", Device: "gpu|index"},
		Rules: []Rule{
			link,
			g("nvlink_replay_errors", NVLinkErrors, CountingGauge, "replay"), g("nvlink_recovery_errors", NVLinkErrors, CountingGauge, "recovery"),
			g("nvlink_crc_errors", NVLinkErrors, CountingGauge, "crc_flit"),
			g("clock_hw_slowdown", GPUClockEvents, Gauge, "hw_slowdown"), g("clock_hw_slowdown_thermal", GPUClockEvents, Gauge, "hw_thermal"),
			g("clock_hw_slowdown_power_brake", GPUClockEvents, Gauge, "hw_power_brake"),
			g("temperature_current_celsius", GPUTemp, Gauge, ""),
			g("remapped_rows_due_to_uncorrectable_errors", GPURemappedRows, CountingGauge, "uncorrectable"),
			g("remapped_rows_due_to_correctable_errors", GPURemappedRows, CountingGauge, "correctable"),
		},
	}
}

// nvsentinel reports verdicts of NVIDIA's NVSentinel as evidence.
func nvsentinel() Dialect {
	const on = "NVSentinel with health event metrics"
	return Dialect{
		Name: "nvsentinel", Exporter: "nvsentinel", Family: "agents", Rank: 10, Kind: KindHost, NonNegative: true,
		About: "NVIDIA/NVSentinel health events", Columns: Columns{Host: "node|instance"},
		Rules: []Rule{
			{Metric: "health_events_total", Where: []string{"is_healthy=false"}, Signal: HealthEvent, Type: Counter, Detail: "{check_name}", Enable: on},
			{Metric: "gpu_validator_straggler_detected_total", Signal: HealthEvent, Type: Counter, Detail: "straggler_shield:{reason}", Enable: "straggler-shield"},
		},
	}
}

// ociHealth are the health-check gauges of OCI's HPC images.
func ociHealth() Dialect {
	const on = "OCI HPC health checks"
	h := func(name string) Rule {
		return Rule{Metric: name, Signal: HealthEvent, Detail: name, Enable: on}
	}
	return Dialect{
		Name: "oci-health", Exporter: "oci-health", Family: "agents", Rank: 20, Kind: KindHost, NonNegative: true,
		About: "OCI HPC health-check gauges: evidence only", Columns: Columns{Host: "hostname|instance", Peer: "interface|device"},
		Rules: []Rule{
			h("xid_error_check"), h("gpu_row_remap_error_check"), h("pcie_aer_correctable_error_count"), h("pcie_aer_fatal_error_count"),
			h("pcie_aer_nonfatal_error_count"), h("pcie_bus_linkwidth_status"), h("rdma_device_status"), h("rdma_link_noflap"),
			h("oci_rdma_link_speed_fault"),
			{Metric: "oci_rdma_(?:link_)?(cable_flap|ber_check_fault)", Pattern: true, Signal: HealthEvent, Detail: "$1", Enable: on},
		},
	}
}
