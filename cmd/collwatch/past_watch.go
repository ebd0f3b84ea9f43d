package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// watch runs the daemon's own evaluation over a span of the past and returns the
// incidents that it finds, each as it was last seen. left is what is not read, nil if
// all is.
func watch(ctx context.Context, cfg *config.Config, p *past, s span, left *leftOut, each func(engine.Tick) error) ([]incidents.Incident, *assembly, error) {
	opts, err := assembleOptions(cfg)
	if err != nil {
		return nil, nil, usageError(err)
	}
	opts.signals.ReadAhead = true
	if left != nil {
		opts.signals.Far, opts.diagnosis.Unread, opts.hosts = left.far, left.unread, left.hosts
	}
	a, err := assembleWith(opts, cfg, p.sources, nil)
	if err != nil {
		return nil, nil, usageError(err)
	}
	step := cfg.Global.Interval.Std()
	if begin := s.from.Add(-cfg.Global.WarmUp.Std()); !s.starts && begin.Before(s.from) && !p.first.IsZero() && p.first.Before(s.from) {
		if begin.Before(p.first) {
			begin = p.first
		}
		if err := a.engine.WarmUp(ctx, begin, s.from, step); err != nil {
			return nil, nil, fmt.Errorf("warm-up: %w", err)
		}
	}
	seen := map[string]incidents.Incident{}
	err = a.engine.Skim(ctx, s.from, s.to, step, func(t engine.Tick) error {
		if err := each(t); err != nil {
			return err
		}
		for i := range t.Events {
			seen[t.Events[i].Incident.ID] = t.Events[i].Incident
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return slices.Collect(maps.Values(seen)), a, nil
}

// mostWatched is how much of a side is looked through for faults, and the time
// between two evaluations of it, and before it what is learned. What moves a median covers half of the time or
// more, and so the middle of it; all of a day would cost more than comparing it.
const (
	mostWatched  = time.Hour
	watchedEvery = 30 * time.Second
	mostWarmUp   = 10 * time.Minute
)

// middle is the part of a span that is looked through.
func middle(s span) span {
	if s.to.Sub(s.from) <= mostWatched {
		return s
	}
	half := s.from.Add(s.to.Sub(s.from) / 2)
	return span{from: half.Add(-mostWatched / 2), to: half.Add(mostWatched / 2)}
}

// mostUnnamed is how many hosts a side may have that is no job: without one all of
// the cluster would have to be looked through.
const mostUnnamed = 64

// addFaults puts the incidents of a side into its record. They explain, and are not
// needed to compare: the record says if they could not be looked for.
func addFaults(ctx context.Context, cfg *config.Config, p *past, o *operand, rec *compare.Record) error {
	if o.job == "" && len(rec.Hosts) > mostUnnamed {
		rec.Unwatched = fmt.Sprintf("%s has %d hosts and names no job: incidents were not looked for", o, len(rec.Hosts))
		return nil
	}
	var err error
	if rec.Faults, err = faultsOf(ctx, cfg, p, o); err != nil && ctx.Err() == nil {
		rec.Unwatched = fmt.Sprintf("whether %s had incidents could not be found out: %v", o, err)
	}
	return ctx.Err()
}

// faultsOf are the incidents of a side of a comparison, which nothing that is
// compared can tell from a change. Those of a job are looked for on and around its
// hosts.
func faultsOf(ctx context.Context, cfg *config.Config, p *past, o *operand) ([]compare.Fault, error) {
	own := *cfg
	own.Global.Interval = config.Duration(max(own.Global.Interval.Std(), watchedEvery))
	own.Global.WarmUp = min(own.Global.WarmUp, config.Duration(mostWarmUp))
	s := middle(o.span)
	if o.job == "" {
		return watchedFaults(ctx, &own, p, o, s, nil)
	}
	opts, err := assembleOptions(&own)
	if err != nil {
		return nil, usageError(err)
	}
	around, err := survey(ctx, opts.signals, opts.topology, p, o.job, s)
	if err != nil {
		return nil, err
	}
	for {
		list, err := watchedFaults(ctx, &own, p, o, s, around.leave(around.around(o.job), elsewhere, maxFar(&own)))
		if !around.met(err) {
			return list, err
		}
	}
}

// watchedFaults is faultsOf without what may be left out.
func watchedFaults(ctx context.Context, cfg *config.Config, p *past, o *operand, s span, left *leftOut) ([]compare.Fault, error) {
	found, _, err := watch(ctx, cfg, p, s, left, func(t engine.Tick) error {
		if t.Err != nil {
			return nil //nolint:nilerr // a failed evaluation concludes nothing
		}
		return left.strays(o.job, t.Snapshot.Jobs)
	})
	if err != nil {
		return nil, err
	}
	var out []compare.Fault
	for i := range found {
		inc := &found[i]
		if o.job != "" && !concerns(inc, o.job, left) || inc.Severity == diagnosis.Recorded {
			continue
		}
		out = append(out, faultOf(inc, s))
	}
	slices.SortFunc(out, func(a, b compare.Fault) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Suspect, b.Suspect))
	})
	return out[:min(len(out), mostFaults)], nil
}

// mostFaults keeps a baseline file small, whatever happened.
const mostFaults = 50

func faultOf(inc *incidents.Incident, s span) compare.Fault {
	f := compare.Fault{
		Class: string(inc.Verdict.Class), Severity: inc.Severity.String(), Suspect: suspects(inc),
		Infrastructure: inc.Verdict.Owner == diagnosis.Infrastructure, From: inc.StartedAt.UTC().Truncate(time.Second),
	}
	from, to := inc.StartedAt, s.to
	if from.Before(s.from) {
		from = s.from
	}
	if !inc.ResolvedAt.IsZero() {
		f.To, to = inc.ResolvedAt.UTC().Truncate(time.Second), inc.ResolvedAt
	}
	f.Share = max(0, min(1, to.Sub(from).Seconds()/s.to.Sub(s.from).Seconds()))
	f.Share = float64(int(100*f.Share)) / 100
	return f
}

// suspects names at most three components, in at most as many bytes as a baseline
// file takes.
func suspects(inc *incidents.Incident) string {
	var named []string
	for _, s := range inc.NamedSuspects() {
		text := incidents.Printable(incidents.SuspectText(s))
		if len(text) > 256 {
			text = strings.ToValidUTF8(text[:256], "")
		}
		named = append(named, strings.ReplaceAll(text, "\n", " "))
	}
	if n := len(named); n > 3 {
		named = append(named[:3], fmt.Sprintf("%d more", n-3))
	}
	return strings.Join(named, ", ")
}

// gpuHost are the labels by which GPU exporters name a host, the first first.
var gpuHost = [...]string{"Hostname", "hostname", "exported_node", "node", "kubernetes_node", "instance"}

// gpusOf are the models of the GPUs on some hosts in the middle of a span. It is
// empty if nobody tells: GPUs that are not known are not compared.
func gpusOf(ctx context.Context, cfg *config.Config, p *past, hosts []string, s span) []string {
	selector := `__name__=~"DCGM_FI_DEV_(SM_CLOCK|GPU_UTIL|GPU_TEMP|POWER_USAGE)",modelName!=""`
	if own := strings.Trim(strings.TrimSpace(cfg.Signals.Selector), "{}"); own != "" {
		selector += "," + own
	}
	expr := "group by (modelName," + strings.Join(gpuHost[:], ",") + ") ({" + selector + "})"
	models := map[string]bool{}
	for _, q := range p.sources {
		var res promapi.Result
		if err := q.Instant(ctx, expr, s.from.Add(s.to.Sub(s.from)/2), &res); err != nil {
			continue
		}
		for _, ref := range res.Refs {
			labels := q.Interner().Labels(ref)
			host := ""
			for _, name := range gpuHost {
				if host = labels.Get(name); host != "" {
					break
				}
			}
			if _, ok := slices.BinarySearch(hosts, signals.CanonicalHost(host)); ok {
				models[incidents.Printable(strings.ToValidUTF8(labels.Get("modelName"), ""))] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(models))
}
