package signals

// collwatchExporter is collwatch's own exporter. Its counters give means over
// any window: execution time is busy time by operations, see derive.go.
func collwatchExporter() Dialect {
	const on = "load the collwatch plugin (NCCL_PROFILER_PLUGIN=collwatch) and run collwatch-exporter"
	const deep = "run the plugin in deep mode (ProxyStep events)"
	member := Columns{
		Host: "node|instance", UUID: "gpu", Job: "job_id", Comm: "comm", Op: "op", Size: "size_class", NRanks: "nranks",
		NNodes: "n_nodes", Rank: "rank", Algo: "algo+proto", Version: "version", Peer: "peer", Process: "global_rank|pid",
	}
	process := Columns{Host: "node|instance", UUID: "gpu", Job: "job_id"}
	// RAS answers for the whole job: "node" is only where it was asked.
	ras := Columns{Host: "host", UUID: "-", Job: "-", NNodes: "-", Algo: "-", Version: "-", Peer: "-", Process: "-"}
	const second = "run collwatch-exporter with --ras on one node of the job (NCCL 2.28.7 or newer)"
	const p = "collwatch_nccl_" // size_class is the largest payload of the class in bytes
	return Dialect{
		Name: "collwatch", Exporter: "collwatch-exporter", Family: "collwatch", Rank: 10, Kind: KindComm,
		About: "the collwatch plugin and its node exporter", Columns: member, NonNegative: true,
		Rules: []Rule{
			{Metric: p + "ops_completed_total", Signal: CollOps, Type: Counter, Enable: on},
			{Metric: p + "ops_enqueued_total", Signal: CollEnqueued, Type: Counter, Enable: on},
			{Metric: p + "ops_started_total", Signal: CollStarted, Type: Counter, Enable: on},
			{Metric: p + "bytes_total", Signal: CollBytes, Type: Counter, Enable: on},
			{
				Metric: p + "busy_seconds_total", Signal: CollBusy, Type: Counter, Detail: "{timing}", Enable: on,
				Note: "gives coll_exec_time and coll_bus_bandwidth by division",
			},
			{Metric: p + "inflight_ops", Signal: CollInflight, Detail: "{state}", Enable: on},
			{Metric: p + "oldest_inflight_age_seconds", Signal: CollInflightAge, Detail: "{state}", Enable: on},
			{Metric: p + "last_completed_seq", Signal: CollSequence, Detail: "completed", Enable: on},
			{Metric: p + "last_enqueued_seq", Signal: CollSequence, Detail: "enqueued", Enable: on},
			{
				Metric: p + "oldest_inflight_peer", Signal: CollInflightPeer, Detail: "{state}", Enable: on,
				Note: "for whom a Send or Recv waits",
			},
			{Metric: p + "proxy_steps", Signal: ProxySteps, Detail: "{phase}", Enable: deep},
			{Metric: p + "proxy_wait_seconds_total", Signal: ProxyWait, Type: Counter, Detail: "{phase}", Enable: deep},
			{Metric: p + "process_up", Kind: KindRank, Signal: ProcessUp, Detail: "{pid}", Enable: on},
			{Metric: p + "process_stopped", Kind: KindRank, Signal: ProcessStopped, Detail: "{pid}", Enable: on},
			{
				Metric: p + "ras_ops_launched_total", Kind: KindRank, Signal: RASCount, Columns: ras, Enable: second,
				Note: "read as a gauge: counts are compared between ranks",
			},
			{Metric: p + "ras_rank_missing", Kind: KindRank, Signal: RASMissing, Detail: "{state}", Columns: ras, Enable: second},
			{Metric: p + "ras_rank_error", Kind: KindRank, Signal: RASMissing, Detail: "error", Columns: ras, Enable: second},
			{
				Metric: p + "last_event_timestamp_seconds", Kind: KindGPU, Signal: InspectorAge, Columns: process, Join: JoinHeartbeat, Enable: on,
				Note: "the honest heartbeat in place of a file's age",
			},
			{
				Metric: p + "process_info", Kind: KindGPU, Signal: InspectorAge, Columns: process, Join: JoinProcess, Enable: on,
				Note: "local rank and GPU, where dcgm-exporter does not tell the index",
			},
		},
	}
}
