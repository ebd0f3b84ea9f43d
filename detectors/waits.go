package detectors

import (
	"math"

	"github.com/collwatch/collwatch/signals"
)

// waits compares how long GPUs of the same role wait outside the groups in
// which they are compared: in point-to-point operations and inside their
// tensor-parallel group. A GPU that waits longer than its role peers is held
// up by somebody: it is a victim, whatever its own lateness says.
type waits struct {
	byGPU map[signals.Entity][]wait
	tmp   []float64
}

// wait is the recent mean time of one kind of operation of one GPU.
type wait struct {
	op, size, algo string
	kind           signals.GroupKind
	mean           float64 // s
	ch             *channel
}

func newWaits() *waits { return &waits{byGPU: map[signals.Entity][]wait{}} }

// index reads the recent means of all channels that show waiting for others
// than role peers.
func (w *waits) index(channels map[channelKey]*channel) {
	for gpu, list := range w.byGPU {
		if len(list) == 0 {
			delete(w.byGPU, gpu)
			continue
		}
		w.byGPU[gpu] = list[:0]
	}
	for _, ch := range channels {
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
}

func pointToPoint(op string) bool { return op == "Send" || op == "Recv" }

// outwaits says that somebody in the same group waits clearly less: the long
// time is then waiting. Without such a member it can just as well be a slow
// transfer of the GPU's own.
func (x wait) outwaits() bool {
	for i := range x.ch.members {
		if m := x.ch.members[i].recent(); m < 0.8*x.mean {
			return true
		}
	}
	return false
}

// ratio returns the largest ratio of the waits of gpu to the median of its
// role peers, and the channel in which it waits so. Without a comparable wait
// it is NaN.
func (w *waits) ratio(gpu signals.Entity, peers []member) (float64, *channel) {
	worst, where := math.NaN(), (*channel)(nil)
	for _, own := range w.byGPU[gpu] {
		if own.kind == signals.GroupTensor && !own.outwaits() {
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
		if r := own.mean / median(w.tmp); math.IsNaN(worst) || r > worst {
			worst, where = r, own.ch
		}
	}
	return worst, where
}

// typical is the median receive time of the role peers of gpu, 0 if they
// receive nothing.
func (w *waits) typical(gpu signals.Entity, peers []member) float64 {
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
	return median(w.tmp)
}
