package promapi

import (
	"cmp"
	"slices"
)

// mend brings the samples of each series in the order of time and joins series
// that came in parts. Of two samples at one time the first one counts.
func (r *Result) mend() {
	type part struct {
		ref      Ref
		from, to int32
	}
	parts := make([]part, r.Len())
	for i := range parts {
		parts[i] = part{r.Refs[i], r.Offsets[i], r.Offsets[i+1]}
	}
	// A series stays where its first part was.
	place := make(map[Ref]int, len(parts))
	for i, p := range parts {
		if _, ok := place[p.ref]; !ok {
			place[p.ref] = i
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(place[a.ref], place[b.ref]) })
	old := slices.Clone(r.Samples)
	r.Refs, r.Offsets, r.Samples = r.Refs[:0], append(r.Offsets[:0], 0), r.Samples[:0]
	for i := 0; i < len(parts); {
		ref, first := parts[i].ref, len(r.Samples)
		for ; i < len(parts) && parts[i].ref == ref; i++ {
			r.Samples = append(r.Samples, old[parts[i].from:parts[i].to]...)
		}
		own := r.Samples[first:]
		slices.SortStableFunc(own, func(a, b Sample) int { return cmp.Compare(a.T, b.T) })
		own = slices.CompactFunc(own, func(a, b Sample) bool { return a.T == b.T })
		r.Samples = r.Samples[:first+len(own)]
		r.Refs = append(r.Refs, ref)
		r.Offsets = append(r.Offsets, int32(len(r.Samples)))
	}
}
