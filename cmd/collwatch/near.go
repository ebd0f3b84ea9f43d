package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// A page about a job of 16 hosts must not read a day of a thousand hosts. What its
// verdicts need is
//
//   - everything about the job's hosts and about those that share a switch, a rack or
//     an NVLink domain with them, since neighbours tell a switch from a card;
//   - everything about all hosts of the jobs that run there, since a communicator
//     that is seen in part looks like another one;
//   - the network of some hosts elsewhere: a switch is blamed only while others are
//     calm;
//   - what no host exports: relations of schedulers, switches, the user's own.
const (
	// surveys is how many times the whole cluster is looked at, evenly through the
	// time, each for surveyFor: hosts, cables and jobs change over a day.
	surveys   = 5
	surveyFor = 2 * time.Minute
	// elsewhere is how many hosts stand for all that are far: each has several
	// NICs, and what is asked of them is whether more than half are calm.
	elsewhere = 32
	// worthSurvey is the shortest time that is worth surveying a cluster for, and
	// worthLeaving the least part of hosts that is worth leaving out.
	worthSurvey  = 2 * time.Hour
	worthLeaving = 0.25
	// labelsAtOnce is how many small questions are on their way at once, where the
	// limits of the source allow.
	labelsAtOnce = 4
)

// surroundings are the hosts and targets of a cluster and what connects them.
type surroundings struct {
	places map[string][]signals.Place // by family
	fabric *topology.Fabric
	jobs   map[string]map[string]bool // hosts, by job
	hosts  []string                   // all, in alphabetical order
	extra  map[string]bool            // hosts of the job that no survey met
	unsure bool                       // which hosts these are could not be asked
}

// survey looks at a cluster a few times between from and to.
func survey(ctx context.Context, o signals.Options, t topology.Options, p *past, job string, s span) (*surroundings, error) {
	a := &surroundings{jobs: map[string]map[string]bool{}, extra: map[string]bool{}}
	// Evaluations may be further apart than a survey takes.
	o.ReadAhead, o.Interval = false, min(o.Interval, surveyFor/2)
	r, err := signals.NewReader(o, p.sources)
	if err != nil {
		return nil, usageError(fmt.Errorf("signals: %w", err))
	}
	store := topology.NewStore(t)
	for i := range surveys {
		at := s.from.Add(time.Duration(i) * s.to.Sub(s.from) / (surveys - 1))
		if first := s.from.Add(surveyFor); at.Before(first) {
			at = first
		}
		err := r.WarmUp(ctx, at.Add(-surveyFor), at, o.Interval, func(snap *signals.Snapshot) error {
			a.fabric = store.Update(snap)
			for _, j := range snap.Jobs {
				if !j.Ended {
					a.runs(j)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("survey of the cluster: %w", err)
		}
	}
	a.places = r.Places()
	known := map[string]bool{}
	for _, list := range a.places {
		for _, place := range list {
			for _, h := range place.Hosts {
				known[h] = true
			}
		}
	}
	delete(known, "")
	a.hosts = slices.Sorted(maps.Keys(known))
	return a, a.labelled(ctx, o, r, p, job, s)
}

func (a *surroundings) runs(j *signals.Job) {
	if a.jobs[j.ID] == nil {
		a.jobs[j.ID] = map[string]bool{}
	}
	for _, h := range j.Hosts {
		a.jobs[j.ID][h] = true
	}
}

// labelled adds the hosts that series of the job name at any time: one that was
// replaced between two surveys is one of them.
func (a *surroundings) labelled(ctx context.Context, o signals.Options, r *signals.Reader, p *past, job string, s span) error {
	var selectors []string
	for _, l := range append(signals.JobLabels(), o.JobLabels...) {
		selectors = append(selectors, "{"+l+"="+strconv.Quote(job)+"}")
	}
	var g errgroup.Group
	g.SetLimit(labelsAtOnce)
	labels := append(signals.HostLabels(), o.HostLabels...)
	found := make([][]string, len(labels)*len(p.sources))
	n := 0
	for _, q := range p.sources {
		for _, l := range labels {
			into := &found[n]
			n++
			g.Go(func() (err error) {
				*into, err = q.LabelValues(ctx, l, selectors, promapi.Window{Start: s.from, End: s.to})
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		a.unsure = ctx.Err() == nil
		return ctx.Err()
	}
	for _, v := range slices.Concat(found...) {
		if h := r.HostOf(v); slices.Contains(a.hosts, h) {
			a.extra[h] = true
		}
	}
	return nil
}

// of are the hosts of a job.
func (a *surroundings) of(job string) map[string]bool {
	out := maps.Clone(a.extra)
	maps.Copy(out, a.jobs[job])
	return out
}

// around are the hosts of a job and all that its verdicts depend on.
func (a *surroundings) around(job string) map[string]bool {
	near := a.of(job)
	for h := range a.of(job) {
		for _, leaf := range a.fabric.HostLeaves(h) {
			for _, port := range a.fabric.Under(leaf) {
				near[port.Host] = true
			}
			for _, other := range a.fabric.OnHostLeaf(leaf) {
				near[other] = true
			}
		}
		if rack := a.fabric.Rack(h); rack != "" {
			for _, other := range a.fabric.InRack(rack) {
				near[other] = true
			}
		}
		if domain := a.fabric.Domain(h); domain != "" {
			for _, other := range a.fabric.InDomain(domain) {
				near[other] = true
			}
		}
	}
	beside := maps.Clone(near)
	for _, hosts := range a.jobs {
		for h := range hosts {
			if near[h] {
				maps.Copy(beside, hosts)
				break
			}
		}
	}
	return beside
}

// leftOut is what a reader is spared.
type leftOut struct {
	// far are targets that are not asked, by family.
	far map[string][]string
	// near are the hosts of which all is read, unread those of which nothing is.
	near, unread map[string]bool
	hosts        int // all
}

// leave finds out what may be left out when near are the hosts that matter, and some
// others are compared with. most bounds the text of a list of targets. It returns nil
// where leaving out is not worth it.
func (a *surroundings) leave(near map[string]bool, compare, most int) *leftOut {
	if len(near) == 0 || a.unsure {
		return nil // nobody knows where the job runs
	}
	var others []string
	for _, h := range a.hosts {
		if !near[h] {
			others = append(others, h)
		}
	}
	compared := maps.Clone(near)
	for i := range min(compare, len(others)) {
		compared[others[i*len(others)/min(compare, len(others))]] = true
	}
	out := &leftOut{far: map[string][]string{}, near: near, unread: map[string]bool{}, hosts: len(a.hosts)}
	for _, h := range others {
		if !compared[h] {
			out.unread[h] = true
		}
	}
	if float64(len(out.unread)) < worthLeaving*float64(len(a.hosts)) {
		return nil
	}
	for family, list := range a.places {
		wanted, size := near, 0
		switch family {
		case "host", "infiniband", "rdma", "netdev":
			wanted = compared
		case "inspector", "inspector_g1", "collwatch", "dcgm":
		default:
			continue // is about no single host
		}
		for _, place := range list {
			if place.Instance != "" && len(place.Hosts) > 0 &&
				!slices.ContainsFunc(place.Hosts, func(h string) bool { return h == "" || wanted[h] }) {
				out.far[family] = append(out.far[family], place.Instance)
				size += len(place.Instance) + 8 // escaped
			}
		}
		if size > most {
			return nil
		}
	}
	return out
}

// strayError says that a job ran on hosts that were taken for far.
type strayError struct{ hosts []string }

func (e *strayError) Error() string {
	return "the job also ran on " + strings.Join(e.hosts, ", ")
}

// strays returns the hosts of a job that are not near.
func (l *leftOut) strays(job string, jobs []*signals.Job) error {
	if l == nil {
		return nil
	}
	var out []string
	for _, j := range jobs {
		for _, h := range j.Hosts {
			if j.ID == job && !l.near[h] {
				out = append(out, h)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &strayError{out}
}

// met takes the hosts of a strayError as the job's from now on. It returns false for
// any other error.
func (a *surroundings) met(err error) bool {
	var stray *strayError
	if !errors.As(err, &stray) {
		return false
	}
	for _, h := range stray.hosts {
		a.extra[h] = true
	}
	return true
}

// maxFar bounds the text of what is left out: VictoriaMetrics refuses queries of more
// than 16 KB, and a family has some KB of names. The others take more.
func maxFar(cfg *config.Config) int {
	for i := range cfg.Sources {
		if promapi.Kind(cfg.Sources[i].Kind) == promapi.VictoriaMetrics {
			return 12 << 10
		}
	}
	return 1 << 20
}
