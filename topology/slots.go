package topology

import (
	"strconv"

	"github.com/collwatch/collwatch/topology/parse"
)

// slotNumbers decides whether "HCA-4" means a device. Hosts that call their
// adapters so number them from 1 where mlx5_3 counts from 0, but nothing holds
// them to it. The rule is believed if it puts adapters on the same leaves as
// the hosts that name their devices, or, where there are none of those, if it
// covers all adapters of the host.
type slotNumbers struct {
	m      *merger
	onLeaf map[string]map[string]int // leaf to devices that others name there
	slots  map[string]map[string]bool
	agree  int
	differ int
	judged bool
}

func newSlotNumbers(m *merger) *slotNumbers {
	return &slotNumbers{m: m, onLeaf: map[string]map[string]int{}, slots: map[string]map[string]bool{}}
}

// learn notes where a named device is.
func (s *slotNumbers) learn(leaf string, k nicKey) {
	if s.onLeaf[leaf] == nil {
		s.onLeaf[leaf] = map[string]int{}
	}
	s.onLeaf[leaf][k.device]++
}

// judge compares all links with slots with those that name devices.
func (s *slotNumbers) judge() {
	s.judged = true
	for i := range s.m.sources {
		for j := range s.m.sources[i].facts.Links {
			l := &s.m.sources[i].facts.Links[j]
			if l.Slot == "" || l.Host == "" {
				continue
			}
			if s.slots[l.Host] == nil {
				s.slots[l.Host] = map[string]bool{}
			}
			s.slots[l.Host][l.Slot] = true
			s.compare(l)
		}
	}
}

func (s *slotNumbers) compare(l *parse.Link) {
	dev := s.guess(l.Host, l.Slot)
	best, n := "", 0
	for d, c := range s.onLeaf[l.Switch] {
		if c > n || c == n && natural(d, best) < 0 {
			best, n = d, c
		}
	}
	switch {
	case dev == "" || n == 0:
	case dev == best:
		s.agree++
	default:
		s.differ++
	}
}

// guess is the one device of a host whose last number is the slot's less one.
func (s *slotNumbers) guess(host, slot string) string {
	n, err := strconv.Atoi(slot)
	if err != nil || n < 1 {
		return ""
	}
	want, found := strconv.Itoa(n-1), ""
	for _, d := range s.m.onHost[host] {
		if lastNumber(d) != want || d == found {
			continue
		}
		if found != "" {
			return ""
		}
		found = d
	}
	return found
}

func lastNumber(s string) string {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	return s[i:]
}

// device resolves a slot of a host.
func (s *slotNumbers) device(host, slot string) (string, bool) {
	if !s.judged {
		s.judge()
	}
	for other := range s.slots[host] {
		if s.guess(host, other) == "" {
			return "", false // it does not even fit this host
		}
	}
	const few = 2
	switch {
	case s.agree+s.differ > few:
		if s.agree < 9*s.differ {
			return "", false
		}
	case len(s.slots[host]) != len(uniqueStrings(s.m.onHost[host])):
		return "", false
	}
	return s.guess(host, slot), true
}

func uniqueStrings(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, v := range list {
		out[v] = true
	}
	return out
}
