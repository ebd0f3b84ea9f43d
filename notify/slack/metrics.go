package slack

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	sent, failed *prometheus.CounterVec
	queue, storm *prometheus.GaugeVec
	held         prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "collwatch_slack_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "collwatch_slack_" + name, Help: help}, []string{"channel"})
	}
	m := &metrics{
		sent:   counter("sent_total", "Calls that Slack took, by kind.", "channel", "kind"),
		failed: counter("failed_total", "Calls that failed; the newest state is sent again.", "channel", "reason"),
		queue:  gauge("queue_length", "Calls that are due and not made yet."),
		storm:  gauge("storm", "1 while a summary stands for the incidents of the channel."),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "collwatch_slack_held", Help: "Open incidents that are not told, or not yet: silenced, inhibited, muted or to be checked.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.sent, m.failed, m.queue, m.storm, m.held)
	}
	return m
}

// init makes the series of a channel, so that a rate over them sees the first
// event.
func (m *metrics) init(channel string) {
	for _, kind := range []string{"post", "edit", "reply", "chart", "summary"} {
		m.sent.WithLabelValues(channel, kind)
	}
	for _, c := range classes() {
		m.failed.WithLabelValues(channel, string(c))
	}
	m.queue.WithLabelValues(channel)
	m.storm.WithLabelValues(channel)
}
