package rules

import (
	"fmt"
	"time"
)

const daemon = "instance, job"

// rising is a counter that stands, rises by rate a sample for 40 samples, and
// stands again, in promtool's notation.
func rising(rate int) string { return fmt.Sprintf("0x39 0+%dx39 %dx100", rate, 39*rate) }

// selfLife are the alerts on whether the daemon is there at all.
func (b *builder) selfLife() []selfAlert {
	count := fmt.Sprintf("count by (job) (%s)", SelfMetric)
	return []selfAlert{
		{
			name: "Heartbeat", severity: "info", expr: "vector(1)", always: true, value: 1,
			summary: "rules are evaluated and alerts arrive", next: "none: send it to a dead man's switch, which tells when it stops coming",
			fire: []sample{own(SelfMetric, nil, "0+30x100")}, at: 10, labels: map[string]string{},
		},
		{
			name: "DaemonGone", severity: "critical", hold: 2 * time.Minute,
			expr:    fmt.Sprintf("(%s or on (job) 0 * count by (job) (last_over_time(%s[6h]))) < on (job) quantile_over_time(0.5, %s[6h:5m])", count, SelfMetric, count),
			cite:    "against the usual number, so that a rolling update and an installation without a daemon are quiet",
			summary: "{{ $value }} daemons answer, fewer than usual; their alerts lapse without having recovered",
			next:    "look at the daemon's log and its host",
			fire:    []sample{own(SelfMetric, nil, "0+30x79 _x39 3600+30x100")}, at: 48, clear: 66, labels: map[string]string{"job": "collwatch"},
			quiet: []sample{own(SelfMetric, nil, "0+30x79"), {metric: SelfMetric, labels: []string{"instance", "mon1:9876", "job", "collwatch"}, values: "_x75 2280+30x100"}},
			look:  "a rolling update: another instance takes over",
		},
	}
}

// selfPace are the alerts on whether it evaluates, and in time.
func (b *builder) selfPace() []selfAlert {
	late := b.o.Limits.EvaluationLate
	stamps := func(stop int) string { return fmt.Sprintf("0+30x%d %dx19 %d+30x100", 2*stop-1, 60*stop, 60*(stop+10)) }
	return []selfAlert{
		{
			name: "EvaluationLate", severity: "critical", hold: b.o.Interval,
			expr:    fmt.Sprintf("time() - max by (%s) (%s) > %s", daemon, SelfMetric, num(late.Seconds())),
			summary: "the last evaluation is {{ $value | humanizeDuration }} old", next: "look at collwatch_evaluation_duration_seconds and the log; a source that hangs shows in collwatch_source_up",
			fire: []sample{own(SelfMetric, nil, stamps(20))}, quiet: []sample{own(SelfMetric, nil, "0+30x160")}, look: "an evaluation each half minute",
			at: 29, clear: 40, labels: here(), value: 540,
		},
		{
			name: "EvaluationsMissed", severity: "warning", hold: 5 * time.Minute,
			expr:    fmt.Sprintf("sum by (%s) (increase(collwatch_evaluations_missed_total[15m])) / sum by (%s) (increase(collwatch_evaluations_total[15m])) > 0.1", daemon, daemon),
			summary: "{{ $value | humanizePercentage }} of the evaluations are left out, because one takes longer than the interval",
			next:    "see collwatch_evaluation_query_seconds: a slow source, or a longer global.interval",
			fire:    []sample{own("collwatch_evaluations_missed_total", nil, rising(1)), own("collwatch_evaluations_total", nil, "0+2x200")},
			quiet:   []sample{own("collwatch_evaluations_missed_total", nil, "0x39 1x160"), own("collwatch_evaluations_total", nil, "0+2x200")},
			look:    "a single one", at: 38, clear: 70, labels: here(), value: 0.5,
		},
		{
			name: "EvaluationsFail", severity: "critical", hold: 5 * time.Minute,
			expr:    fmt.Sprintf("sum by (%s) (increase(collwatch_evaluation_failures_total[10m])) / sum by (%s) (increase(collwatch_evaluations_total[10m])) > 0.5", daemon, daemon),
			summary: "{{ $value | humanizePercentage }} of the evaluations conclude nothing", next: "see collwatch_evaluation_failures_total by reason, and the log",
			fire:  []sample{own("collwatch_evaluation_failures_total", map[string]string{"reason": "incomplete"}, rising(2)), own("collwatch_evaluations_total", nil, "0+2x200")},
			quiet: []sample{own("collwatch_evaluation_failures_total", map[string]string{"reason": "incomplete"}, "0x39 0+2x3 6x160"), own("collwatch_evaluations_total", nil, "0+2x200")},
			look:  "four in a row, then none", at: 38, clear: 70, labels: here(), value: 1,
		},
	}
}

// selfSight are the alerts on what it cannot see.
func (b *builder) selfSight() []selfAlert {
	covered := "sum by (instance, job, signal) (collwatch_coverage_entities) / (sum by (instance, job, signal) (collwatch_coverage_expected_entities) > 0)"
	return []selfAlert{
		{
			name: "SourceFails", severity: "critical", hold: 2 * time.Minute,
			expr:    "min by (instance, job, source_name) (" + named("collwatch_source_up") + ") == 0",
			summary: "source {{ $labels.source_name }} does not answer, so nothing is concluded from it", next: "look at that server, and at collwatch_source_errors_total by class",
			fire:  []sample{own("collwatch_source_up", map[string]string{"source": "main"}, minuteSteps("1", "0", 20, 10, 30))},
			quiet: []sample{own("collwatch_source_up", map[string]string{"source": "main"}, minuteSteps("1", "0", 20, 1, 30))},
			look:  "a restart of the server", at: 25, clear: 40, labels: here("source_name", "main"),
		},
		{
			name: "AnswersPartial", severity: "warning", hold: 10 * time.Minute,
			expr:    "sum by (instance, job, source_name) (" + named("increase(collwatch_source_partial_total[5m])") + ") > 0",
			summary: "source {{ $labels.source_name }} says again and again that parts of its answers are missing", next: "look at the stores or replicas behind that source",
			fire:  []sample{own("collwatch_source_partial_total", map[string]string{"source": "main"}, rising(1))},
			quiet: []sample{own("collwatch_source_partial_total", map[string]string{"source": "main"}, "0x39 1x100")}, look: "one such answer",
			at: 38, clear: 60, labels: here("source_name", "main"), value: 10,
		},
		{
			name: "DetectorBlind", severity: "warning", hold: b.o.Interval,
			expr:    "min by (instance, job, detector) (min_over_time(collwatch_detector_blind[30m])) > 0 and min by (instance, job, detector) (avg_over_time(collwatch_detector_blind[1d] offset 1h)) < 0.1",
			cite:    "against the day before: a job too small to judge makes a detector say so for as long as it runs",
			summary: "detector {{ $labels.detector }} could judge nearly always and cannot for half an hour", next: "run collwatch coverage: it says which series are missing",
			fire:  []sample{own("collwatch_detector_blind", map[string]string{"detector": "port_state"}, minuteSteps("0", "3", 80, 50, 60))},
			quiet: []sample{own("collwatch_detector_blind", map[string]string{"detector": "port_state"}, "3x400")}, look: "one that never could",
			at: 115, clear: 140, labels: here("detector", "port_state"), value: 3,
		},
		{
			name: "CoverageDropped", severity: "warning", hold: 15 * time.Minute,
			expr:    fmt.Sprintf("%s < 0.9 * quantile_over_time(0.5, (%s)[1d:10m])", covered, covered),
			summary: "only {{ $value | humanizePercentage }} of what should have {{ $labels.signal }} has it, less than usual",
			next:    "run collwatch coverage and look at the scrape targets: a node that is not scraped looks healthy",
			fire: []sample{
				own("collwatch_coverage_entities", map[string]string{"signal": "nic_state", "dialect": "node"}, minuteSteps("128", "64", 60, 30, 40)),
				own("collwatch_coverage_expected_entities", map[string]string{"signal": "nic_state", "dialect": "node"}, "128x400"),
			},
			quiet: []sample{
				own("collwatch_coverage_entities", map[string]string{"signal": "nic_state", "dialect": "node"}, minuteSteps("128", "64", 60, 30, 40)),
				own("collwatch_coverage_expected_entities", map[string]string{"signal": "nic_state", "dialect": "node"}, minuteSteps("128", "64", 60, 30, 40)),
			},
			look: "half of the cluster is taken away", at: 80, clear: 100, labels: here("signal", "nic_state"), value: 0.5,
		},
	}
}
