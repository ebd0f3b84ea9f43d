package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// strangers are hosts that topology and series do not both know. A few are
// nothing: they are off, or have no GPU. If they are all, one side names hosts
// otherwise, and what the topology says is about nobody.
type strangers struct {
	noSeries []string // with a place in the topology, sorted
	noPlace  []string // with series about NICs, GPUs or collectives, sorted
	met      int      // with both
}

// compareHosts looks at the hosts of a fabric and at those that series are
// about.
func compareHosts(f *topology.Fabric, list *signals.Entities) strangers {
	seen := map[string]bool{} // whether it takes part in training
	for i := range list.Len() {
		if e := list.Of(signals.EntityID(i)); e.Host != "" && e.Kind != signals.KindSwitchPort {
			seen[e.Host] = seen[e.Host] || e.Kind != signals.KindHost && e.Kind != signals.KindJob
		}
	}
	var s strangers
	placed := map[string]bool{}
	for _, host := range f.Hosts() {
		if f.HostLeaf(host) == "" && len(f.HostLeaves(host)) == 0 && f.Rack(host) == "" && f.Domain(host) == "" {
			continue
		}
		placed[host] = true
		if _, ok := seen[host]; ok {
			s.met++
		} else {
			s.noSeries = append(s.noSeries, host)
		}
	}
	for host, trains := range seen {
		if trains && !placed[host] {
			s.noPlace = append(s.noPlace, host)
		}
	}
	slices.Sort(s.noSeries)
	slices.Sort(s.noPlace)
	return s
}

// apart says that the two have no host in common, although both have some.
func (s *strangers) apart() bool { return s.met == 0 && len(s.noSeries) > 0 && len(s.noPlace) > 0 }

// lines says it, a sentence each.
func (s *strangers) lines() (out []string) {
	if s.apart() {
		return []string{fmt.Sprintf("no host of the topology has series: it knows %s, series are about %s; is one of them named otherwise?", few(s.noSeries), few(s.noPlace))}
	}
	if len(s.noSeries) > 0 {
		out = append(out, "hosts of the topology without series: "+few(s.noSeries))
	}
	// Where few have a place the rest is no news: dumps are about single hosts.
	if n := len(s.noPlace); n > 0 && s.met > n {
		out = append(out, "hosts with series and without a place in the topology: "+few(s.noPlace))
	}
	return out
}

// few lists the first names, and how many more there are.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
