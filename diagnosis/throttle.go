package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// throttleFamily judges GPUs that run below the clock of their job: one, most of
// a host, or a rack.
func newThrottleFamily() Family {
	f := &throttleFamily{groups: map[string]*hotGroup{}}
	return Family{Name: "throttle", Judge: f.judge, Memory: f}
}

type throttleFamily struct {
	groups map[string]*hotGroup // by rack, "" for hosts whose rack is unknown
}

// hotGroup is a group of hosts that got hot together. Its members are those it
// had when it was first told, so that it keeps its name.
type hotGroup struct {
	hosts      map[string]bool
	grew, seen time.Time
	told       bool
}

// groupHold is how long a group must not have grown before it is told.
const groupHold = 90 * time.Second

func (f *throttleFamily) judge(c *Case) []Hypothesis {
	gpus := c.throttled()
	groups, rest := f.hotGroups(c, gpus)
	singles := c.singles(rest)
	if len(groups) == 0 && c.gettingHot() {
		for i := range singles {
			singles[i].Mute = singles[i].Reason == "thermal"
		}
	}
	for rack, g := range f.groups {
		if c.Now.Sub(g.seen) > 10*time.Minute {
			delete(f.groups, rack)
		}
	}
	return append(groups, singles...)
}

// gettingHot says whether GPUs of several hosts became hot a moment ago: a
// group may be forming, and its first member is not the culprit. Two hosts are
// enough if several of their GPUs are hot: single hot GPUs are not a group.
func (c *Case) gettingHot() bool {
	hosts, gpus := map[string]bool{}, map[signals.Entity]bool{}
	for _, code := range []string{detectors.CodeHot, detectors.CodeClockBelow, detectors.CodeThrottleReason} {
		for _, x := range c.Code(code) {
			// The reason is seen before the clock has fallen far.
			if code == detectors.CodeThrottleReason && bitsReason(int64(x.Value)) != "thermal" {
				continue
			}
			if c.Now.Sub(x.Since) < 4*groupHold {
				hosts[x.Entity.Host], gpus[x.Entity.Thing()] = true, true
			}
		}
	}
	return len(hosts) >= c.opts.MinMembers || len(hosts) >= 2 && len(gpus) > 2*len(hosts)
}

// throttledGPU is one GPU that meets the needs of gpu_throttle.
type throttledGPU struct {
	gpu      signals.Entity
	reason   string
	since    time.Time
	conf     Confidence
	evidence []Evidence
}

const (
	// clockWithout and criticalLoss are defaults of Options.
	clockWithout = 0.8
	criticalLoss = 0.25
)

func (c *Case) throttled() []throttledGPU {
	things, by := c.ofCode(detectors.CodeClockBelow)
	var out []throttledGPU
	for _, gpu := range things {
		if g, ok := c.throttle(gpu, by[gpu][0]); ok {
			out = append(out, g)
		}
	}
	return out
}

// throttle grades one GPU: clock and reason bits; without that field clock and
// heat, or clock and the violation counters.
func (c *Case) throttle(gpu signals.Entity, clock *detectors.Finding) (throttledGPU, bool) {
	g := throttledGPU{gpu: gpu, since: clock.Since, evidence: []Evidence{c.say(clock, true)}}
	var bits int64
	var hot, held *detectors.Finding
	for _, x := range c.On(gpu) {
		switch x.Code {
		case detectors.CodeThrottleReason:
			bits = int64(x.Value)
			g.evidence = append(g.evidence, tell(x.Signal, x.Entity, true, "%s: clock event reasons 0x%x, which most of its %d peers do not have", gpu, bits, x.Peers))
		case detectors.CodeHot:
			hot = x
			g.evidence = append(g.evidence, c.say(x, false))
		case detectors.CodeThrottleTime:
			held = x
			g.evidence = append(g.evidence, c.say(x, false))
		}
	}
	low := clock.Value < c.opts.ThrottleClock*clock.Expected
	switch {
	case bits != 0:
		g.reason, g.conf = bitsReason(bits), High
		if g.reason == "hw_slowdown" && hot != nil {
			g.reason = "thermal"
		}
	case low && hot != nil:
		g.reason, g.conf = "thermal", High
	case low && held != nil:
		g.reason, g.conf = causeReason(held.Entity.Detail), High
	case hot != nil && !c.Offered(signals.GPUClockReasons) && c.sagged(gpu, clock):
		g.reason, g.conf = "thermal", Medium
	case low && !c.Offered(signals.GPUClockReasons) && c.lateOn(gpu):
		g.reason, g.conf = "clock_only", Medium
	default:
		return g, false
	}
	return g, true
}

// sagged says whether a GPU lost its clock while its job was watched, or has
// its job wait for it: one that was always slower and hotter than its peers, but
// not by much, is another model or another place in the rack.
func (c *Case) sagged(gpu signals.Entity, clock *detectors.Finding) bool {
	if c.lateOn(gpu) {
		return true
	}
	jobs := c.JobsOf(gpu)
	return len(jobs) > 0 && clock.Since.Sub(c.WatchedSince(jobs[0])) > builtIn
}

func bitsReason(bits int64) string {
	switch {
	case bits&(detectors.ReasonSWThermal|detectors.ReasonHWThermal) != 0:
		return "thermal"
	case bits&detectors.ReasonPowerBrake != 0:
		return "power"
	}
	return "hw_slowdown"
}

func causeReason(cause string) string {
	switch cause {
	case "thermal", "power":
		return cause
	}
	return "hw_slowdown"
}

// lateOn says whether a job waits for a GPU.
func (c *Case) lateOn(gpu signals.Entity) bool {
	for _, x := range c.On(gpu) {
		if x.Pattern == detectors.Late {
			return true
		}
	}
	return false
}

// singles makes one verdict a GPU, or one a host where most of its GPUs in the
// job throttle together: that is the host's power or air.
func (c *Case) singles(gpus []throttledGPU) []Hypothesis {
	byHost := map[string][]throttledGPU{}
	hosts := map[string]bool{}
	for _, g := range gpus {
		byHost[g.gpu.Host] = append(byHost[g.gpu.Host], g)
		hosts[g.gpu.Host] = true
	}
	var out []Hypothesis
	for _, host := range sortedSet(hosts) {
		list := byHost[host]
		if len(list) >= 3 && 2*len(list) > c.gpusOn(host) {
			h := c.about(GPUThrottle, list[0].reason, hostEntity(host), list[0].since)
			h.AffectedGPUs = len(list)
			h.Evidence = append(h.Evidence, tell(signals.GPUSMClock, hostEntity(host), true, "%d of %d GPUs of %s run slower together", len(list), c.gpusOn(host), host))
			h.Evidence = append(h.Evidence, list[0].evidence...)
			c.lossSeverity(&h)
			out = append(out, h)
			continue
		}
		for _, g := range list {
			h := c.about(GPUThrottle, g.reason, g.gpu, g.since)
			h.Confidence = g.conf
			h.Evidence = g.evidence
			h.Needs = []signals.ID{signals.GPUSMClock}
			c.lossSeverity(&h)
			out = append(out, h)
		}
	}
	return out
}

// gpusOn is the number of GPUs of a host that work for jobs.
func (c *Case) gpusOn(host string) int {
	n := 0
	for _, j := range c.onHost[host] {
		for _, g := range j.GPUs {
			if g.Host == host {
				n++
			}
		}
	}
	return n
}

// lossSeverity makes a throttle critical if its job is known to lose more than a
// quarter of its speed.
func (c *Case) lossSeverity(h *Hypothesis) {
	for _, x := range c.OfJob(h.Job) {
		if x.Signal != signals.StepTime || x.Direction != signals.Up || !(x.Expected > 0) {
			continue
		}
		if loss := 1 - x.Expected/x.Value; loss > 0 {
			h.Evidence = append(h.Evidence, tell(signals.StepTime, x.Entity, false, "job %s: step time %s against %s before, %s %% of its speed",
				h.Job, Human(x.Signal, x.Value), Human(x.Signal, x.Expected), figure(loss*100)))
			if loss > c.opts.ThrottleCritical {
				h.Severity = Critical
			}
		}
	}
}

// hotGroups finds racks, or groups of hosts, that are hot and slow together.
func (f *throttleFamily) hotGroups(c *Case, gpus []throttledGPU) (out []Hypothesis, rest []throttledGPU) {
	perHost := map[string]int{}
	for _, g := range gpus {
		if g.reason == "thermal" {
			perHost[g.gpu.Host]++
		}
	}
	racks, partly := map[string][]string{}, map[string][]string{}
	names := map[string]bool{}
	for host, n := range perHost {
		rack := c.Fabric.Rack(host)
		partly[rack] = append(partly[rack], host)
		if 2*n >= c.gpusOn(host) {
			racks[rack] = append(racks[rack], host)
			names[rack] = true
		}
	}
	taken := map[string]bool{}
	for _, rack := range sortedSet(names) {
		hosts := racks[rack]
		if len(hosts) < c.opts.MinMembers || rack != "" && float64(len(hosts)) <= c.opts.Majority*float64(len(c.Fabric.InRack(rack))) {
			continue
		}
		for _, host := range append(partly[rack], c.Fabric.InRack(rack)...) {
			taken[host] = true
		}
		g := f.group(c, rack, partly[rack])
		h := c.hotGroup(rack, sortedSet(g.hosts), gpus)
		h.Mute = !g.told
		out = append(out, h)
	}
	for _, g := range gpus {
		if !taken[g.gpu.Host] {
			rest = append(rest, g)
		}
	}
	return out, rest
}

// group remembers the members of a group until it is told.
func (f *throttleFamily) group(c *Case, rack string, hosts []string) *hotGroup {
	g := f.groups[rack]
	if g == nil {
		g = &hotGroup{hosts: map[string]bool{}, grew: c.Now}
		f.groups[rack] = g
	}
	g.seen = c.Now
	for _, host := range hosts {
		if !g.told && !g.hosts[host] {
			g.hosts[host], g.grew = true, c.Now
		}
	}
	g.told = g.told || c.Now.Sub(g.grew) >= groupHold
	return g
}

func (c *Case) hotGroup(rack string, hosts []string, gpus []throttledGPU) Hypothesis {
	in := map[string]bool{}
	for _, host := range hosts {
		in[host] = true
	}
	hosts = sortedSet(in)
	h := newHypothesis(ThermalGroup, "rack")
	h.TieSet, h.Confidence, h.Hosts = 1, High, hosts
	h.Needs = []signals.ID{signals.GPUTemp, signals.GPUSMClock}
	var things []signals.Entity
	var sample *throttledGPU
	for i := range gpus {
		if in[gpus[i].gpu.Host] {
			things = append(things, gpus[i].gpu)
			h.StartedAt = onset(h.StartedAt, gpus[i].since)
			sample = &gpus[i]
		}
	}
	if rack != "" {
		h.Suspects, h.Scope = []Suspect{{Kind: "rack", Device: rack, Score: 1}}, "rack:"+rack
	} else {
		h.Reason, h.Scope, h.Confidence = "host_group", "hosts", Medium
		for _, host := range hosts {
			h.Suspects = append(h.Suspects, Suspect{Kind: "node", Node: host, Score: 1})
		}
	}
	c.harmAll(&h, things)
	for _, host := range hosts {
		h.Covers = append(h.Covers, hostEntity(host))
	}
	where := "rack " + rack
	if rack == "" {
		where = "hosts " + listed(hosts)
	}
	h.Evidence = append(h.Evidence, tell(signals.GPUTemp, signals.Entity{}, true, "%s: %d GPUs on %s are hot and slower together", where, len(things), count(len(hosts), "host")))
	if sample != nil {
		h.Evidence = append(h.Evidence, sample.evidence...)
	}
	c.lossSeverity(&h)
	return h
}
