package web

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/collwatch/collwatch/incidents"
)

// words are the functions of the templates.
var words = template.FuncMap{
	"stamp":    stamp,
	"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"duration": span,
	"quantity": quantity,
	"plain":    func(s any) string { return plain(fmt.Sprint(s)) },
	"reason":   incidents.ReasonText,
	"mark":     mark,
	"suspect":  incidents.SuspectText,
	"join":     func(list []string) string { return strings.Join(list, ", ") },
	"dict":     dict,
}

// plain writes a word of the vocabulary for people: "nic_degraded" is "NIC
// degraded".
func plain(s string) string {
	list := strings.Split(s, "_")
	for i, w := range list {
		switch w {
		case "nic", "gpu", "pfc", "sm":
			list[i] = strings.ToUpper(w)
		case "pcie":
			list[i] = "PCIe"
		case "nvlink":
			list[i] = "NVLink"
		case "roce":
			list[i] = "RoCE"
		}
	}
	return strings.Join(list, " ")
}

// dict passes several values to a nested template: name, value, name, value.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// mark is a shape for a level, so that colour is never the only difference.
func mark(level any) string {
	switch fmt.Sprint(level) {
	case "critical", "bad", "stalled", "blind", "failed":
		return "▲"
	case "warning", "warn", "coarse", "paused":
		return "◆"
	case "info", "pending", "latched":
		return "●"
	case "ok", "resolved", "running", "full":
		return "✓"
	default:
		return "○"
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// ago says in one or two units how long ago something was.
func ago(d time.Duration) string {
	if d < 0 {
		return "in " + span(-d)
	}
	if d < time.Second {
		return "just now"
	}
	return span(d) + " ago"
}

// span writes a duration with at most two units.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < 24*time.Hour:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	default:
		return two(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
	}
}

func two(a int, unit string, b int, sub string) string {
	if b == 0 {
		return fmt.Sprintf("%d %s", a, unit)
	}
	return fmt.Sprintf("%d %s %d %s", a, unit, b, sub)
}

// scaleOf chooses the factor and the unit in which a value reads well: 12.5e9
// B/s are 12.5 GB/s.
func scaleOf(v float64, unit string) (factor float64, name string) {
	v = math.Abs(v)
	switch unit {
	case "ratio":
		return 100, "%"
	case "s", "s/s":
		for _, p := range []struct {
			at   float64
			name string
		}{{1, ""}, {1e-3, "m"}, {1e-6, "µ"}} {
			if v >= p.at || p.at == 1e-6 && v > 0 {
				return 1 / p.at, p.name + unit
			}
		}
		return 1, unit
	case "B/s", "B", "Hz", "W", "":
		for _, p := range []struct {
			at   float64
			name string
		}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if v >= p.at {
				return 1 / p.at, p.name + unit
			}
		}
	case "count":
		return 1, "/s"
	case "number", "flag", "enum", "bits", "code":
		return 1, ""
	}
	return 1, unit
}

// quantity writes a value with its unit.
func quantity(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "unknown"
	}
	factor, name := scaleOf(v, unit)
	text := trim(v * factor)
	if name == "" {
		return text
	}
	return text + " " + name
}

// trim writes about three digits.
func trim(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	default:
		s := fmt.Sprintf("%.2f", v)
		return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
}

// turn says a value before and after the onset, as far as it is known.
func turn(before, after float64, unit, onset, it string) string {
	b, a := quantity(before, unit)+" before"+onset, quantity(after, unit)+" after"
	switch {
	case math.IsNaN(before) && math.IsNaN(after):
		return "not known"
	case math.IsNaN(before):
		return a + onset
	case math.IsNaN(after):
		return b
	}
	return b + " and " + a + it
}
