package signals

// NVIDIA's Inspector writes window means to one file a GPU. Execution times
// are arithmetic means and contain waiting for peers, bandwidths are geometric
// means: never compute one from the other.

const enableInspector = "load the collwatch plugin, or NCCL Inspector in prom mode (NCCL_INSPECTOR_PROM_DUMP=1, " +
	"NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=30000000) with node_exporter's --collector.textfile.directory"

func inspectorColumns() Columns {
	return Columns{
		Host: "node|hostname|instance", Device: "gpu|gpu_device_id", Job: "slurm_job_id|slurm_job",
		Comm: "comm_id|comm_name", Op: "collective|p2p_operation", Size: "message_size|message_size_bytes",
		NRanks: "nranks|n_ranks", NNodes: "n_nodes", Rank: "rank", Algo: "algo_proto|algo", Version: "version", Peer: "peer",
	}
}

// inspectorG2 is the mainline prom mode since NCCL 2.30.
func inspectorG2() Dialect {
	return Dialect{
		Name: "inspector-g2", Exporter: "nccl_inspector", Family: "inspector", Rank: 40, Kind: KindComm,
		About:   "NCCL Inspector, mainline prom mode (NCCL 2.30 and later), also RCCL's; through the textfile collector",
		Columns: inspectorColumns(),
		Rules: []Rule{
			{Metric: "nccl_collective_exec_time_microseconds", Signal: CollExecTime, Scale: 1e-6, Dumped: true, Enable: enableInspector},
			{
				Metric: "nccl_bus_bandwidth_gbs", Signal: CollBusBandwidth, Scale: 1e9, Dumped: true, Enable: enableInspector,
				Note: "always 0 for AllToAll, dropped there",
			},
			{Metric: "nccl_p2p_exec_time_microseconds", Signal: P2PExecTime, Scale: 1e-6, Dumped: true, Enable: enableInspector},
			{Metric: "nccl_p2p_bus_bandwidth_gbs", Signal: P2PBusBandwidth, Scale: 1e9, Dumped: true, Enable: enableInspector},
		},
	}
}

// inspectorG1 has sequence number and time stamp as labels, so each sample is
// a new series: its query aggregates them away on the server.
func inspectorG1() Dialect {
	return Dialect{
		Name: "inspector-g1", Exporter: "nccl_inspector", Family: "inspector_g1", Rank: 30, Kind: KindComm,
		About: "early copies of NCCL Inspector (2.28, 2.29), with coll_sn and timestamp as labels", Columns: inspectorColumns(),
		Rules: []Rule{
			{Metric: "nccl_collective_exec_time_microseconds", Signal: CollExecTime, Scale: 1e-6, Dumped: true},
			{Metric: "nccl_bus_bandwidth_gbs", Signal: CollBusBandwidth, Scale: 1e9, Dumped: true},
		},
	}
}

// inspectorG3 comes from JSON logs turned into metrics by a collector.
func inspectorG3() Dialect {
	c := inspectorColumns()
	c.Device, c.Size = "gpu|hostname_pid", "message_size_bytes|message_size"
	return Dialect{
		Name: "inspector-g3", Exporter: "nccl_inspector", Family: "inspector", Rank: 30, Kind: KindComm,
		About: "soperator: Inspector's JSON log through an OpenTelemetry connector", Where: []string{"hostname_pid"}, Columns: c,
		Rules: []Rule{
			{Metric: "nccl_collective_exec_time_microseconds", Signal: CollExecTime, Scale: 1e-6, Dumped: true},
			{Metric: "nccl_bus_bandwidth_gbs", Signal: CollBusBandwidth, Scale: 1e9, Dumped: true},
			{Metric: "nccl_collective_sequence_number", Signal: CollSequence, Type: Gauge},
		},
	}
}

// inspectorG4 are public forks that brought back rank, peer and communicator.
func inspectorG4() Dialect {
	return Dialect{
		Name: "inspector-g4", Exporter: "nccl_inspector", Family: "inspector", Rank: 20, Kind: KindComm,
		About: "forks of NCCL Inspector with rank, communicator id and distribution of times", Where: []string{"rank", "comm_id"},
		Columns: inspectorColumns(),
		Rules: []Rule{
			{Metric: "nccl_collective_exec_time_microseconds", Signal: CollExecTime, Scale: 1e-6, Dumped: true},
			{
				Metric: "nccl_collective_exec_time_p50_microseconds", Signal: CollExecTime, Scale: 1e-6, Dumped: true, Second: true,
				Note: "the median stands in where the mean is not exported",
			},
			{
				Metric: "nccl_collective_exec_time_min_microseconds", Signal: CollTransferTime, Scale: 1e-6, Dumped: true,
				Note: "a minimum is a direct estimate of the transfer",
			},
			{Metric: "nccl_bus_bandwidth_gbs", Signal: CollBusBandwidth, Scale: 1e9, Dumped: true},
			{Metric: "nccl_collective_busbw_gbs", Signal: CollBusBandwidth, Scale: 1e9, Dumped: true, Second: true},
			{Metric: "nccl_p2p_exec_time_microseconds", Signal: P2PExecTime, Scale: 1e-6, Dumped: true},
			{Metric: "nccl_p2p_bus_bandwidth_gbs", Signal: P2PBusBandwidth, Scale: 1e9, Dumped: true},
			{Metric: "nccl_collective_count", Signal: CollOps, Type: CountingGauge},
		},
	}
}
