package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/collwatch/collwatch/topology"
)

// Params vary a scenario without changing its truth.
type Params struct {
	Seed uint64
	// Severity scales the effect: 1 is the scenario's own, 0.5 half of the loss.
	// 0 is 1.
	Severity float64
	// Elsewhere moves the fault to hosts and devices drawn from the seed.
	Elsewhere bool
	// Hosts is the size; 0 is the scenario's own. Shapes that need a multiple
	// round it.
	Hosts int
	// Prefix renames hosts, NICs renames compute NICs (as many as there were).
	Prefix string
	NICs   []string
	// Dialect edits the exporters; nil leaves them.
	Dialect func(*Dialect)
	Noise   *Noise
	// Onset is the end of the healthy time; 0 is 30 min.
	Onset time.Duration
	Start time.Time
}

// Scenario is one known case.
type Scenario struct {
	ID, Title string
	// After is how long to go on after the onset.
	After time.Duration
	// Shape builds the hardware for a number of hosts, Hosts is the usual one.
	Shape func(hosts int) Shape
	Hosts int
	// Prepare changes jobs and exporters before the cluster is built, Build adds
	// faults and fills the truth. Either may be nil.
	Prepare func(b *Build, o *Options)
	Build   func(b *Build)
	// Levels are the severities that make sense; nil is only 1.
	Levels []float64
}

// Build is a scenario under construction.
type Build struct {
	P       Params
	C       *Cluster
	T       *Truth
	Onset   float64 // s from the beginning
	Level   float64 // severity
	Facts   topology.Facts
	rng     *rand.Rand
	subject map[string]int
}

// Run is a scenario ready to run.
type Run struct {
	Scenario Scenario
	Cluster  *Cluster
	Truth    Truth
	// Facts are what a complete description of the fabric would say.
	Facts topology.Facts
	// Until is the length of the run from its beginning.
	Until time.Duration
}

// New builds the scenario; its series go to sink.
func (s Scenario) New(p Params, sink Sink) (*Run, error) {
	if p.Severity == 0 {
		p.Severity = 1
	}
	if p.Onset == 0 {
		p.Onset = 30 * time.Minute
	}
	hosts := s.Hosts
	if p.Hosts > 0 {
		hosts = p.Hosts
	}
	shape := s.Shape(hosts)
	if p.Prefix != "" {
		width := len(strconv.Itoa(len(shape.Hosts)))
		shape.Hosts = Hosts(p.Prefix, len(shape.Hosts), width+1)
	}
	if len(p.NICs) == len(shape.NICs) {
		shape.NICs = p.NICs
	}
	o := Options{Seed: p.Seed, Start: p.Start, Shape: shape, Dialect: Full(), Noise: DefaultNoise()}
	if p.Noise != nil {
		o.Noise = *p.Noise
	}
	b := &Build{P: p, T: &Truth{Scenario: s.ID}, Onset: p.Onset.Seconds(), Level: p.Severity, rng: stream(p.Seed, "scenario "+s.ID), subject: map[string]int{}}
	if s.Prepare != nil {
		s.Prepare(b, &o)
	}
	if p.Dialect != nil {
		p.Dialect(&o.Dialect)
	}
	c, err := New(o, sink)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.ID, err)
	}
	b.C = c
	b.Facts = c.shape.Facts()
	b.T.Onset = c.Start().Add(p.Onset)
	if len(c.Jobs) > 0 {
		b.T.Job = c.Jobs[0].Spec.ID
	}
	if s.Build != nil {
		s.Build(b)
	}
	if b.T.Quiet() {
		b.T.Job = ""
	}
	return &Run{Scenario: s, Cluster: c, Truth: *b.T, Facts: b.Facts, Until: p.Onset + s.After}, nil
}

// Host is the index of a host: def, or one drawn from the seed. The same name
// gives the same host.
func (b *Build) Host(name string, def int) int { return b.pick("host "+name, def, len(b.C.Hosts)) }

// NIC is the index of a compute NIC.
func (b *Build) NIC(name string, def int) int { return b.pick("nic "+name, def, len(b.C.shape.NICs)) }

// GPU is the index of a GPU of a host.
func (b *Build) GPU(name string, def int) int { return b.pick("gpu "+name, def, b.C.shape.GPUs) }

func (b *Build) pick(key string, def, n int) int {
	i, ok := b.subject[key]
	if !ok {
		i = min(def, n-1)
		if b.P.Elsewhere {
			i = b.rng.IntN(n)
		}
		b.subject[key] = i
	}
	return i
}

// loss scales a bandwidth factor by the severity: at half of it, half of the
// loss.
func (b *Build) loss(factor float64) float64 { return 1 - (1-factor)*b.Level }

func (b *Build) nicOf(h, n int) Component {
	host := b.C.Hosts[h]
	c := Component{Kind: "nic", Node: host.Name, Device: host.NICs[n].Name}
	if l := host.NICs[n].leaf; l != nil {
		c.Switch = l.Name
	}
	return c
}

func (b *Build) gpuOf(h, g int) Component {
	return Component{Kind: "gpu", Node: b.C.Hosts[h].Name, Device: fmt.Sprintf("GPU%d", g)}
}

func (b *Build) node(h int) Component { return Component{Kind: "node", Node: b.C.Hosts[h].Name} }

// expect fills the usual part of a truth.
func (b *Build) expect(class, reason, severity string, within time.Duration, suspects ...Component) {
	b.T.Class, b.T.Reason, b.T.Severity, b.T.Within, b.T.Suspects = class, reason, severity, within, suspects
}

// fault injects a fault at the onset that never ends.
func (b *Build) fault(name string, ramp float64, apply func(c *Cluster, level, t float64), at ...Action) {
	b.C.Inject(Fault{Name: name, Start: b.Onset, Ramp: ramp, Apply: apply, At: at})
}

// Scenarios is the list of all known cases, faults first.
func Scenarios() []Scenario {
	var all []Scenario
	for _, list := range [][]Scenario{
		nicScenarios(), fabricScenarios(), hostScenarios(), gpuScenarios(), stallScenarios(), quietScenarios(), mixedScenarios(), alertScenarios(), lifeScenarios(), efficiencyScenarios(),
	} {
		all = append(all, list...)
	}
	return all
}

// Find returns the scenario with an id such as "S01" or "S01-a".
func Find(id string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if s.ID == id {
			return s, true
		}
	}
	return Scenario{}, false
}
