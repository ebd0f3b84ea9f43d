package grafana

import (
	"fmt"
	"slices"

	"github.com/collwatch/collwatch/rules"
	"github.com/collwatch/collwatch/signals"
)

const firing = `ALERTS{alertname=~"Collwatch.+",alertstate="firing",class!="self"}`

// recorded counts what the rules record, and is 0 without them.
const recorded = `count({__name__=~"(nic_port|gpu|host|rank|comm|job):.+:.+"}) or vector(0)`

// cluster answers: is anything wrong, and where.
func cluster(series []rules.Series) page {
	extremes := func(level string) []panel {
		return of(series, level, func(s rules.Series) panel {
			pick := "topk"
			if s.Signal.Meta().Bad == signals.Down {
				pick = "bottomk"
			}
			return panel{expr: fmt.Sprintf("%s(10, %s)", pick, s.Name), title: titleOf(s) + ": the ten " + map[string]string{"topk": "highest", "bottomk": "lowest"}[pick]}
		})
	}
	return page{
		file: "cluster", title: "collwatch / cluster", about: "Is anything wrong in the cluster, and where. Reads the series that `collwatch rules generate` records.",
		rows: []row{
			{"Now", []panel{
				{kind: number, title: "Hosts", expr: "count(count by (host) (gpu:gpu_util:last))", span: 4},
				{kind: number, title: "GPUs", expr: "count(gpu:gpu_util:last)", span: 4},
				{kind: number, title: "NIC ports that are ACTIVE", expr: "count(nic_port:nic_state:last == 4)", span: 4},
				{kind: number, title: "NIC ports that are not", expr: "count(nic_port:nic_state:last) - count(nic_port:nic_state:last == 4)", span: 4},
				{kind: number, title: "Jobs", expr: "count(count by (job_id) (job:job_on_node:info))", span: 4},
				{kind: number, title: "Alerts", expr: "count(" + firing + ")", span: 4},
				{kind: list, title: "Alerts of the rules", expr: "max by (alertname, severity, class, reason, job_id, suspect_node, suspect_device) (" + firing + ")", span: 20},
				{
					kind: number, title: "Series recorded by the rules", expr: recorded, span: 4,
					about: "The panels here and on the other pages read what `collwatch rules generate` records. At 0 the rules are not loaded, and nothing is shown.",
				},
			}},
			{"Jobs", []panel{
				{title: "Bytes sent by the hosts of a job", unit: "Bps", expr: "job:nic_tx:sum", legend: "{{job_id}}"},
				{title: "Activity of a job's GPUs", unit: "percentunit", expr: "job:gpu_activity:avg", legend: "{{job_id}}"},
			}},
			{"NICs", extremes("nic_port")},
			{"GPUs", extremes("gpu")},
		},
	}
}

// group is what must be equal for members of a collective to be compared.
const group = "comm, op, size, nranks, n_nodes, algo"

// job answers: who waits for whom.
func job(series []rules.Series) page {
	times := `rank:coll_exec_time:last{job_id="$job_id",op=~"$op"}`
	transfer := func(series string) string { return "comm:coll_transfer" + series + `{job_id="$job_id",op=~"$op"}` }
	hosts := `* on (host) group_left () (job:job_on_node:info{job_id="$job_id"} > 0)`
	onHosts := func(level string, wanted ...signals.ID) []panel {
		return of(slices.DeleteFunc(slices.Clone(series), func(s rules.Series) bool { return !slices.Contains(wanted, s.Signal) }), level, func(s rules.Series) panel {
			return panel{kind: heat, expr: s.Name + " " + hosts}
		})
	}
	return page{
		file: "job", title: "collwatch / job", about: "One job: who waits for whom.",
		variables: []variable{{name: "job_id", label: "Job", metric: "job:job_on_node:info"}, {name: "op", label: "Operation", metric: "rank:coll_exec_time:last", all: true}},
		rows: []row{
			{"The job", []panel{
				{title: "Bytes sent", unit: "Bps", expr: `job:nic_tx:sum{job_id="$job_id"}`, legend: "bytes per second", span: 8},
				{title: "Activity of its GPUs", unit: "percentunit", expr: `job:gpu_activity:avg{job_id="$job_id"}`, legend: "activity", span: 8},
				{title: "Memory that it holds", unit: "bytes", expr: `job:gpu_mem_used:sum{job_id="$job_id"}`, legend: "memory", span: 8},
			}},
			{"Members of its collectives", []panel{
				{kind: note, title: "How to read this", span: 24, about: "In a collective all members end together. Who arrives last has the **shortest** time: the others wait for it. " +
					"*Lateness* is how much less a member waited than the one that waited longest. *Transfer* is the least time of a member within ten minutes: what it takes when nobody is late."},
				{
					kind: heat, title: "Lateness", unit: "s", legend: "{{host}}/{{gpu}}", span: 24,
					expr: fmt.Sprintf("avg by (host, gpu) (max by (%s) (%s) - on (%s) group_right () %s)", group, times, group, times),
				},
				{
					kind: heat, title: "Transfer", unit: "s", legend: "{{host}}/{{gpu}}", span: 24,
					expr: fmt.Sprintf("avg by (host, gpu) (min_over_time(%s[10m]))", times),
				},
				{
					kind: heat, title: "Transfer against its usual level", about: "1 is usual. By GPU index: one row that is high on all hosts is a rail.", legend: "{{gpu}} {{op}} {{size}}", span: 12,
					expr: `max by (gpu, op, size) (exp(` + transfer("_per_usual:ln") + `))`,
				},
				{
					title: "Slowest communicator against its usual level, and its band", about: "What is above the band is not learnt as the usual.", legend: "{{line}}", span: 12,
					expr: fmt.Sprintf(`label_replace(topk(1, %s / %s), "line", "slowest", "", "") or label_replace(max(%s / %s), "line", "upper end", "", "") or label_replace(min(%s / %s), "line", "lower end", "", "")`,
						transfer(":min"), transfer("_usual:ewma"), transfer("_upper:band"), transfer("_usual:ewma"), transfer("_lower:band"), transfer("_usual:ewma")),
				},
				{kind: heat, title: "Time inside collectives", unit: "s", legend: "{{host}}/{{gpu}}", span: 24, expr: "avg by (host, gpu) (" + times + ")"},
				{
					title: "Time of each communicator: fastest, middle and slowest member", unit: "s", legend: "{{comm}} {{op}} {{size}} q{{q}}", span: 24,
					expr: fmt.Sprintf(`label_replace(min by (%s) (%s), "q", "0", "", "") or label_replace(quantile by (%s) (0.5, %s), "q", "0.5", "", "") or label_replace(max by (%s) (%s), "q", "1", "", "")`,
						group, times, group, times, group, times),
				},
			}},
			{"NICs of its hosts", onHosts("nic_port", signals.NICTx, signals.NICRate, signals.NICSymbolErrors)},
			{"GPUs of its hosts", onHosts("gpu", signals.GPUSMClock, signals.GPUTemp, signals.GPUTensorActive)},
		},
	}
}

// host answers: what do the NICs and GPUs of one host do.
func host(series []rules.Series) page {
	all := func(level string) []panel {
		return of(series, level, func(s rules.Series) panel { return panel{expr: s.Name + `{host="$host"}`} })
	}
	return page{
		file: "host", title: "collwatch / host", about: "The NICs and GPUs of one host.",
		variables: []variable{{name: "host", label: "Host", metric: "host:job_now:info"}},
		rows: []row{
			{"The host", append([]panel{{kind: list, title: "Its jobs", expr: `max by (job_id) (job:job_on_node:info{host="$host"})`}}, all("host")...)},
			{"NICs", append([]panel{{
				title: "Bytes sent by busy ports against their usual level in this job", about: "Above 1.5, with sister ports at 1, it is the traffic of others.",
				expr: `nic_port:nic_tx_per_usual:ratio{host="$host"}`, legend: "{{device}}",
			}}, all("nic_port")...)},
			{"GPUs", all("gpu")},
		},
	}
}

// incident answers: what speaks for this suspect, beside its peers.
func incident(series []rules.Series) page {
	peers := func(level, device string) []panel {
		return of(series, level, func(s rules.Series) panel {
			own := fmt.Sprintf(`%s{host="$suspect_node",%s=~"$suspect_device"}`, s.Name, device)
			return panel{
				expr:   fmt.Sprintf(`label_replace(%s, "who", "$suspect_node", "", "") or label_replace(quantile(0.5, %s), "who", "median of the cluster", "", "")`, own, s.Name),
				legend: fmt.Sprintf("{{who}} {{%s}}", device),
			}
		})
	}
	const evidence = `{__name__=~".+:evidence",host="$suspect_node"}`
	return page{
		file: "incident", title: "collwatch / incident", about: "What speaks for a suspect, beside its peers. The daemon's own page of an incident, linked in its alert, has the whole evidence.",
		variables: []variable{
			{name: "suspect_node", label: "Host", metric: firing},
			{name: "suspect_device", label: "Device", metric: firing, all: true},
		},
		rows: []row{
			{"Alerts and evidence", []panel{
				{kind: list, title: "Alerts about the host", expr: `max by (alertname, severity, reason, job_id, suspect_device) (` + firing[:len(firing)-1] + `,suspect_node="$suspect_node"})`},
				{kind: list, title: "Jobs on the host", expr: `max by (job_id) (job:job_on_node:info{host="$suspect_node"})`},
				{title: "Evidence over time", legend: "{{__name__}} {{device}} {{gpu}}", expr: evidence, span: 24},
			}},
			{"NIC beside the cluster", peers("nic_port", "device")},
			{"GPU beside the cluster", peers("gpu", "gpu")},
		},
	}
}

// daemon answers: is collwatch itself well.
func daemon() page {
	return page{
		file: "collwatch", title: "collwatch / itself", about: "Is collwatch itself well: in time, seeing, heard. Alerts on the same are in contrib/prometheus.",
		rows: []row{
			{"Evaluations", []panel{
				{kind: number, title: "Age of the last evaluation", unit: "s", expr: "time() - collwatch_last_evaluation_timestamp_seconds", legend: "{{instance}}", span: 6},
				{kind: number, title: "Series read", expr: "collwatch_series_seen", legend: "{{instance}}", span: 6},
				{kind: number, title: "Findings", expr: "collwatch_findings", legend: "{{instance}}", span: 6},
				{kind: number, title: "Verdicts", expr: "collwatch_verdicts", legend: "{{instance}}", span: 6},
				{
					title: "Duration, and its part spent reading", unit: "s", legend: "{{part}}",
					expr: `label_replace(rate(collwatch_evaluation_duration_seconds_sum[5m]) / rate(collwatch_evaluation_duration_seconds_count[5m]), "part", "all", "", "") or ` +
						`label_replace(rate(collwatch_evaluation_query_seconds_sum[5m]) / rate(collwatch_evaluation_query_seconds_count[5m]), "part", "reading", "", "")`,
				},
				{title: "Evaluations that conclude nothing", unit: "cps", expr: "rate(collwatch_evaluation_failures_total[5m])", legend: "{{reason}}"},
				{title: "Evaluations left out", unit: "cps", expr: "rate(collwatch_evaluations_missed_total[5m])", legend: "{{instance}}"},
			}},
			{"Sources", []panel{
				{title: "Whether a source answers", expr: "collwatch_source_up", legend: "{{source}}"},
				{title: "Errors", unit: "cps", expr: "rate(collwatch_source_errors_total[5m])", legend: "{{source}} {{class}}"},
				{
					title: "Time of requests", unit: "s", legend: "{{source}} {{code}}",
					expr: "sum by (source, code) (rate(collwatch_source_request_duration_seconds_sum[5m])) / (sum by (source, code) (rate(collwatch_source_request_duration_seconds_count[5m])) > 0)",
				},
				{title: "Samples", unit: "cps", expr: "rate(collwatch_source_samples_total[5m])", legend: "{{source}}"},
			}},
			{"What it sees", []panel{
				{kind: list, title: "How well each class can be diagnosed: 2 fully, 1 coarsely, 0 not at all", expr: "max by (class) (collwatch_coverage_class_level)"},
				{
					kind: list, title: "Signals with less than was expected", unit: "percentunit",
					expr: "sum by (signal) (collwatch_coverage_entities) / (sum by (signal) (collwatch_coverage_expected_entities) > 0)",
				},
				{title: "Statements that something cannot be judged", expr: "collwatch_detector_blind", legend: "{{detector}}"},
				{title: "Inputs that are missing", expr: "collwatch_input_gaps", legend: "{{reason}}"},
			}},
			{"Incidents", []panel{
				{title: "Incidents by state", expr: "sum by (state) (collwatch_alerts)", legend: "{{state}}"},
				{kind: list, title: "Incidents by class", expr: "sum by (class) (collwatch_alerts)"},
				{title: "Open incidents that are not sent", expr: "collwatch_alerts_withheld", legend: "{{reason}}"},
				{title: "Evaluations in which an incident could not be judged", unit: "cps", expr: "rate(collwatch_alerts_held_total[5m])", legend: "{{instance}}"},
			}},
			{"Delivery and state", []panel{
				{title: "Alerts whose newest state a target does not know", expr: "collwatch_alertmanager_queue_length", legend: "{{target}}"},
				{title: "Alerts in requests that failed", unit: "cps", expr: "rate(collwatch_alertmanager_failed_total[5m])", legend: "{{target}} {{reason}}"},
				{title: "Alerts acknowledged and not there", expr: "collwatch_alertmanager_readback_missing", legend: "{{target}}"},
				{title: "Age of the state files", unit: "s", expr: "time() - (collwatch_state_last_save_timestamp_seconds > 0)", legend: "{{file}}"},
				{title: "Writes of state files that failed", unit: "cps", expr: "rate(collwatch_state_save_failures_total[5m])", legend: "{{file}}"},
			}},
		},
	}
}
