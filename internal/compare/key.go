package compare

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

// Key is what must be equal for two rows to be compared without further ado:
// the operation, the shape of its communicator, the class of its message size
// and the algorithm.
type Key struct {
	Op     string `json:"op"`
	NRanks int32  `json:"nranks"`
	NNodes int32  `json:"nnodes"`
	Size   string `json:"size"`
	Algo   string `json:"algo"`
}

func keyOf(e signals.Entity) Key {
	return Key{Op: e.Op, NRanks: e.NRanks, NNodes: e.NNodes, Size: e.Size, Algo: e.Algo}
}

// String is the key for people: "AllReduce 134M, 16 ranks on 16 nodes, ring_simple".
func (k Key) String() string {
	s := strings.TrimSpace(k.Op+" "+k.Size) + ", " + k.shape()
	if k.Algo != "" {
		s += ", " + k.Algo
	}
	return s
}

// shape names the communicator: "16 ranks on 16 nodes".
func (k Key) shape() string {
	switch {
	case k.NRanks == 0:
		return "communicator of unknown size"
	case k.NNodes == 0:
		return fmt.Sprintf("%d ranks", k.NRanks)
	case k.NNodes == 1:
		return fmt.Sprintf("%d ranks on 1 node", k.NRanks)
	}
	return fmt.Sprintf("%d ranks on %d nodes", k.NRanks, k.NNodes)
}

func (k Key) sameShape(o Key) bool { return k.NRanks == o.NRanks && k.NNodes == o.NNodes }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(b.NRanks, a.NRanks), cmp.Compare(b.NNodes, a.NNodes),
		cmp.Compare(a.Size, b.Size), cmp.Compare(a.Algo, b.Algo))
}

// symmetric says that all members of the operation end together, so that time
// splits into transfer and waiting. It does not hold for roots and pairs.
func (k Key) symmetric() bool {
	switch k.Op {
	case "AllReduce", "ReduceScatter", "AllGather", "AllToAll":
		return true
	}
	return false
}
