package signals

import (
	"fmt"
	"strings"
)

// PartCoverage is an input of a class that only a part of the things has: on
// the others the class is not seen, however well it is on these.
type PartCoverage struct {
	Signals  []string `json:"signals"`
	Entities int      `json:"entities"`
	Expected int      `json:"expected"`
}

// String says it in a few words.
func (p PartCoverage) String() string {
	return fmt.Sprintf("%s on %d of %d only", strings.Join(p.Signals, " or "), p.Entities, p.Expected)
}

// steadyKind says that a signal belongs to hardware, all pieces of which should
// have it. Collectives, files and processes are there where a job runs, and a
// link has its errors at one end only.
func steadyKind(id ID) bool {
	return id >= GPUSMClock && id <= GPUPCIeReplays || id >= NICState && id < NICModel || id >= HostCPUPressure && id <= HostBootTime
}

// known lists the things that have a signal, in any dialect.
func (n *slotCounts) known(id ID) map[Entity]bool {
	out := map[Entity]bool{}
	for k, row := range n.rows {
		if k.signal != id {
			continue
		}
		for t := range row.things {
			out[t] = true
		}
	}
	return out
}

// partly lists the inputs of a class that some things lack. Things that have
// one of the alternatives have the input.
func (n *slotCounts) partly(needs [][]ID) []PartCoverage {
	var out []PartCoverage
	for _, alternatives := range needs {
		have, kind := map[Entity]bool{}, KindNone
		var names []string
		for _, id := range alternatives {
			things := n.known(id)
			if len(things) == 0 {
				continue
			}
			if !steadyKind(id) {
				names = nil
				break
			}
			names = append(names, id.String())
			for t := range things {
				have[t], kind = true, t.Kind
			}
		}
		if got, want := len(have), len(n.things[kind]); len(names) > 0 && got < want {
			out = append(out, PartCoverage{Signals: names, Entities: got, Expected: want})
		}
	}
	return out
}
