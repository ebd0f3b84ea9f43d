package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Disagreement is one thing about which sources differ. Both statements are
// kept: that they differ is a result, such as a swapped cable.
type Disagreement struct {
	// About is leaf, rack, domain, pod, guid, affinity, path or plan.
	About        string
	Host, Device string
	// Claims are the statements, the one that is used first.
	Claims []Claim
	// Text says more where claims alone do not tell.
	Text string
}

func (d Disagreement) String() string {
	var b strings.Builder
	b.WriteString(d.About)
	if d.Host != "" {
		fmt.Fprintf(&b, " of %s", d.Host)
	}
	if d.Device != "" {
		fmt.Fprintf(&b, "/%s", d.Device)
	}
	b.WriteString(": ")
	for i, c := range d.Claims {
		if i > 0 {
			b.WriteString(", but ")
		}
		fmt.Fprintf(&b, "%s says %s", c.Source, c.Value)
		if c.Plan {
			b.WriteString(" is planned")
		}
		if !c.Time.IsZero() && c.Source != seriesSource {
			fmt.Fprintf(&b, " (%s)", c.Time.UTC().Format("2006-01-02 15:04"))
		}
	}
	if d.Text != "" {
		if len(d.Claims) > 0 {
			b.WriteString("; ")
		}
		b.WriteString(d.Text)
	}
	return b.String()
}

// maxDisagreements bounds the list: a wholly different file says nothing new
// after that many lines.
const maxDisagreements = 1000

func sortDisagreements(d []Disagreement) []Disagreement {
	slices.SortStableFunc(d, func(a, b Disagreement) int {
		return cmp.Or(strings.Compare(a.About, b.About), natural(a.Host, b.Host), natural(a.Device, b.Device), strings.Compare(a.Text, b.Text))
	})
	if n := len(d); n > maxDisagreements {
		d = append(d[:maxDisagreements:maxDisagreements], Disagreement{About: "more", Text: fmt.Sprintf("%d more are left out", n-maxDisagreements)})
	}
	return d
}

// mapping compares how two sources divide hosts into groups. Sources may have
// names of their own for the same groups, and one may be coarser, so names are
// compared by the company they keep: a host disagrees if its pair of names is
// the usual one for neither.
type mapping struct {
	count map[[2]string]int
	bestB map[string]string
	bestA map[string]string
}

func newMapping(a, b map[string]string) *mapping {
	m := &mapping{count: map[[2]string]int{}, bestA: map[string]string{}, bestB: map[string]string{}}
	for host, va := range a {
		if vb := b[host]; vb != "" {
			m.count[[2]string{va, vb}]++
		}
	}
	pairs := make([][2]string, 0, len(m.count))
	for p := range m.count {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(x, y [2]string) int {
		return cmp.Or(m.count[y]-m.count[x], strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1]))
	})
	for _, p := range pairs {
		if m.bestB[p[0]] == "" {
			m.bestB[p[0]] = p[1]
		}
		if m.bestA[p[1]] == "" {
			m.bestA[p[1]] = p[0]
		}
	}
	return m
}

// differs says whether a pair of names is unusual for both.
func (m *mapping) differs(a, b string) bool {
	n := m.count[[2]string{a, b}]
	usualB, usualA := m.bestB[a], m.bestA[b]
	if usualB == b || usualA == a {
		return false
	}
	return m.count[[2]string{a, usualB}] > n && m.count[[2]string{usualA, b}] > n
}
