package signals

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
)

// WriteText prints the coverage as tables for people.
func (c *Coverage) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "SIGNAL\tDIALECT\tENTITIES\tAGE\tREMARKS")
	var none []string
	for _, s := range c.Signals {
		if s.Dialect == "" {
			none = append(none, s.Signal)
			continue
		}
		entities := strconv.Itoa(s.Entities)
		if s.Expected > 0 {
			entities = fmt.Sprintf("%d of %d", s.Entities, s.Expected)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.0fs\t%s\n", s.Signal, s.Dialect, entities, s.Age, s.remarks())
	}
	fmt.Fprintln(tw)
	fmt.Fprintln(tw, "CLASS\tDIAGNOSIS\tMISSING")
	for _, k := range c.Classes {
		var missing []string
		for _, m := range k.Missing {
			missing = append(missing, strings.Join(m, " or "))
		}
		for i := range k.Partly {
			missing = append(missing, k.Partly[i].String())
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", k.Class, k.Level, strings.Join(missing, "; "))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("coverage: %w", err)
	}
	var b strings.Builder
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			b.WriteString("\n" + title + "\n  " + strings.Join(lines, "\n  ") + "\n")
		}
	}
	section("Signals that nobody offers here:", []string{strings.Join(none, ", ")})
	section("What would add them:", c.hints())
	var short []string
	for _, s := range c.Short {
		short = append(short, fmt.Sprintf("%s: %d of %d %s", s.Host, s.Found, s.Expected, s.What))
	}
	section("Hosts that show less than the others:", short)
	section("Configured, but matching nothing:", c.Idle)
	section("Not reported now:", c.Gaps)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("coverage: %w", err)
	}
	return nil
}

func (s *SignalCoverage) remarks() string {
	var out []string
	for _, name := range sortedKeys(s.Repairs) {
		out = append(out, fmt.Sprintf("%s (%d targets)", name, s.Repairs[name]))
	}
	for _, name := range sortedKeys(s.Unused) {
		out = append(out, fmt.Sprintf("%d %s", s.Unused[name], name))
	}
	return strings.Join(out, ", ")
}

// hints collects what to switch on for the classes that could be diagnosed
// better, with the classes each would help.
func (c *Coverage) hints() []string {
	helps := map[string][]string{}
	for _, k := range c.Classes {
		for _, h := range k.Enable {
			if !slices.Contains(helps[h], k.Class) {
				helps[h] = append(helps[h], k.Class)
			}
		}
	}
	var out []string
	for _, h := range sortedKeys(helps) {
		out = append(out, h+": "+strings.Join(helps[h], ", "))
	}
	return out
}

// Class returns how well a class can be diagnosed; LevelBlind for an unknown
// one.
func (c *Coverage) Class(name string) Level {
	for i := range c.Classes {
		if c.Classes[i].Class == name {
			return c.Classes[i].Level
		}
	}
	return LevelBlind
}

// CoverageMetrics exports the newest Coverage.
type CoverageMetrics struct {
	entities, expected, age, repairs, class *prometheus.GaugeVec
	unused                                  *prometheus.GaugeVec
	short                                   *prometheus.GaugeVec
	few                                     prometheus.Gauge
}

// NewCoverageMetrics registers the metrics.
func NewCoverageMetrics(reg prometheus.Registerer) *CoverageMetrics {
	vec := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "collwatch", Subsystem: "coverage", Name: name, Help: help}, labels)
		reg.MustRegister(g)
		return g
	}
	few := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "collwatch_series_too_few", Help: "Signals that fewer things report than are known to exist, of those that any reports.",
	})
	reg.MustRegister(few)
	return &CoverageMetrics{
		few:      few,
		entities: vec("entities", "Things with a recent sample of the signal.", "signal", "dialect"),
		expected: vec("expected_entities", "Things of that kind that are known.", "signal", "dialect"),
		age:      vec("newest_sample_age_seconds", "Age of the newest sample of the signal.", "signal", "dialect"),
		repairs:  vec("repaired_targets", "Targets whose unit was found to differ from the usual one.", "signal", "dialect", "repair"),
		unused:   vec("unused_samples", "Samples that were not used, by reason, since the start.", "signal", "dialect", "reason"),
		class:    vec("class_level", "How well a class can be diagnosed: 2 fully, 1 coarsely, 0 not at all.", "class"),
		short:    vec("short_hosts", "Hosts that show fewer things than most hosts do.", "what"),
	}
}

// Set publishes c in place of what was published before.
func (m *CoverageMetrics) Set(c *Coverage) {
	for _, v := range []*prometheus.GaugeVec{m.entities, m.expected, m.age, m.repairs, m.unused, m.class, m.short} {
		v.Reset()
	}
	m.few.Set(0)
	for i := range c.Signals {
		s := &c.Signals[i]
		if s.Dialect != "" && s.Entities < s.Expected {
			m.few.Inc()
		}
		m.entities.WithLabelValues(s.Signal, s.Dialect).Set(float64(s.Entities))
		m.expected.WithLabelValues(s.Signal, s.Dialect).Set(float64(s.Expected))
		if s.Dialect != "" {
			m.age.WithLabelValues(s.Signal, s.Dialect).Set(s.Age)
		}
		for name, n := range s.Repairs {
			m.repairs.WithLabelValues(s.Signal, s.Dialect, name).Set(float64(n))
		}
		for name, n := range s.Unused {
			m.unused.WithLabelValues(s.Signal, s.Dialect, name).Set(float64(n))
		}
	}
	for i := range c.Classes {
		m.class.WithLabelValues(c.Classes[i].Class).Set(map[Level]float64{LevelFull: 2, LevelCoarse: 1}[c.Classes[i].Level])
	}
	for _, what := range []string{"GPUs", "NICs"} {
		m.short.WithLabelValues(what).Set(0)
	}
	for _, s := range c.Short {
		m.short.WithLabelValues(s.What).Inc()
	}
}
