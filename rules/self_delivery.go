package rules

import "time"

// selfDelivery are the alerts on alerts and messages that do not arrive.
func (b *builder) selfDelivery() []selfAlert {
	target := map[string]string{"target": "am0:9093"}
	return []selfAlert{
		{
			name: "AlertsQueued", severity: "critical", hold: 5 * time.Minute,
			expr:    "min by (instance, job, target) (min_over_time(collwatch_alertmanager_queue_length[2m])) > 0",
			summary: "Alertmanager {{ $labels.target }} does not know the newest state of {{ $value }} alerts",
			next:    "see collwatch_alertmanager_failed_total by reason, and the log of that Alertmanager",
			fire:    []sample{own("collwatch_alertmanager_queue_length", target, minuteSteps("0", "3", 20, 20, 30))},
			quiet:   []sample{own("collwatch_alertmanager_queue_length", target, minuteSteps("0", "3", 20, 1, 30))}, look: "a retry",
			at: 30, clear: 45, labels: here("target", "am0:9093"), value: 3,
		},
		{
			name: "AlertsRefused", severity: "critical", hold: b.o.Interval,
			expr:    "sum by (instance, job, target) (increase(collwatch_alertmanager_dropped_total[15m])) > 0",
			summary: "Alertmanager {{ $labels.target }} refused {{ $value | humanize }} alerts for good",
			next:    "see collwatch_alertmanager_dropped_total by reason; the alerts are on the daemon's status page",
			fire:    []sample{own("collwatch_alertmanager_dropped_total", map[string]string{"target": "am0:9093", "reason": "too_large"}, "0x39 0+1x39 39x100")},
			quiet:   []sample{own("collwatch_alertmanager_dropped_total", map[string]string{"target": "am0:9093", "reason": "too_large"}, "39x200")}, look: "refused long ago",
			at: 38, clear: 60, labels: here("target", "am0:9093"), value: 30,
		},
		{
			name: "AlertsLost", severity: "critical", hold: 5 * time.Minute,
			expr:    "max by (instance, job, target) (collwatch_alertmanager_readback_missing) > 0",
			summary: "Alertmanager {{ $labels.target }} acknowledged {{ $value }} alerts that it does not have",
			next:    "look at --alerts.per-alertname-limit and alertmanager_alerts_limited_total of that Alertmanager",
			fire:    []sample{own("collwatch_alertmanager_readback_missing", target, minuteSteps("0", "2", 20, 20, 30))},
			quiet:   []sample{own("collwatch_alertmanager_readback_missing", target, minuteSteps("0", "2", 20, 2, 30))}, look: "a moment",
			at: 30, clear: 45, labels: here("target", "am0:9093"), value: 2,
		},
		{
			name: "SlackQueued", severity: "warning", hold: 10 * time.Minute,
			expr:    "min by (instance, job, channel) (min_over_time(collwatch_slack_queue_length[2m])) > 0",
			summary: "Slack channel {{ $labels.channel }} was not told {{ $value }} things", next: "see collwatch_slack_failed_total by reason",
			fire:  []sample{own("collwatch_slack_queue_length", map[string]string{"channel": "C1"}, minuteSteps("0", "4", 20, 30, 30))},
			quiet: []sample{own("collwatch_slack_queue_length", map[string]string{"channel": "C1"}, minuteSteps("0", "4", 20, 3, 30))}, look: "a limit on messages for three minutes",
			at: 40, clear: 55, labels: here("channel", "C1"), value: 4,
		},
	}
}

// selfState are the alerts on what must outlive a restart.
func (b *builder) selfState() []selfAlert {
	return []selfAlert{
		{
			name: "StateNotSaved", severity: "warning", hold: b.o.Interval,
			expr:    "sum by (instance, job, file) (increase(collwatch_state_save_failures_total[15m])) > 0",
			summary: "state file {{ $labels.file }} cannot be written: a restart would tell things twice or forget them",
			next:    "look at space and permissions of global.state_dir",
			fire:    []sample{own("collwatch_state_save_failures_total", map[string]string{"file": "incidents"}, "0x39 0+1x39 39x100")},
			quiet:   []sample{own("collwatch_state_save_failures_total", map[string]string{"file": "incidents"}, "39x200")}, look: "failures of long ago",
			at: 38, clear: 60, labels: here("file", "incidents"), value: 30,
		},
		{
			name: "StateLost", severity: "warning", hold: b.o.Interval,
			expr:    `max by (instance, job, file) (collwatch_state_restore_result{result="lost"}) == 1 and on (instance, job) time() - process_start_time_seconds < 3600`,
			summary: "state file {{ $labels.file }} could not be read at the start an hour ago or later", next: "look at the file beside it whose name ends in .bad- and a time; incidents that were open are told anew",
			fire: []sample{
				own("collwatch_state_restore_result", map[string]string{"file": "incidents", "result": "lost"}, "0x19 1x200"),
				own("process_start_time_seconds", nil, "0x19 600x200"),
			},
			quiet: []sample{
				own("collwatch_state_restore_result", map[string]string{"file": "incidents", "result": "lost"}, "0x220"),
				own("process_start_time_seconds", nil, "0x19 600x200"),
			},
			look: "a restart with its state", at: 30, clear: 90, labels: here("file", "incidents"), value: 1,
		},
	}
}

// selfFleet are the alerts on what differs between daemons, or between disk and memory, and on the exporters.
func (b *builder) selfFleet() []selfAlert {
	return []selfAlert{
		{
			name: "ConfigNotLoaded", severity: "warning", hold: 5 * time.Minute,
			expr:    "min by (instance, job) (collwatch_config_last_reload_successful) == 0",
			summary: "the last change of the configuration was not taken", next: "run collwatch check-config: it lists all mistakes",
			fire:  []sample{own("collwatch_config_last_reload_successful", nil, minuteSteps("1", "0", 20, 20, 30))},
			quiet: []sample{own("collwatch_config_last_reload_successful", nil, minuteSteps("1", "0", 20, 2, 30))}, look: "mended at once",
			at: 30, clear: 45, labels: here(),
		},
		{
			name: "ReplicasDiffer", severity: "warning", hold: 15 * time.Minute,
			expr:    `count by (job) (count_values by (job) ("hash", collwatch_config_hash)) > 1`,
			summary: "replicas run with {{ $value }} different configurations: one fault may be told twice", next: "compare their files; both must be reloaded",
			fire: []sample{
				own("collwatch_config_hash", nil, "7x200"),
				{metric: "collwatch_config_hash", labels: []string{"instance", "mon1:9876", "job", "collwatch"}, values: minuteSteps("7", "8", 20, 30, 30)},
			},
			quiet: []sample{
				own("collwatch_config_hash", nil, "7x39 8x160"),
				{metric: "collwatch_config_hash", labels: []string{"instance", "mon1:9876", "job", "collwatch"}, values: "7x45 8x160"},
			},
			look: "a change that reaches them one after the other", at: 40, clear: 55, labels: map[string]string{"job": "collwatch"}, value: 2,
		},
		{
			name: "ExporterFolder", severity: "warning", hold: 5 * time.Minute,
			expr:    "count by (job) (collwatch_exporter_folder_readable == 0)",
			summary: "{{ $value }} exporters cannot read the plugin's data folder", next: "look at its permissions on these hosts: the exporter and the training processes need a common group",
			fire:  []sample{own("collwatch_exporter_folder_readable", nil, minuteSteps("1", "0", 20, 20, 30))},
			quiet: []sample{own("collwatch_exporter_folder_readable", nil, minuteSteps("1", "0", 20, 2, 30))}, look: "the moment of a boot",
			at: 30, clear: 45, labels: map[string]string{"job": "collwatch"}, value: 1,
		},
	}
}
