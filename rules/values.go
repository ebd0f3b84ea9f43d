package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// selector is the metric with the conditions of dialect and rule.
func selector(s source, rd reading) string {
	var ms []string
	name := s.r.Metric
	if s.r.Pattern {
		name = ""
		ms = append(ms, fmt.Sprintf("__name__=~%q", s.r.Metric))
	}
	for _, w := range append(slices.Clone(s.d.Where), s.r.Where...) {
		if l, v, ok := strings.Cut(w, "="); ok {
			ms = append(ms, fmt.Sprintf("%s=%q", l, v))
		} else if l, ok := strings.CutPrefix(w, "!"); ok {
			ms = append(ms, l+`=""`)
		} else {
			ms = append(ms, w+`!=""`)
		}
	}
	if s.d.Name == "dcgm" {
		ms = append(ms, `GPU_I_ID=""`) // a slice of a GPU is not the GPU
	}
	if rd.keep != "" {
		ms = append(ms, rd.keep+`!=""`)
	}
	if len(ms) == 0 {
		return name
	}
	return name + "{" + strings.Join(ms, ",") + "}"
}

// valueOf brings a selector to the canonical unit, without impossible values.
func valueOf(r signals.Rule, d *signals.Dialect, sel string, rd reading) string {
	if r.Type == signals.Counter || r.Type == signals.CountingGauge {
		if rd.increase > 0 {
			// Rounded: an increase is extrapolated to the edges of its window.
			return fmt.Sprintf("round(increase(%s[%s]))", sel, span(rd.increase))
		}
		return scaled(fmt.Sprintf("rate(%s[%s])", sel, span(rateWindow)), r.Scale)
	}
	if r.Values != nil {
		var parts []string
		for _, raw := range sortedFloats(r.Values) {
			parts = append(parts, fmt.Sprintf("(%s == %s) * 0 + %s", sel, num(raw), num(r.Values[raw])))
		}
		return strings.Join(parts, " or ")
	}
	v := sel
	if d.NonNegative {
		v += " >= 0"
	}
	if r.Max > 0 {
		v += " <= " + num(r.Max)
	}
	if r.Repair == signals.PercentOrRatio {
		return fmt.Sprintf("(%s <= 1.5) or (%s) / 100", v, v)
	}
	if v != sel && r.Scale != 0 && r.Scale != 1 {
		v = "(" + v + ")"
	}
	return scaled(v, r.Scale)
}

func scaled(v string, by float64) string {
	if by == 0 || by == 1 {
		return v
	}
	return v + " * " + num(by)
}

func num(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// span writes a duration as all PromQL versions read it.
func span(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s%3600 == 0:
		return strconv.FormatInt(s/3600, 10) + "h"
	case s%60 == 0:
		return strconv.FormatInt(s/60, 10) + "m"
	}
	return strconv.FormatInt(s, 10) + "s"
}

func sortedFloats(m map[float64]float64) []float64 {
	var out []float64
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
