package signals

// collwatchExporter is collwatch's own exporter. Its counters give means over
// any window: execution time is busy time by operations, see derive.go.
func collwatchExporter() Dialect {
	const on = "load the collwatch plugin (NCCL_PROFILER_PLUGIN=collwatch) and run collwatch-exporter"
	const deep = "run the plugin in deep mode (ProxyStep events)"
	member := Columns{
		Host: "node|instance", UUID: "gpu", Job: "job_id", Comm: "comm", Op: "op", Size: "size_class", NRanks: "nranks",
		NNodes: "n_nodes", Rank: "rank", Algo: "algo+proto", Version: "version", Peer: "peer",
	}
	process := Columns{Host: "node|instance", UUID: "gpu", Job: "job_id"}
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
			{Metric: p + "proxy_wait_seconds_total", Signal: ProxyWait, Type: Counter, Detail: "{phase}", Enable: deep},
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
