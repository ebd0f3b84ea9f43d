package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/sim"
)

// demoFaults are the faults to choose from, as scenarios of the simulator.
var demoFaults = map[string]struct{ scenario, says string }{
	"nic":       {"S01", "one NIC negotiates a quarter of its speed"},
	"straggler": {"S15", "one host starves its training processes of CPU"},
	"stall":     {"S16", "one GPU falls off the bus and the job hangs"},
	"none":      {"R16", "nothing is wrong"},
}

// demoHealthy and demoAfter are the simulated times before and after the onset.
const (
	demoHealthy = 20 * time.Minute
	demoAfter   = 8 * time.Minute
)

func demoCommand(app *kingpin.Application) (string, action) {
	cmd := app.Command("demo", "Simulate a cluster of 16 hosts with a fault and show how it is found. Needs nothing installed.")
	fault := cmd.Flag("fault", "nic, straggler, stall or none.").Default("nic").Enum("nic", "straggler", "stall", "none")
	seed := cmd.Flag("seed", "Seed of the simulation; the same seed gives the same run. 0 draws one.").Default("0").Uint64()
	elsewhere := cmd.Flag("elsewhere", "Let the seed choose the host and device at fault.").Bool()
	target := cmd.Flag("alertmanager.url", "Also post the alert to this Alertmanager.").PlaceHolder("URL").String()
	return cmd.FullCommand(), func(ctx context.Context, e *env) error {
		d := &demo{env: e, fault: *fault, seed: *seed, elsewhere: *elsewhere, target: *target}
		if d.seed == 0 {
			d.seed = rand.Uint64N(1 << 32)
		}
		return d.run(ctx)
	}
}

// demo is one run of the demonstration.
type demo struct {
	*env
	fault     string
	seed      uint64
	elsewhere bool
	target    string

	onset  time.Time
	asm    *assembly
	opened []incidents.Incident
	ticks  int
	series int
}

func (d *demo) run(ctx context.Context) error {
	began := time.Now()
	db, err := embedprom.Open(embedprom.Options{})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer db.Close()
	cfg, err := d.config()
	if err != nil {
		return err
	}
	end, err := d.simulate(ctx, db)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.asm, err = assemble(cfg, map[string]promapi.Querier{"simulated": db.Querier()}, nil)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	watch := d.onset.Add(-2 * time.Minute)
	if err := d.asm.engine.WarmUp(ctx, d.onset.Add(-demoHealthy), watch, cfg.Global.Interval.Std()); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.heading("what the daemon says, by time since the fault began")
	if err := d.asm.engine.Replay(ctx, watch, end, cfg.Global.Interval.Std(), d.tick); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := d.show(ctx, cfg, end); err != nil {
		return err
	}
	d.printf("\n%d evaluations of %d series over %s of simulated time, %.1f s in all.\n",
		d.ticks, d.series, incidents.Span(end.Sub(watch)), time.Since(began).Seconds())
	return nil
}

func (d *demo) config() (*config.Config, error) {
	cfg := config.Default()
	cfg.Global.Cluster = "demo"
	if d.target != "" {
		u, err := config.ParseURL(d.target)
		if err != nil || u.IsZero() || u.Host() == "" {
			return nil, usageError(fmt.Errorf("demo: --alertmanager.url %q is no URL", d.target))
		}
		cfg.Alertmanager.Targets = []config.Target{{Name: "demo", URL: u, Timeout: config.Duration(10 * time.Second)}}
		cfg.Alertmanager.Heartbeat = false
	}
	return &cfg, nil
}

// simulate fills the store and returns the time of the last sample. The run ends
// now, so that an alert that is really posted is not taken for an old one.
func (d *demo) simulate(ctx context.Context, db *embedprom.DB) (time.Time, error) {
	f := demoFaults[d.fault]
	scenario, ok := sim.Find(f.scenario)
	if d.fault == "none" {
		scenario, ok = sim.Find("S01")
		scenario.Build = nil
	}
	if !ok {
		return time.Time{}, fmt.Errorf("no scenario %s", f.scenario)
	}
	scenario.After = demoAfter
	end := time.Now().UTC().Truncate(time.Minute)
	sink := db.Appender()
	run, err := scenario.New(sim.Params{
		Seed: d.seed, Elsewhere: d.elsewhere, Onset: demoHealthy, Start: end.Add(-demoHealthy - demoAfter),
	}, sink)
	if err != nil {
		return time.Time{}, err
	}
	d.onset = run.Truth.Onset
	shape := run.Cluster.Shape()
	d.heading("the simulated cluster")
	d.printf("%d hosts with %d GPUs and %d NICs each, one training job, scraped like a real one.\n", len(shape.Hosts), shape.GPUs, len(shape.NICs))
	d.printf("Seed %d. %s of healthy training, then: %s.\n", d.seed, demoHealthy, f.says)
	start := time.Now()
	if err := run.Cluster.Run(ctx, run.Until); err != nil {
		return time.Time{}, err
	}
	if err := sink.Commit(); err != nil {
		return time.Time{}, err
	}
	d.printf("Simulated in %s into an embedded Prometheus.\n", time.Since(start).Round(10*time.Millisecond))
	return end, nil
}

func (d *demo) tick(t engine.Tick) error {
	if t.Err != nil {
		return t.Err
	}
	d.ticks++
	d.series = max(d.series, t.Series)
	for i := range t.Events {
		ev := &t.Events[i]
		inc := &ev.Incident
		d.printf("%s  %-7s  %s %s: %s\n", d.clock(ev.Time), ev.Kind, inc.Severity, inc.Verdict.Class,
			d.asm.opts.renderer.Annotations(inc)["summary"])
		if ev.Kind == incidents.EventOpen && inc.Announced {
			d.opened = append(d.opened, *inc)
		}
	}
	return nil
}

// clock is the time since the onset.
func (d *demo) clock(t time.Time) string {
	s := t.Sub(d.onset).Round(time.Second)
	if s < 0 {
		return fmt.Sprintf("%7s", s)
	}
	return fmt.Sprintf("%7s", "+"+s.String())
}

func (d *demo) show(ctx context.Context, cfg *config.Config, now time.Time) error {
	if len(d.opened) == 0 {
		d.printf("\nNo incident.\n")
		if d.fault == "none" {
			return nil
		}
		return &exitError{code: exitFindings, err: errors.New("demo: the fault was not found")}
	}
	r := &d.asm.opts.renderer
	for _, inc := range d.asm.manager.Live() {
		if inc.State == incidents.Open || inc.State == incidents.Latched {
			d.incident(&inc, r)
		}
	}
	keep := 4 * max(cfg.Global.Interval.Std(), cfg.Alertmanager.ResendDelay.Std())
	payload := alertmanager.Payload(d.asm.manager.Live(), d.asm.manager.Ended(), r, now, keep)
	d.heading("posted to Alertmanager: POST /api/v2/alerts")
	enc := json.NewEncoder(d.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(payload); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d.heading("the Slack message as text")
	for _, inc := range d.asm.manager.Live() {
		if inc.State == incidents.Open || inc.State == incidents.Latched {
			d.printf("%s\n", slackText(&inc, r))
		}
	}
	if d.target == "" {
		return nil
	}
	return d.post(ctx, cfg)
}

// incident prints what an on-call engineer wants first.
func (d *demo) incident(inc *incidents.Incident, r *incidents.Renderer) {
	notes := r.Annotations(inc)
	d.heading("the incident")
	d.printf("%s\n", notes["summary"])
	d.printf("  class       %s, reason %s\n", inc.Verdict.Class, inc.Verdict.Reason)
	d.printf("  severity    %s, confidence %s\n", inc.Severity, inc.Verdict.Confidence)
	d.printf("  suspect     %s\n", suspectLine(inc))
	d.printf("  found       %s after the fault began\n", incidents.Span(inc.FiredAt.Sub(d.onset)))
	for i, e := range inc.Verdict.Evidence {
		head := ""
		if i == 0 {
			head = "evidence"
		}
		d.printf("  %-10s  - %s\n", head, e.Text)
	}
	if next := notes["next_step"]; next != "" {
		d.printf("  next step   %s\n", next)
	}
	if c := notes["command"]; c != "" {
		d.printf("              $ %s\n", c)
	}
}

func suspectLine(inc *incidents.Incident) string {
	return suspectNames(inc.NamedSuspects(), inc.Verdict.TieSet)
}

func suspectNames(suspects []diagnosis.Suspect, candidates int) string {
	var parts []string
	for _, s := range suspects {
		name := s.Node
		if s.Device != "" {
			name += "/" + s.Device
		}
		if s.Switch != "" {
			name = strings.TrimPrefix(name+" - "+s.Switch, " - ")
		}
		parts = append(parts, s.Kind+" "+name)
	}
	if len(parts) == 0 {
		return fmt.Sprintf("nobody can be named (%d candidates)", candidates)
	}
	return strings.Join(parts, ", ")
}

// post really delivers, through the same notifier as the daemon.
func (d *demo) post(ctx context.Context, cfg *config.Config) error {
	n, err := alertmanager.New(alertmanager.Options{
		Source: d.asm.manager, Renderer: &d.asm.opts.renderer, Targets: alertmanagerTargets(cfg, nil),
		Interval: cfg.Global.Interval.Std(), ResendDelay: cfg.Alertmanager.ResendDelay.Std(), Logger: d.log, UserAgent: userAgent(),
	})
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	// The notifier delivers what is pending before it ends.
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if err := n.Run(ctx); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	u, _ := url.Parse(d.target)
	for _, inc := range d.asm.manager.Live() {
		// The notifier notes what was acknowledged, and nothing else.
		if told := inc.State == incidents.Open || inc.State == incidents.Latched; told && inc.Announced && len(inc.Deliveries) == 0 {
			return fmt.Errorf("demo: not delivered to %s: the log says why", u.Redacted())
		}
	}
	d.printf("\nPosted to %s.\n", u.Redacted())
	return nil
}

func (d *demo) heading(s string) {
	d.printf("\n── %s %s\n", s, strings.Repeat("─", max(0, 74-len(s))))
}

func (d *demo) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(d.stdout, format, args...)
}
