package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The counters of a NIC port, in the order of nicCounters.
const (
	cLinkDowned = iota
	cLinkRecovery
	cSymbol
	cRxErrors
	cLinkIntegrity
	cXmitDiscards
	cXmitWait
	cOutOfSequence
	cSeqErr
	cAckTimeout
	cAdpRetrans
	cICRC
	cRNR
	cECN
	cCNPSent
	cCNPHandled
	cPauseRx   // µs
	cPauseTx   // µs
	cPCIeStall // µs
	cRetransBytes
	cRetransTimeout
	cUnresponsive
	cCarrierDown
	nCounters
)

// NIC is a network port of a host. Exported fields are what faults change.
type NIC struct {
	host  *Host
	Index int // -1 for the storage card
	Name  string
	leaf  *Leaf

	Rate        float64 // negotiated, B/s
	State, Phys int     // 4 and 5 when up
	// Factor is the goodput relative to a healthy port at full rate, beyond what
	// Rate explains.
	Factor float64
	// Jitter is the sigma of that goodput from step to step.
	Jitter float64
	// Tx and Rx are bytes per second of other traffic.
	Tx, Rx float64
	// Rates are of the counters, per second.
	Rates [nCounters]float64

	share         float64 // of a GPU's traffic: 1, 0 unused, 2 for two GPUs
	perStep       float64 // bytes in the current step of the job
	moved         float64 // bytes of finished steps
	otherTx       float64 // integral of Tx
	otherRx       float64
	counts        [nCounters]float64
	advanced      int64
	nominal       float64 // rate of a healthy port, B/s
	card          string
	refs          nicRefs
	netdev        string
	neverActive   bool
	portRefs      portRefs
	switchCounts  [2]float64 // transmit wait and symbol errors of the switch's port
	SwitchWait    float64    // ticks/s of the port towards this NIC
	uplinkName    string     // how the other end describes it, "" is host and device
	CurrentLeaf   string     // if recabled
	fallsBackToIP bool
}

// Leaf is a switch next to hosts.
type Leaf struct {
	Index   int
	Name    string
	Factor  float64 // bandwidth through it, relative
	Uplinks []Uplink
	// Missing uplinks are not reported any more.
	Missing int
	refs    []ref
}

// Uplink is a port towards a spine.
type Uplink struct {
	Rate   float64 // B/s out; 0 follows the traffic below
	Marked float64 // ECN marks/s
	octets float64
	marks  float64
	at     int64
	refs   [3]ref
}

type gpuState uint8

const (
	gpuIdle gpuState = iota
	gpuTraining
	gpuWaiting // spins in a collective
	gpuStuck   // holds memory and does nothing
	gpuIO      // writes a checkpoint
	gpuInit
)

// GPU is a GPU of a host. Exported fields are what faults change.
type GPU struct {
	host  *Host
	Index int
	UUID  string
	NICs  []*NIC

	// Clock is relative to the healthy one; Slow multiplies compute time for
	// other reasons.
	Clock, Slow float64
	Reasons     float64 // bit mask; negative: what load implies
	HeatC       float64 // above healthy
	MemHeatC    float64
	Power       float64 // factor
	// NVLink and PCIe are bandwidths relative to healthy ones.
	NVLink, PCIe float64
	Width        float64
	Replays      float64 // per second
	// Memory is what is in use, in MiB; negative: what the state implies.
	Memory float64
	// Lost GPUs have no series.
	Lost bool
	// Xid is the last code.
	Xid float64

	index, device   string // as labels
	state           gpuState
	pinned          bool    // the state is a fault's
	killed          bool    // so was the process of its rank
	busy            float64 // relative to a healthy step
	replays, energy float64
	xidAt           int64
	recovery        [18]float64
	violations      [2]float64 // thermal, power: ns
	snap            [nFields]float64
	glitch          map[int]float64 // values of the next collection
	refs            [2][nFields]ref
	linkRefs        [18]ref
	advanced        int64
	tempX           ar1
}

// slowness is the factor on compute time.
func (g *GPU) slowness() float64 { return g.Slow * g.host.Slow / g.Clock }

// path is the bandwidth of the way to other hosts, relative to a healthy one.
func (g *GPU) path(rng *rand.Rand) float64 {
	f := g.PCIe
	for _, n := range g.NICs {
		v := n.Rate / n.nominal * n.Factor / max(1, n.share)
		if n.leaf != nil {
			v *= n.leaf.Factor
		}
		if n.Jitter > 0 {
			v *= math.Exp(n.Jitter * rng.NormFloat64())
		}
		f = min(f, v)
	}
	return min(1, f*g.host.Path)
}

func (g *GPU) reset() {
	g.Clock, g.Slow, g.Reasons, g.HeatC, g.MemHeatC, g.Power = 1, 1, -1, 0, 0, 1
	g.NVLink, g.PCIe, g.Width, g.Replays = 1, 1, 16, 0
}

// Host is a machine. Exported fields are what faults change.
type Host struct {
	c     *Cluster
	Index int
	Name  string
	GPUs  []*GPU
	NICs  []*NIC
	disk  *NIC

	Slow, Path         float64 // compute time factor, inter-host bandwidth factor
	CPU, IO, Memory    float64 // pressure, s/s
	Load               float64
	Release            string
	NodeDown           bool // the node exporter does not answer
	DCGMDown           bool
	DCGMEmpty          bool // answers with no rows
	Drained            bool
	boot               int64
	oom                float64
	cpuSec, ioSec      float64
	memSec             float64
	advanced           int64
	rng                *rand.Rand
	files              []file
	phase              int64 // of dumps, ms
	node, dcgm         *target
	refs               hostRefs
	job                *Job
	drainRef, labelRef ref
	mapped             []string // jobs in the mapping folder of the GPU exporter
}

func (h *Host) healthy() {
	h.Slow, h.Path, h.CPU, h.IO, h.Memory, h.Load = 1, 1, h.c.shape.Healthy.CPUPressure, 0, 0, 40
	h.NodeDown, h.DCGMDown, h.DCGMEmpty = false, false, false
}

func (n *NIC) healthy() {
	s := n.host.c.shape
	n.Rate, n.State, n.Phys, n.Factor, n.Jitter, n.Tx, n.Rx, n.SwitchWait = n.nominal, 4, 5, 1, 0, 0, 0, 1e5
	n.Rates = [nCounters]float64{
		cXmitWait: s.Healthy.XmitWait, cOutOfSequence: s.Healthy.OutOfSequence, cECN: s.Healthy.ECN, cCNPSent: s.Healthy.CNPSent,
		cCNPHandled: s.Healthy.CNPHandled, cPauseRx: s.Healthy.RxPause * 1e6,
	}
	if s.Fabric == FabricEFA {
		n.Rates[cRetransBytes] = 1e-5 * s.Healthy.NICBytes
	}
	if n.Index < 0 {
		n.Tx, n.Rx = 1e8, 5e7
		n.Rates = [nCounters]float64{}
	}
	if n.neverActive {
		n.Rate, n.State, n.Phys = 0, 1, 3
	}
}

// load is 1 while the job sends over this NIC.
func (n *NIC) load() float64 {
	j := n.host.job
	if n.Index >= 0 && j != nil && j.phase == jobTraining && n.share > 0 {
		return 1
	}
	return 0
}

// advance integrates the rates up to t.
func (n *NIC) advance(t int64) {
	dt := float64(t-n.advanced) / 1000
	if dt <= 0 {
		return
	}
	n.advanced = t
	rng := n.host.rng
	load := n.load()
	for k, rate := range n.Rates {
		if rate == 0 {
			continue
		}
		switch k {
		case cXmitWait, cECN, cCNPSent, cCNPHandled, cPauseRx, cPauseTx, cPCIeStall:
			n.counts[k] += rate * dt * load * math.Exp(0.4*rng.NormFloat64()-0.08)
		default:
			n.counts[k] += poisson(rng, rate*dt)
		}
	}
	noise := factor(rng, n.host.c.opt.Noise.GaugeCV)
	n.otherTx += n.Tx * dt * noise
	n.otherRx += n.Rx * dt * noise
	n.switchCounts[0] += n.SwitchWait * dt * load * math.Exp(0.4*rng.NormFloat64()-0.08)
	n.switchCounts[1] += poisson(rng, n.Rates[cSymbol]*dt)
}

// bytes are the sent bytes at t.
func (n *NIC) bytes(t int64) float64 {
	b := n.moved + n.otherTx
	if n.host.job != nil {
		b += n.perStep * n.host.job.progress(t)
	}
	return b
}

func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 30 {
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	limit, p, k := math.Exp(-mean), 1.0, -1.0
	for p > limit {
		p *= r.Float64()
		k++
	}
	return max(0, k)
}

func newUUID(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("GPU-%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}
