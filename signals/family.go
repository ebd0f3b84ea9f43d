package signals

import (
	"strings"
	"time"
)

// family is a set of metrics that one query reads.
type family struct {
	name string
	// extra are matchers beside the names.
	extra string
	// shape is an expression instead of a plain range selector. It is asked
	// once a metric, joined by "or"; "$S" stands for the metric's selector,
	// "$N" for its name. Its samples carry the time of the tick.
	shape string
	// slow families are asked less often until they answer with rows.
	slow bool
	// wait is how far back samples are worth reading: exporters behind a
	// collector or a cron job are slower than a scrape.
	wait time.Duration
}

// families lists the queries in the order in which their answers are read:
// relations first, the state of GPUs before the collectives of their jobs.
func families() []family {
	// Interfaces of containers and bridges are many and say nothing.
	const noise = `device!~"lo|veth.*|cali.*|lxc.*|docker.*|br-.*|cni.*|flannel.*|tunl.*|virbr.*|kube.*|nodelocaldns|dummy.*|vxlan.*|tap.*|azv.*|eni[0-9a-f]{8,}"`
	return []family{
		{name: "host", wait: time.Minute},
		{name: "jobs", wait: time.Minute},
		{name: "dcgm", wait: time.Minute},
		{name: "collwatch", wait: time.Minute},
		{name: "inspector", extra: `coll_sn=""`, wait: time.Minute},
		{
			// Sequence number and time stamp are labels here: without them the
			// series are few and stay. Only what the newest scrape of a target
			// had counts, or old operations would be averaged in.
			name: "inspector_g1", extra: `coll_sn!=""`, slow: true,
			shape: `label_replace(avg without (coll_sn, timestamp, pid, coll_timing_source) ($S and timestamp($S) == on (instance, exported_instance) group_left () ` +
				`max by (instance, exported_instance) (timestamp($S))), "` + nameLabel + `", "$N", "", "")`,
		},
		{name: "infiniband", wait: time.Minute},
		{name: "rdma", slow: true, wait: time.Minute},
		{name: "netdev", extra: noise, wait: time.Minute},
		{name: "switch", slow: true, wait: 6 * time.Minute},
		{name: "agents", slow: true, wait: time.Minute},
	}
}

// metricsOf lists the names and patterns of a family's rules, without
// duplicates, in the order of the catalogue.
func (b *rulebook) metricsOf(name string, allowed func(c *compiled) bool) []string {
	var out []string
	seen := map[string]bool{}
	for i := range b.rules {
		c := &b.rules[i]
		if c.family != name || seen[c.Metric] || !allowed(c) {
			continue
		}
		seen[c.Metric] = true
		out = append(out, c.Metric)
	}
	return out
}

// query builds the text for a window. Windows repeat, so that a server (or the
// embedded engine) recognises the query.
func (f *family) query(metrics []string, selector string, window time.Duration) string {
	if f.shape == "" {
		return f.selector(metrics, selector) + "[" + promDuration(window) + "]"
	}
	matchers := f.matchers(selector)
	parts := make([]string, len(metrics))
	for i, m := range metrics {
		sel := m + "{" + strings.TrimPrefix(matchers, ",") + "}"
		parts[i] = strings.NewReplacer("$S", sel, "$N", m).Replace(f.shape)
	}
	return strings.Join(parts, " or ")
}

// selector selects the series of a family.
func (f *family) selector(metrics []string, selector string) string {
	names := strings.ReplaceAll(strings.Join(metrics, "|"), `\`, `\\`)
	return `{__name__=~"` + names + `"` + f.matchers(selector) + "}"
}

// matchers are those beside the name, each after a comma.
func (f *family) matchers(selector string) string {
	var b strings.Builder
	for _, m := range []string{f.extra, selector} {
		if m = strings.Trim(strings.TrimSpace(m), "{}"); m != "" {
			b.WriteString("," + m)
		}
	}
	return b.String()
}

// promDuration writes whole seconds as PromQL does.
func promDuration(d time.Duration) string {
	s := int64((d + time.Second - 1) / time.Second)
	if s%60 == 0 {
		return itoa(s/60) + "m"
	}
	return itoa(s) + "s"
}
