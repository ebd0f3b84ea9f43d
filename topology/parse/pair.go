package parse

import "strings"

// pairing is a GPU and the NIC next to it, by index.
type pairing struct {
	gpu, nic int
	assumed  bool
}

// pairUp gives each GPU the nearest NIC, and each NIC the nearest GPU. distance
// is smaller the nearer. Where several GPUs share several nearest NICs, they
// are dealt in order, and the pair is marked as assumed unless nothing else is
// possible.
func pairUp(gpus, nics int, distance func(gpu, nic int) int) []pairing {
	type set struct{ gpus, nics []int }
	sets := map[string]*set{}
	var order []string
	for g := range gpus {
		best := 0
		var nearest []int
		for n := range nics {
			switch d := distance(g, n); {
			case len(nearest) == 0 || d < best:
				best, nearest = d, []int{n}
			case d == best:
				nearest = append(nearest, n)
			}
		}
		key := ""
		var keySb29 strings.Builder
		for _, n := range nearest {
			keySb29.WriteString(itoa(n) + ",")
		}
		key += keySb29.String()
		if sets[key] == nil {
			sets[key] = &set{nics: nearest}
			order = append(order, key)
		}
		sets[key].gpus = append(sets[key].gpus, g)
	}
	var out []pairing
	for _, key := range order {
		s := sets[key]
		g, n := len(s.gpus), len(s.nics)
		if n == 0 {
			continue
		}
		if n > g { // several NICs a GPU: the first is the one that counts, so it comes last
			for j := n - 1; j >= 0; j-- {
				out = append(out, pairing{gpu: s.gpus[j*g/n], nic: s.nics[j], assumed: g > 1})
			}
			continue
		}
		for i, gpu := range s.gpus {
			out = append(out, pairing{gpu: gpu, nic: s.nics[i*n/g], assumed: n > 1})
		}
	}
	return out
}
