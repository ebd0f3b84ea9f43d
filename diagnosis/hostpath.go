package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// hostPathFamily judges jobs that are slow from their first window on, against
// other jobs of the same shape: a host that all slow jobs share and no fast one
// has, or a setting that the job brought with it.
func hostPathFamily() Family {
	return Family{Name: "hostpath", Judge: func(c *Case) []Hypothesis {
		out := c.sockets()
		return append(out, c.shapeJobs()...)
	}}
}

// sockets tells jobs that fell back to sockets. Every host is alike, so none is
// named.
func (c *Case) sockets() []Hypothesis {
	var out []Hypothesis
	for _, x := range c.Code(detectors.CodeSocketsOnly) {
		if !c.works(x.Job) {
			continue // it loads data or saves, and has nothing to say to its peers
		}
		h := newHypothesis(ConfigSuspected, "tcp_fallback")
		h.Job, h.Scope, h.Jobs, h.Hosts = x.Job, "job", []string{x.Job}, x.Hosts
		h.StartedAt, h.Confidence, h.AffectedHosts = x.Since, Medium, len(x.Hosts)
		h.Needs = []signals.ID{signals.NICTx, signals.HostNetTx}
		h.Evidence = append(h.Evidence, tell(x.Signal, x.Entity, true, "job %s sends at least %s through sockets on each of its %s, and nothing through their NICs",
			x.Job, Human(x.Signal, x.Value), count(len(x.Hosts), "host")))
		out = append(out, h)
	}
	return out
}

// works says that a job goes on, as far as anything tells. Files of the Inspector
// and its GPUs' power lag behind: what is faster tells where it is there.
func (c *Case) works(job string) bool {
	p := c.Progress(job)
	if p == nil {
		return true
	}
	if p.Phase == detectors.PhaseInit && c.Offered(signals.CollExecTime) {
		return false // no collective was seen yet
	}
	slow, fast, runs := false, false, false
	for _, k := range p.Clocks {
		switch k.Name {
		case "nic_bytes": // stands by what sockets mean
		case detectors.ClockInspector, "power":
			slow = slow || k.Running
		default:
			fast, runs = true, runs || k.Running
		}
	}
	if fast {
		return runs
	}
	return slow || len(p.Clocks) == 0
}

// shapeCase is the jobs of one shape.
type shapeCase struct {
	slow, fast []*detectors.Finding
}

// shapeJobs judges each shape that has slow jobs.
func (c *Case) shapeJobs() []Hypothesis {
	shapes := map[signals.Entity]*shapeCase{}
	var order []signals.Entity
	for _, x := range c.Pattern(detectors.BaselineShape) {
		if x.Code != detectors.CodeBelowShape && x.Code != detectors.CodeAtShape {
			continue
		}
		k := x.Entity
		k.Job, k.Version, k.Detail = "", "", ""
		if shapes[k] == nil {
			shapes[k] = &shapeCase{}
			order = append(order, k)
		}
		if x.Code == detectors.CodeBelowShape {
			shapes[k].slow = append(shapes[k].slow, x)
		} else {
			shapes[k].fast = append(shapes[k].fast, x)
		}
	}
	var out []Hypothesis
	for _, k := range order {
		h, ok := c.intersect(shapes[k])
		if ok && !slices.ContainsFunc(out, func(o Hypothesis) bool { return o.Key() == h.Key() }) {
			out = append(out, h)
		}
	}
	return out
}

// intersect looks for the host that all slow jobs share and no fast job has.
func (c *Case) intersect(s *shapeCase) (Hypothesis, bool) {
	slices.SortStableFunc(s.slow, func(a, b *detectors.Finding) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job, b.Job)) })
	if len(s.slow) == 0 || len(s.slow[0].Hosts) < 2 {
		return Hypothesis{}, false
	}
	newest := s.slow[len(s.slow)-1]
	job := c.Job(newest.Job)
	running := job != nil && !job.Ended
	odd := c.oddKernels(newest.Hosts)
	if newest.Value < gdrRatio*newest.Expected && len(odd) == 1 && running {
		return c.path(newest, odd[0]), true
	}
	if c.splitByImage(s) {
		return c.config(newest), running
	}
	candidates := shared(s.slow)
	for _, x := range s.fast {
		candidates = subtract(candidates, x.Hosts)
	}
	if len(candidates) == 0 {
		// A fault that began between two jobs makes a host of an earlier fast
		// job slow: only what ran since the first slow job began counts then.
		candidates = shared(s.slow)
		for _, x := range s.fast {
			if x.Count > float64(s.slow[0].Since.UnixMilli()) {
				candidates = subtract(candidates, x.Hosts)
			}
		}
		if len(s.slow) < 2 {
			return Hypothesis{}, false
		}
	}
	if len(candidates) != 1 {
		return Hypothesis{}, false
	}
	return c.suspectNode(s, candidates[0]), true
}

// gdrRatio is the part of the usual bandwidth under which the path between GPU
// and NIC is suspected: losing GPUDirect costs 2 to 18 times.
const gdrRatio = 0.5

func shared(slow []*detectors.Finding) []string {
	out := slices.Clone(slow[0].Hosts)
	for _, x := range slow[1:] {
		out = slices.DeleteFunc(out, func(h string) bool { return !slices.Contains(x.Hosts, h) })
	}
	return out
}

func subtract(hosts, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return slices.Contains(gone, h) })
}

// oddKernels returns the hosts of a job whose kernel differs from the others'.
func (c *Case) oddKernels(hosts []string) []string {
	var odd []string
	for _, h := range hosts {
		if c.Has(hostEntity(h), detectors.CodeKernel) != nil {
			odd = append(odd, h)
		}
	}
	return odd
}

// splitByImage says whether software tells slow and fast jobs apart as well as
// hosts do: all slow jobs ran with kernels or versions that no fast one had.
func (c *Case) splitByImage(s *shapeCase) bool {
	if len(s.fast) == 0 {
		return false
	}
	split := func(of func(*detectors.Finding) string) bool {
		fast := map[string]bool{}
		for _, x := range s.fast {
			fast[of(x)] = true
		}
		for _, x := range s.slow {
			if v := of(x); v == "" || fast[v] || strings.Contains(v, ",") {
				return false
			}
		}
		return true
	}
	return split(func(x *detectors.Finding) string { return x.Entity.Detail }) || split(func(x *detectors.Finding) string { return x.Entity.Version })
}

// versioned says whether the software of any job of the shape is known.
func (s *shapeCase) versioned() bool {
	known := func(x *detectors.Finding) bool { return x.Entity.Version != "" }
	return slices.ContainsFunc(s.slow, known) || slices.ContainsFunc(s.fast, known)
}

// path blames the host whose software differs in a job that lost most of its
// bandwidth.
func (c *Case) path(x *detectors.Finding, host string) Hypothesis {
	h := c.about(HostPathDegraded, "gdr_suspected", hostEntity(host), x.Since)
	h.Job, h.Scope, h.Jobs, h.Confidence = x.Job, "job", []string{x.Job}, Medium
	h.Needs = []signals.ID{signals.CollBusBandwidth}
	k := c.Has(hostEntity(host), detectors.CodeKernel)
	h.Evidence = append(h.Evidence, c.sayShape(x), tell(signals.HostKernel, hostEntity(host), true, "%s runs kernel %s, most of %d hosts run %s", host, k.Entity.Detail, k.Peers, k.Entity.Peer))
	return h
}

func (c *Case) config(x *detectors.Finding) Hypothesis {
	reason := "algorithm_changed"
	if x.Value < gdrRatio*x.Expected {
		reason = "gdr_off_everywhere"
	}
	h := newHypothesis(ConfigSuspected, reason)
	h.Job, h.Scope, h.Jobs, h.Hosts = x.Job, "job", []string{x.Job}, x.Hosts
	h.StartedAt, h.Confidence, h.AffectedHosts = x.Since, Medium, len(x.Hosts)
	h.Needs = []signals.ID{signals.CollBusBandwidth}
	h.Evidence = append(h.Evidence, c.sayShape(x), tell(signals.HostKernel, jobEntity(x.Job), true, "all slow jobs of this shape run software (kernel %s, version %s) that no fast job ran",
		cmp.Or(x.Entity.Detail, "unknown"), cmp.Or(x.Entity.Version, "unknown")))
	return h
}

// suspectNode names a host by intersection: low after one slow job, medium with
// a second one.
func (c *Case) suspectNode(s *shapeCase, host string) Hypothesis {
	h := c.about(NodeSuspect, "intersection", hostEntity(host), s.slow[0].Since)
	h.Job, h.Scope, h.JobEnded = "", "host:"+host, false
	h.Confidence, h.Severity = Low, Info
	if len(s.slow) >= 2 {
		h.Confidence, h.Severity = Medium, Warning
	}
	h.Needs = nil
	if !s.versioned() {
		// Without versions it cannot be ruled out that the slow jobs share an
		// image and not a host: nobody is named.
		h.Candidates, h.Suspects, h.TieSet = h.Suspects, nil, 0
		h.Scope, h.Hosts, h.Covers = "cluster", nil, nil
		h.Confidence, h.Severity = Low, Info
		h.Evidence = append(h.Evidence, tell(signals.CollBusBandwidth, hostEntity(host), false, "no series tells the software versions of these jobs: they may share an image as well as a host"))
	}
	for _, x := range s.slow {
		h.Jobs = append(h.Jobs, x.Job)
		h.Evidence = append(h.Evidence, c.sayShape(x))
	}
	for _, x := range s.fast[:min(4, len(s.fast))] {
		h.Evidence = append(h.Evidence, c.sayShape(x))
	}
	return h
}

func (c *Case) sayShape(x *detectors.Finding) Evidence {
	return tell(x.Signal, x.Entity, x.Code == detectors.CodeBelowShape, "job %s on %s: %s of %s at %s against %s that jobs of this shape reach",
		x.Job, listed(x.Hosts), x.Entity.Op, sizeText(x.Entity.Size), Human(x.Signal, x.Value), Human(x.Signal, x.Expected))
}
