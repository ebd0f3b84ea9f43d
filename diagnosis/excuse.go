package diagnosis

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// restarted returns the restart of a host within a grace, or nil.
func (c *Case) restarted(host string, grace time.Duration) *detectors.Finding {
	for _, f := range c.On(hostEntity(host)) {
		if f.Code == detectors.CodeBoot && c.Now.Sub(f.Since) <= grace {
			return f
		}
	}
	return nil
}

// excused says whether nothing may be concluded about the devices of a host: it
// was taken out of service, or restarted, or its NIC driver was loaded anew.
func (c *Case) excused(host string, grace time.Duration) bool {
	on := hostEntity(host)
	return c.restarted(host, grace) != nil || c.Has(on, detectors.CodeDrained) != nil || c.Has(on, detectors.CodeDriverReload) != nil
}

// ofCode groups the findings with any of some codes by thing, in a stable order.
func (c *Case) ofCode(codes ...string) (things []signals.Entity, by map[signals.Entity][]*detectors.Finding) {
	by = map[signals.Entity][]*detectors.Finding{}
	for _, code := range codes {
		for _, f := range c.Code(code) {
			t := c.thing(f.Entity)
			if by[t] == nil {
				things = append(things, t)
			}
			by[t] = append(by[t], f)
		}
	}
	slices.SortFunc(things, compareEntities)
	return things, by
}

// hostsOf is the set of hosts of some things.
func hostsOf(things []signals.Entity) map[string]bool {
	out := map[string]bool{}
	for _, e := range things {
		if e.Host != "" {
			out[e.Host] = true
		}
	}
	return out
}

// sortedSet lists a set in order.
func sortedSet(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// sortedThings lists a set in order.
func sortedThings(m map[signals.Entity]bool) []signals.Entity {
	return slices.SortedFunc(maps.Keys(m), compareEntities)
}

// listed joins names for people and counts where there are many.
func listed(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + count(len(names)-most, "more")
}

// stage is where a thing is plugged in: its leaf, or its rail where no leaf is
// known. assumed says that the rail follows from the order of devices only.
type stage struct {
	leaf, rail string
	assumed    bool
	// whole says that a label puts whole hosts on the leaf.
	whole bool
}

// stagesOf lists what a NIC may be behind, the best known first. Where only
// labels of whole hosts are known, the fault of a rail and that of a top-of-rack
// switch are both possible, and what is sick tells them apart.
func (c *Case) stagesOf(nic signals.Entity) []stage {
	p := c.Port(nic)
	switch {
	case p == nil:
		return nil
	case p.Leaf != "":
		return []stage{{leaf: p.Leaf}}
	}
	var out []stage
	if leaf := c.Fabric.HostLeaf(nic.Host); leaf != "" {
		out = append(out, stage{leaf: leaf, whole: true})
	}
	if p.Rail != "" {
		out = append(out, stage{rail: p.Rail, assumed: p.RailAssumed})
	}
	return out
}

// leafStage is the leaf with a name, by its ports where they are known.
func (c *Case) leafStage(name string) stage {
	if len(c.Fabric.Under(name)) > 0 {
		return stage{leaf: name}
	}
	return stage{leaf: name, whole: true}
}

// members are all compute NICs of a stage.
func (c *Case) members(s stage) []signals.Entity {
	var ports []*topology.Port
	switch {
	case s.whole:
		for _, host := range c.Fabric.OnHostLeaf(s.leaf) {
			ports = append(ports, c.Fabric.Ports(host)...)
		}
	case s.leaf != "":
		ports = c.Fabric.Under(s.leaf)
	default:
		ports = c.Fabric.OnRail(s.rail)
	}
	out := make([]signals.Entity, 0, len(ports))
	for _, p := range ports {
		// What is not read of a switch is not known to be sick; of a rail, which
		// reaches everywhere, the part that is read speaks.
		if p.Compute && (s.leaf != "" || !c.opts.Unread[p.Host]) {
			out = append(out, nicEntity(p.Host, p.Device))
		}
	}
	return out
}

// inService are the members of a stage that could be seen to fail: not those whose
// link was never up since anybody looks, nor those of hosts out of service. A fault
// of the stage does not show at them.
func (c *Case) inService(s stage) []signals.Entity {
	return slices.DeleteFunc(c.members(s), func(nic signals.Entity) bool {
		return c.neverUp(nic) || c.Has(hostEntity(nic.Host), detectors.CodeDrained) != nil
	})
}

// neverUp says that the link of a NIC was never up since anybody looks.
func (c *Case) neverUp(nic signals.Entity) bool {
	return c.memory.dark[nic] && c.Has(nic, detectors.CodePortNotActive) == nil
}

// suspect is a stage as a suspect.
func (s stage) suspect() Suspect {
	if s.leaf != "" {
		return Suspect{Kind: "switch", Switch: s.leaf, Score: 1}
	}
	return Suspect{Kind: "rail", Device: s.rail, Score: 1}
}

func (s stage) scope() string {
	if s.leaf != "" {
		return "leaf:" + s.leaf
	}
	return "rail:" + s.rail
}

func (s stage) String() string {
	if s.leaf != "" {
		return s.leaf
	}
	return "rail " + s.rail
}

// sickStages returns the stages of which more than the majority of the members,
// on at least MinMembers hosts, are among the sick, with those members. A switch
// that holds whole hosts takes all of their rails with it: what is below it says
// nothing of a rail.
func (c *Case) sickStages(sick []signals.Entity) (order []stage, by map[stage][]signals.Entity) {
	order, by = c.possibleStages(sick)
	below := map[signals.Entity]bool{}
	for _, s := range order {
		if s.whole {
			for _, nic := range by[s] {
				below[nic] = true
			}
		}
	}
	if len(below) == 0 {
		return order, by
	}
	return slices.DeleteFunc(order, func(s stage) bool {
		if s.leaf == "" {
			by[s] = slices.DeleteFunc(by[s], func(nic signals.Entity) bool { return below[nic] })
		}
		return !c.mostOf(s, by[s])
	}), by
}

// possibleStages is sickStages where a port may be behind a switch and a rail at
// once; switches come first.
func (c *Case) possibleStages(sick []signals.Entity) (order []stage, by map[stage][]signals.Entity) {
	by = map[stage][]signals.Entity{}
	for _, nic := range sick {
		for _, s := range c.stagesOf(nic) {
			by[s] = append(by[s], nic)
		}
	}
	for s, list := range by {
		if c.mostOf(s, list) {
			order = append(order, s)
		}
	}
	slices.SortFunc(order, func(a, b stage) int {
		if (a.leaf == "") != (b.leaf == "") {
			return strings.Compare(b.leaf, a.leaf) // none last
		}
		return strings.Compare(a.String(), b.String())
	})
	return order, by
}

// mostOf says whether some members of a stage are most of it.
func (c *Case) mostOf(s stage, list []signals.Entity) bool {
	hosts := len(hostsOf(list))
	if hosts < c.opts.MinMembers {
		return false // mostly so: the members need not be looked at
	}
	all := c.inService(s)
	return float64(hosts) > c.opts.Majority*float64(len(hostsOf(all))) && float64(len(list)) > c.opts.Majority*float64(len(all))
}

// harmAll fills jobs and counts of a hypothesis about many things. The job is
// named only if it is the only one.
func (c *Case) harmAll(h *Hypothesis, things []signals.Entity) {
	jobs, users := map[string]bool{}, map[string]bool{}
	ended := true
	for _, e := range things {
		ids, over := c.Harmed(e, h.StartedAt)
		for _, id := range ids {
			jobs[id] = true
			users[id] = users[id] || !c.beside(e, id)
		}
		ended = ended && over
	}
	h.Jobs, h.Beside = sortedSet(jobs), nil
	for _, id := range h.Jobs {
		if !users[id] {
			h.Beside = append(h.Beside, id)
		}
	}
	if len(h.Jobs) == 1 {
		h.Job, h.JobEnded = h.Jobs[0], ended && len(h.Beside) == 0
	}
	h.AffectedHosts = len(hostsOf(things))
	for _, e := range things {
		if _, ok := c.GPUOf(e); ok || e.Kind == signals.KindGPU {
			h.AffectedGPUs++
		}
	}
}

// about is a hypothesis about one NIC, GPU or host with what all such have.
func (c *Case) about(class Class, reason string, thing signals.Entity, since time.Time) Hypothesis {
	h := newHypothesis(class, reason)
	h.StartedAt = since
	h.TieSet = 1
	h.Confidence = High
	h.Covers = []signals.Entity{thing}
	h.Hosts = []string{thing.Host}
	h.AffectedHosts = 1
	switch thing.Kind {
	case signals.KindNIC:
		h.Suspects = []Suspect{c.NICSuspect(thing)}
		h.Needs = []signals.ID{signals.NICState}
	case signals.KindGPU:
		h.Suspects = []Suspect{{Kind: "gpu", Node: thing.Host, Device: thing.Device, Score: 1}}
		h.AffectedGPUs = 1
		h.Needs = []signals.ID{signals.GPUUtil}
	default:
		h.Suspects = []Suspect{{Kind: "node", Node: thing.Host, Score: 1}}
	}
	c.Lead(&h, thing)
	h.Scope = "job"
	if h.Job == "" {
		h.Scope = "host:" + thing.Host
	}
	return h
}
