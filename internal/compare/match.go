package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// pairing is a row of the baseline and the row of the candidate that it is
// compared with; one of them is nil if there is nothing to compare with.
type pairing struct {
	base, cand *Row
	kind       pairKind
	why        string // if one is nil
}

type pairKind uint8

const (
	pairSame pairKind = iota
	pairAlgorithm
	pairSize
	pairNone
)

const (
	// nearSize is how far apart two message sizes may be to be compared by
	// bandwidth: two classes of a quarter octave.
	nearSize = 1.45
	// flatFrom is the message size above which bus bandwidth hardly depends on
	// the size. Below, latency decides, and another size is another thing.
	flatFrom = 16 << 20
)

// match pairs the rows of two records. First come equal keys. What is left is
// paired by operation and shape where only the algorithm differs, which makes a
// fair comparison: bus bandwidth is defined so that algorithms can be compared.
// Then by the nearest size, by bandwidth alone. Each step needs the partner to be
// the only one or the nearest in both directions, or nothing is paired.
func match(base, cand *Record) []pairing {
	var out []pairing
	var left, right []*Row
	for i := range base.Rows {
		b := &base.Rows[i]
		if c := cand.row(b.Key); c != nil {
			out = append(out, pairing{base: b, cand: c, kind: pairSame})
		} else {
			left = append(left, b)
		}
	}
	for i := range cand.Rows {
		if c := &cand.Rows[i]; base.row(c.Key) == nil {
			right = append(right, c)
		}
	}
	for _, step := range []struct {
		kind pairKind
		find func(*Row, []*Row) *Row
	}{{pairAlgorithm, otherAlgorithm}, {pairSize, nearestSize}} {
		var rest []*Row
		for _, b := range left {
			c := step.find(b, right)
			if c == nil || step.find(c, left) != b {
				rest = append(rest, b)
				continue
			}
			out = append(out, pairing{base: b, cand: c, kind: step.kind})
			right = slices.DeleteFunc(slices.Clone(right), func(r *Row) bool { return r == c })
		}
		left = slices.DeleteFunc(left, func(r *Row) bool { return !slices.Contains(rest, r) })
	}
	for _, b := range left {
		out = append(out, pairing{base: b, kind: pairNone, why: alone(b, cand.Rows, "candidate")})
	}
	for _, c := range right {
		out = append(out, pairing{cand: c, kind: pairNone, why: alone(c, base.Rows, "baseline")})
	}
	slices.SortStableFunc(out, func(a, b pairing) int { return compareKeys(a.key(), b.key()) })
	return out
}

func (p *pairing) key() Key {
	if p.base != nil {
		return p.base.Key
	}
	return p.cand.Key
}

// otherAlgorithm is the only row that differs in the algorithm alone.
func otherAlgorithm(r *Row, list []*Row) *Row {
	var found *Row
	for _, o := range list {
		k := o.Key
		k.Algo = r.Algo
		if k != r.Key {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	return found
}

// nearestSize is the row that differs in the size alone and is nearest to it.
func nearestSize(r *Row, list []*Row) *Row {
	var found *Row
	best := math.Log(nearSize)
	for _, o := range list {
		k := o.Key
		k.Size = r.Size
		if k != r.Key || o.Bytes < flatFrom || r.Bytes < flatFrom {
			continue
		}
		if d := math.Abs(math.Log(o.Bytes / r.Bytes)); d <= best {
			found, best = o, d
		}
	}
	return found
}

// alone says why a row has no partner on the other side.
func alone(r *Row, list []Row, other string) string {
	var shapes, sizes, algos []string
	for i := range list {
		o := &list[i]
		switch {
		case o.Op != r.Op:
		case !o.sameShape(r.Key):
			shapes = append(shapes, o.shape())
		case o.Size != r.Size:
			sizes = append(sizes, o.Size)
		default:
			algos = append(algos, o.Algo)
		}
	}
	switch {
	case len(algos) > 0:
		return fmt.Sprintf("other algorithm: the %s has %s", other, few(algos))
	case len(sizes) > 0:
		return fmt.Sprintf("other message size: the %s has %s", other, few(sizes))
	case len(shapes) > 0:
		return fmt.Sprintf("different shape: the %s has %s", other, few(shapes))
	}
	return fmt.Sprintf("the %s has no %s", other, r.Op)
}

// few lists at most three different texts.
func few(list []string) string {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + fmt.Sprintf(" and %d more", len(list)-3)
	}
	return strings.Join(list, ", ")
}
