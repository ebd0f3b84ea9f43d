package topology

import "slices"

// candidates are the NICs of a host that may carry collectives: those that the
// host itself shows, where it shows any.
func candidates(nics []ObservedNIC) []ObservedNIC {
	var live []ObservedNIC
	for _, n := range nics {
		if n.Live {
			live = append(live, n)
		}
	}
	if len(live) > 0 {
		return live
	}
	return nics
}

// serves says that a host computes nothing, such as a storage server on the same
// fabric: it has no GPU where most hosts have some. Where no GPU is seen at all,
// that says nothing.
func (o *Observed) serves(host string, nics []ObservedNIC, hosts int) bool {
	_, gpus := o.GPUs[host]
	if gpus || len(o.GPUs) == 0 {
		return false
	}
	return 2*len(o.GPUs) >= hosts || len(nics) > 0 && !nics[0].Live
}

// computeNICs returns the NICs of a host that carry collectives: the largest
// set of one card model, and among sets of equal size the one with the higher
// rate. Storage and management cards are few and of another kind. Without
// models the rates decide; a card that negotiated less than its siblings must
// not drop out, so rates split only where each part is as large as a share of
// the GPUs.
func computeNICs(nics []ObservedNIC, gpus int) []ObservedNIC {
	models := map[string][]ObservedNIC{}
	for _, n := range nics {
		models[n.Model] = append(models[n.Model], n)
	}
	best := pick(models)
	if gpus == 0 || len(best) <= gpus || len(best)%gpus == 0 {
		return best
	}
	// More cards of one model than GPUs can use evenly: the odd ones out are
	// those whose rate differs from the most common one.
	common, count := 0.0, 0
	rates := map[float64]int{}
	for _, n := range best {
		rates[n.Rate]++
		if c := rates[n.Rate]; c > count || (c == count && n.Rate > common) {
			common, count = n.Rate, c
		}
	}
	surplus := len(best) - len(best)/gpus*gpus
	var out []ObservedNIC
	for _, b := range slices.Backward(best) {
		if surplus > 0 && b.Rate != common {
			surplus--
			continue
		}
		out = append([]ObservedNIC{b}, out...)
	}
	return out
}

func pick(models map[string][]ObservedNIC) []ObservedNIC {
	var best []ObservedNIC
	bestModel := ""
	for model, set := range models {
		switch {
		case len(set) > len(best),
			len(set) == len(best) && maxRate(set) > maxRate(best),
			len(set) == len(best) && maxRate(set) == maxRate(best) && model < bestModel:
			best, bestModel = set, model
		}
	}
	return best
}

func maxRate(nics []ObservedNIC) float64 {
	m := 0.0
	for _, n := range nics {
		m = max(m, n.Rate)
	}
	return m
}
