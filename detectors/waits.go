package detectors

import (
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// waits compares how long GPUs of the same role wait outside the groups in
// which they are compared: in point-to-point operations and inside their
// tensor-parallel group. A GPU that waits longer than its role peers is held
// up by somebody: it is a victim, whatever its own lateness says.
type waits struct {
	byGPU map[signals.Entity][]wait
	tmp   []float64
	tmp2  []float64
	// channels are those to be read before the first question: on most ticks of most
	// jobs nobody is late and nothing is asked.
	channels map[channelKey]*channel
}

// tensorWaits is the least ratio at which a GPU waits for a sibling of its
// host. A host that is late as a whole has more jitter inside as well, in
// proportion to its slowness; a single slow GPU makes its siblings wait for
// all of the time that other hosts lose, two to three times their usual time
// where an operation inside the host is short.
const tensorWaits = 1.5

// wait is the recent mean time of one kind of operation of one GPU.
type wait struct {
	op, size, algo string
	kind           signals.GroupKind
	mean           float64 // s
	ch             *channel
}

func newWaits() *waits { return &waits{byGPU: map[signals.Entity][]wait{}} }

// renew takes channels of which some closed their window.
func (w *waits) renew(channels map[channelKey]*channel) { w.channels = channels }

// index reads the recent means of all channels that show waiting for others
// than role peers, if they are not read yet.
func (w *waits) index() {
	if w.channels == nil {
		return
	}
	for gpu, list := range w.byGPU {
		if len(list) == 0 {
			delete(w.byGPU, gpu)
			continue
		}
		w.byGPU[gpu] = list[:0]
	}
	for _, ch := range w.channels {
		if ch.group.Kind != signals.GroupPipeline && ch.group.Kind != signals.GroupTensor && !pointToPoint(ch.op) {
			continue
		}
		for i := range ch.members {
			m := &ch.members[i]
			if mean := m.recent(); !math.IsNaN(mean) {
				w.byGPU[m.thing] = append(w.byGPU[m.thing],
					wait{op: ch.op, size: ch.size, algo: ch.algo, kind: ch.group.Kind, mean: mean, ch: ch})
			}
		}
	}
	w.channels = nil
}

func pointToPoint(op string) bool { return op == "Send" || op == "Recv" }

// outwaits says that one member of the same group waits clearly less than all
// others: the long time is then waiting for that one. Without such a member it
// can just as well be a slow transfer of the GPU's own; and where the waits are
// spread, somebody is always the last by a little, which explains nothing.
func (w *waits) outwaits(x *wait) bool {
	w.tmp = w.tmp[:0]
	for i := range x.ch.members {
		if m := x.ch.members[i].recent(); !math.IsNaN(m) {
			w.tmp = append(w.tmp, m)
		}
	}
	if len(w.tmp) < 2 {
		return false
	}
	slices.Sort(w.tmp)
	least, second := w.tmp[0], w.tmp[1]
	w.tmp2 = slices.Grow(w.tmp2[:0], 2*len(w.tmp))
	return second-least > max(3*spreadOf(w.tmp[1:], w.tmp2).low, 0.25*least)
}

// ratio returns the largest ratio of the waits of gpu to the median of its
// role peers, and the channel in which it waits so. Without a comparable wait
// it is NaN.
func (w *waits) ratio(gpu signals.Entity, peers []member) (float64, *channel) {
	w.index()
	worst, where := math.NaN(), (*channel)(nil)
	for _, own := range w.byGPU[gpu] {
		if own.kind == signals.GroupTensor && !w.outwaits(&own) {
			continue
		}
		w.tmp = w.tmp[:0]
		for i := range peers {
			if peers[i].thing == gpu {
				continue
			}
			for _, x := range w.byGPU[peers[i].thing] {
				if x.op == own.op && x.size == own.size && x.algo == own.algo && x.kind == own.kind {
					w.tmp = append(w.tmp, x.mean)
					break
				}
			}
		}
		if len(w.tmp) == 0 {
			continue
		}
		usual := Median(w.tmp)
		if own.kind == signals.GroupTensor {
			usual = high(w.tmp)
		}
		r := own.mean / usual
		if own.kind == signals.GroupTensor && r < tensorWaits {
			continue
		}
		if math.IsNaN(worst) || r > worst {
			worst, where = r, own.ch
		}
	}
	return worst, where
}

// high is the fourth fifth of xs, which it sorts. Inside a host somebody is
// always the last by a little, and all others wait for it: a GPU waits more than
// usual only if it waits more than most of its peers on other hosts do.
func high(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)*4/5]
}

// typical is the median receive time of the role peers of gpu, 0 if they
// receive nothing.
func (w *waits) typical(gpu signals.Entity, peers []member) float64 {
	w.index()
	w.tmp = w.tmp[:0]
	for i := range peers {
		if peers[i].thing == gpu {
			continue
		}
		for _, x := range w.byGPU[peers[i].thing] {
			if x.op == "Recv" {
				w.tmp = append(w.tmp, x.mean)
			}
		}
	}
	if len(w.tmp) == 0 {
		return 0
	}
	return Median(w.tmp)
}
