package exporter

// metrics names everything that is served about communicators and processes. docs/exporter.md says the same in words.
type metrics struct {
	enqueued, started, completed, bytes, busy                 *family
	duration, bandwidth                                       *family
	inflight, age, ageSeq, agePeer, enqueuedSeq, completedSeq *family
	steps, wait, peerBytes, peerOps, proxyStarted, proxyEnded *family
	apiCalls                                                  *family
	lastEvent, up, stopped, startTime, info                   *family
	dropped, foreign, unmatched, capped                       *family
}

func newMetrics() *metrics {
	return &metrics{
		enqueued:     counterFamily("ops_enqueued_total", "Operations handed to NCCL."),
		started:      counterFamily("ops_started_total", "Operations of which at least one GPU channel began."),
		completed:    counterFamily("ops_completed_total", "Operations of which all GPU channels ended."),
		bytes:        counterFamily("bytes_total", "Payload of completed operations; of enqueued ones where completion cannot be seen."),
		busy:         counterFamily("busy_seconds_total", "Time that completed operations spent in their kernels, by the clock it comes from."),
		duration:     histogramFamily("op_duration_seconds", "Time of completed operations in their kernels, waiting for peers included."),
		bandwidth:    histogramFamily("bus_bandwidth_bytes_per_second", "Bus bandwidth of completed operations by the convention of nccl-tests."),
		inflight:     gaugeFamily("inflight_ops", "Operations that are not finished: queued (no channel began), running, partial (some channels began)."),
		age:          gaugeFamily("oldest_inflight_age_seconds", "Time for which the oldest operation has been in this state: since it was enqueued, or since its first channel began."),
		ageSeq:       gaugeFamily("oldest_inflight_seq", "Sequence number of that operation."),
		agePeer:      gaugeFamily("oldest_inflight_peer", "Rank of the peer of that operation, for Send and Recv."),
		enqueuedSeq:  gaugeFamily("last_enqueued_seq", "Highest sequence number handed to NCCL; stands still in CUDA graphs."),
		completedSeq: gaugeFamily("last_completed_seq", "Highest sequence number that ended."),
		steps:        gaugeFamily("proxy_steps", "Network steps that wait now, by what for (deep mode)."),
		wait:         counterFamily("proxy_wait_seconds_total", "Time that network steps waited; steps overlap, so compare shares (deep mode)."),
		peerBytes:    counterFamily("p2p_bytes_total", "Bytes of Send and Recv by peer."),
		peerOps:      counterFamily("p2p_ops_total", "Send and Recv operations by peer."),
		proxyStarted: counterFamily("proxy_ops_started_total", "Network transfers begun by peer (modes net and deep)."),
		proxyEnded:   counterFamily("proxy_ops_completed_total", "Network transfers ended by peer (modes net and deep)."),
		apiCalls:     counterFamily("api_calls_total", "NCCL API calls, also those that give no other event (symmetric kernels up to NCCL 2.30)."),
		lastEvent:    gaugeFamily("last_event_timestamp_seconds", "When NCCL last told the plugin anything."),
		up:           gaugeFamily("process_up", "1 while the process exists, 0 during the grace time after it died."),
		stopped:      gaugeFamily("process_stopped", "1 while a signal or a debugger keeps the process from running."),
		startTime:    gaugeFamily("process_start_time_seconds", "When the process started."),
		info:         gaugeFamily("process_info", "Identity of the process and settings of its plugin; always 1."),
		dropped:      counterFamily("events_dropped_total", "Events that could not be followed, by reason."),
		foreign:      counterFamily("foreign_ops_total", "Network transfers carried out for other processes (PXN), which are not followed."),
		unmatched:    counterFamily("unmatched_stops_total", "Stops that fit no operation in flight."),
		capped:       gaugeFamily("communicators_capped", "Communicators left out by a limit of the plugin or of the exporter."),
	}
}
