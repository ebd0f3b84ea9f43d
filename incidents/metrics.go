package incidents

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/diagnosis"
)

// collector shows a Manager's incidents as metrics, read when scraped.
type collector struct {
	m                            *Manager
	alerts                       *prometheus.Desc
	truncated, flaps, held       *prometheus.Desc
	withheld, offenders, history *prometheus.Desc
}

// Register makes the manager's metrics known to a registry.
func (m *Manager) Register(reg prometheus.Registerer) error {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("collwatch_"+name, help, labels, nil)
	}
	return reg.Register(&collector{
		m:         m,
		alerts:    desc("alerts", "Incidents that are going on, by class and state.", "class", "state"),
		withheld:  desc("alerts_withheld", "Open incidents that are not sent, by reason.", "reason"),
		truncated: desc("alerts_truncated_total", "Incidents that were not sent because too many were open."),
		flaps:     desc("alert_flaps_total", "Incidents that came back within their reopen window."),
		held:      desc("alerts_held_total", "Evaluations in which an incident could not be judged and kept its state."),
		offenders: desc("repeat_offenders", "Components named within the window of the history."),
		history:   desc("incident_history", "Ended incidents that are kept."),
	})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.alerts, c.withheld, c.truncated, c.flaps, c.held, c.offenders, c.history} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	type series struct {
		class diagnosis.Class
		state State
	}
	alerts := map[series]int{}
	withheld := map[Withheld]int{InShadow: 0, InMaintenance: 0, InStorm: 0, InCoolDown: 0, OnlyRecorded: 0}
	c.m.mu.Lock()
	for class := range c.m.opts.Policies {
		for _, s := range []State{Pending, Open, Latched} {
			alerts[series{class, s}] = 0
		}
	}
	for _, inc := range c.m.live {
		alerts[series{inc.Verdict.Class, inc.State}]++
		if inc.Active() && inc.Withheld != NotWithheld {
			withheld[inc.Withheld]++
		}
	}
	n, offenders, history := c.m.counts, len(c.m.past.times), len(c.m.ring)+len(c.m.ended)
	c.m.mu.Unlock()

	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...) //nolint:promlinter // described above
	}
	for s, v := range alerts {
		gauge(c.alerts, v, string(s.class), s.state.String())
	}
	for reason, v := range withheld {
		gauge(c.withheld, v, string(reason))
	}
	gauge(c.offenders, offenders)
	gauge(c.history, history)
	for d, v := range map[*prometheus.Desc]uint64{c.truncated: n.Truncated, c.flaps: n.Flaps, c.held: n.Held} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v)) //nolint:promlinter // described above
	}
}
