package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// rateWindow is the range of all rates. Three minutes hold two samples even of
// a scrape a minute, and stay well below the wrap of a 32-bit counter.
const rateWindow = 3 * time.Minute

// hostPattern cuts domain and port off a host name and leaves addresses whole.
// PromQL cannot lower the case of a label; the daemon can.
const hostPattern = `(\[[^]]+\]|(?:[0-9]+\.){3}[0-9]+|[^.:]+).*`

// gpuPattern takes the index out of "3", "GPU3", "nvidia3" or "cuda:3".
const gpuPattern = `(?:gpu|GPU|nvidia|cuda:?|card)?0*([0-9]{1,4})`

// hostMap is the series that leads from an instance to its host's own name.
const hostMap = "instance:host_kernel:info"

// reading is how a signal is read: the operation after the last colon of the
// recorded name.
type reading struct {
	id signals.ID
	// increase is the window of an increase, 0 for the value or the rate.
	increase time.Duration
	// keep is a raw label that stays, such as xid.
	keep string
	// details limits the rules of the catalogue to these details; nil means
	// those without one.
	details []string
}

// level is the first part of a recorded name: what a row is about.
func level(k signals.Kind) string {
	switch k {
	case signals.KindGPU:
		return "gpu"
	case signals.KindNIC:
		return "nic_port"
	case signals.KindComm, signals.KindRank:
		return "rank"
	case signals.KindJob:
		return "job"
	}
	return "host"
}

// levelLabels are the labels of a recorded row.
func levelLabels(k signals.Kind) []string {
	switch k {
	case signals.KindGPU:
		return []string{"host", "gpu"}
	case signals.KindNIC:
		return []string{"host", "device", "port"}
	case signals.KindComm, signals.KindRank:
		return []string{"job_id", "host", "gpu", "comm", "op", "size", "nranks", "n_nodes", "algo"}
	case signals.KindJob:
		return []string{"job_id"}
	}
	return []string{"host"}
}

// source is one rule of the catalogue with its dialect.
type source struct {
	d *signals.Dialect
	r signals.Rule
}

func (s source) kind() signals.Kind {
	if s.r.Kind != signals.KindNone {
		return s.r.Kind
	}
	return s.d.Kind
}

// plain says that no label decides whether a series belongs here.
func (s source) plain() bool { return len(s.d.Where)+len(s.r.Where) == 0 }

// sources lists who offers a reading among the metrics that exist, the best
// first.
func (b *builder) sources(rd reading) []source {
	var out []source
	for _, d := range b.catalogue {
		for _, r := range d.Rules {
			if r.Signal != rd.id || r.Type == signals.Increment || !b.exists(r) || !detailed(r, rd) {
				continue
			}
			out = append(out, source{d, r})
		}
	}
	slices.SortStableFunc(out, func(a, c source) int {
		if a.r.Second != c.r.Second {
			if a.r.Second {
				return 1
			}
			return -1
		}
		return int(a.d.Rank) - int(c.d.Rank)
	})
	// Dialects of one metric differ by labels only, and the labels of all are
	// read: one without conditions covers the others.
	covered := func(i int) bool {
		for j := range out {
			if j != i && out[j].r.Metric == out[i].r.Metric && out[j].plain() && (j > i || !out[i].plain()) {
				return true
			}
		}
		return false
	}
	for i := 0; i < len(out); i++ {
		if covered(i) {
			out = slices.Delete(out, i, i+1)
			i--
		}
	}
	return out
}

func detailed(r signals.Rule, rd reading) bool {
	if rd.keep != "" {
		return r.Detail == "{"+rd.keep+"}"
	}
	if rd.details != nil {
		return slices.Contains(rd.details, r.Detail)
	}
	return r.Detail == "" || strings.HasPrefix(r.Detail, "prio") || strings.HasPrefix(r.Detail, "{")
}

// exists says whether the source has a metric.
func (b *builder) exists(r signals.Rule) bool {
	if b.metrics == nil {
		return true
	}
	if !r.Pattern {
		return b.metrics[r.Metric]
	}
	re, err := regexp.Compile("^(?:" + r.Metric + ")$")
	if err != nil {
		return false
	}
	for m := range b.metrics {
		if re.MatchString(m) {
			return true
		}
	}
	return false
}

// normal is the expression of a reading in canonical labels and units, "" if
// nobody offers it.
func (b *builder) normal(rd reading) string {
	var parts []string
	for _, s := range b.sources(rd) {
		parts = append(parts, b.one(s, rd))
	}
	// Where two exporters of a host tell the same they may name devices
	// differently, so the better one is believed for the whole host.
	return strings.Join(parts, " or on (host) ")
}

func (b *builder) one(s source, rd reading) string {
	sel := selector(s, rd)
	v := valueOf(s.r, s.d, sel, rd)
	kind := s.kind()
	cols := b.columns(s)
	labels := append([]string{}, levelLabels(kind)...)
	if rd.keep != "" {
		labels = append(labels, rd.keep)
	}
	joined := s.d.Exporter == "node" && strings.HasPrefix(cols.Host, "nodename") && b.uname
	if joined {
		v = fmt.Sprintf("(%s) * on (instance) group_left (host) %s", v, hostMap)
	} else {
		v = relabel(v, "host", cols.Host, hostPattern, "$1")
	}
	switch kind {
	case signals.KindGPU:
		v = relabel(v, "gpu", cols.Device, gpuPattern, "GPU$1")
	case signals.KindNIC:
		v = relabel(v, "device", cols.Device, "(.+)", "$1")
		if cols.Port == "" {
			v = fmt.Sprintf(`label_replace(%s, "port", "1", "", "")`, v)
		} else {
			v = relabel(v, "port", cols.Port, "(.+)", "$1")
		}
	case signals.KindComm, signals.KindRank:
		v = relabel(v, "gpu", cols.Device, gpuPattern, "GPU$1")
		for _, f := range [][2]string{
			{"job_id", cols.Job},
			{"comm", cols.Comm},
			{"op", cols.Op},
			{"size", cols.Size},
			{"nranks", cols.NRanks},
			{"n_nodes", cols.NNodes},
			{"algo", strings.ReplaceAll(cols.Algo, "+", "|")},
		} {
			if f[1] != "" && f[1] != "-" {
				v = relabel(v, f[0], f[1], "(.+)", "$1")
			}
		}
	}
	return fmt.Sprintf("max by (%s) (%s)", strings.Join(labels, ", "), v)
}

// columns are those of the rule over those of the dialect.
func (b *builder) columns(s source) signals.Columns {
	c := s.d.Columns
	o := s.r.Columns
	for _, f := range []struct {
		to   *string
		from string
	}{{&c.Host, o.Host}, {&c.Device, o.Device}, {&c.Port, o.Port}, {&c.Job, o.Job}, {&c.Size, o.Size}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	return c
}

// relabel copies the first of several labels that is not empty. The steps run
// from the last alternative to the first, so that the first wins.
func relabel(v, to, from, pattern, with string) string {
	alternatives := strings.Split(from, "|")
	slices.Reverse(alternatives)
	for _, l := range alternatives {
		if l == to && pattern == "(.+)" {
			continue
		}
		v = fmt.Sprintf("label_replace(%s, %q, %q, %q, %q)", v, to, with, l, pattern)
	}
	return v
}
