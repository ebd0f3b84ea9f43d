package diagnosis

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// Component is something that could slow communicators down.
type Component struct {
	Kind string // gpu, nic, node, leaf, rail, rack, domain
	Name string // of the leaf, rail, rack or domain
	Node string
	Dev  string
}

// Blame is one fault that the vote found: the components that explain the same
// slow groups equally well, and how well.
type Blame struct {
	Tied   []Component // smallest kind first
	Score  float64     // log-likelihood ratio of the groups explained
	Slow   []string    // groups explained
	Effect float64     // median slowness of these groups, 0.5 is 50 % longer
}

// Vote is what timing alone says about a job.
type Vote struct {
	Blames []Blame
	// Slow and Healthy count the groups of the job that could be judged.
	Slow, Healthy int
}

const (
	// voteSigma is the noise of ln(transfer time) of one group at one tick;
	// measured on production traces it is 0.3 to 4 %, up to 18 % on one with
	// variable sequence lengths.
	voteSigma = 0.06
	// voteLimit bounds what a single group can say for or against.
	voteLimit  = 12.0
	voteFaults = 3
)

// kindOrder ranks components by size: the smallest explanation comes first.
func kindOrder(kind string) int {
	return slices.Index([]string{"nic", "gpu", "node", "leaf", "rail", "domain", "rack"}, kind)
}

// Vote scores the components of a job by which of its groups are slow and which
// are not. For component c with groups H(c) that must slow down if c is sick,
// the score is the sum of log N(x; δ, σ) − log N(x; 0, σ) over H(c), x being
// the log slowness of a group and δ the median of the slow ones. The best
// components are taken until nothing positive is left, at most three times.
func (c *Case) Vote(job string) *Vote {
	if v, ok := c.votes[job]; ok {
		return v
	}
	v := c.vote(job)
	c.votes[job] = v
	return v
}

func (c *Case) vote(job string) *Vote {
	slow := map[string]float64{}
	for _, f := range c.Pattern(detectors.SlowTransfer) {
		g := c.groups[f.Group]
		if g == nil || g.Job != job || g.Derived == signals.DerivedNot {
			continue
		}
		if x := math.Log(f.Value / f.Expected); x > slow[g.ID] {
			slow[g.ID] = x
		}
	}
	out := &Vote{Slow: len(slow)}
	if len(slow) == 0 {
		return out
	}
	shifts := make([]float64, 0, len(slow))
	for _, x := range slow {
		shifts = append(shifts, x)
	}
	slices.Sort(shifts)
	delta := max(shifts[len(shifts)/2], 2*voteSigma)
	incidence := map[Component][]string{}
	for _, g := range c.Snapshot.Groups {
		if g.Job != job || g.Derived == signals.DerivedNot || len(g.Members) < 2 {
			continue
		}
		if _, ok := slow[g.ID]; !ok {
			out.Healthy++
		}
		for _, comp := range c.components(g) {
			incidence[comp] = append(incidence[comp], g.ID)
		}
	}
	out.Blames = cover(incidence, slow, delta)
	return out
}

// cover takes the best tie set, removes what it explains, and repeats.
func cover(incidence map[Component][]string, slow map[string]float64, delta float64) []Blame {
	var out []Blame
	explained := map[string]bool{}
	for range voteFaults {
		best, score := bestTie(incidence, slow, explained, delta)
		if len(best) == 0 || score <= 0 {
			break
		}
		b := Blame{Tied: best, Score: score}
		var effects []float64
		for _, id := range incidence[best[0]] {
			if x, ok := slow[id]; ok && !explained[id] {
				explained[id] = true
				b.Slow = append(b.Slow, id)
				effects = append(effects, math.Exp(x)-1)
			}
		}
		slices.Sort(effects)
		b.Effect = effects[len(effects)/2]
		out = append(out, b)
	}
	return out
}

func bestTie(incidence map[Component][]string, slow map[string]float64, explained map[string]bool, delta float64) ([]Component, float64) {
	var best []Component
	top := 0.0
	for comp, groups := range incidence {
		terms := make([]float64, 0, len(groups))
		for _, id := range groups {
			if !explained[id] {
				terms = append(terms, logRatio(slow[id], delta))
			}
		}
		s := floats.Sum(terms)
		switch {
		case s > top+1e-6:
			top, best = s, append(best[:0:0], comp)
		case len(best) > 0 && s > top-1e-6:
			best = append(best, comp)
		}
	}
	slices.SortFunc(best, compareComponents)
	return best, top
}

// logRatio is the evidence of one group with log slowness x for a shift delta.
func logRatio(x, delta float64) float64 {
	shifted := distuv.Normal{Mu: delta, Sigma: voteSigma + delta/4}
	calm := distuv.Normal{Mu: 0, Sigma: voteSigma}
	return max(-voteLimit, min(voteLimit, shifted.LogProb(min(x, delta))-calm.LogProb(x)))
}

// components lists what a group depends on. A group inside one NVLink domain
// depends on its GPUs, host and domain; one across hosts on NICs, rails and
// leaves as well.
func (c *Case) components(g *signals.Group) []Component {
	seen := map[Component]bool{}
	var out []Component
	add := func(x Component) {
		if !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	for _, m := range g.Members {
		add(Component{Kind: "gpu", Node: m.Host, Dev: m.Device})
		add(Component{Kind: "node", Node: m.Host})
		if d := c.Fabric.Domain(m.Host); d != "" {
			add(Component{Kind: "domain", Name: d})
		}
		if r := c.Fabric.Rack(m.Host); r != "" {
			add(Component{Kind: "rack", Name: r})
		}
		if g.NNodes == 1 {
			continue
		}
		nic, _, ok := c.NICOf(m)
		if !ok {
			continue
		}
		add(Component{Kind: "nic", Node: nic.Host, Dev: nic.Device})
		if p := c.Port(nic); p != nil && p.Leaf != "" {
			add(Component{Kind: "leaf", Name: p.Leaf})
		} else if p != nil && p.Rail != "" {
			add(Component{Kind: "rail", Name: p.Rail})
		}
	}
	return out
}

func compareComponents(a, b Component) int {
	if d := kindOrder(a.Kind) - kindOrder(b.Kind); d != 0 {
		return d
	}
	if d := strings.Compare(a.Name+a.Node, b.Name+b.Node); d != 0 {
		return d
	}
	return strings.Compare(a.Dev, b.Dev)
}

// SlowGroups returns the slow groups of the jobs that depend on a thing (a NIC,
// GPU or host), with the largest slowness among them: 0.5 is 50 % longer.
func (c *Case) SlowGroups(thing signals.Entity) (ids []string, effect float64) {
	for _, f := range c.Pattern(detectors.SlowTransfer) {
		g := c.groups[f.Group]
		if g == nil || !c.depends(g, thing) {
			continue
		}
		if !slices.Contains(ids, g.ID) {
			ids = append(ids, g.ID)
		}
		effect = max(effect, f.Effect())
	}
	return ids, effect
}

// depends says whether a group must slow down if thing is sick.
func (c *Case) depends(g *signals.Group, thing signals.Entity) bool {
	if thing.Kind == signals.KindNIC && g.NNodes == 1 {
		return false
	}
	for _, m := range g.Members {
		if m.Host != thing.Host {
			continue
		}
		switch thing.Kind {
		case signals.KindHost:
			return true
		case signals.KindGPU:
			if m.Device == thing.Device {
				return true
			}
		case signals.KindNIC:
			nic, _, ok := c.NICOf(m)
			if ok && nic.Device == thing.Device {
				return true
			}
		}
	}
	return false
}
