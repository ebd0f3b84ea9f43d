package diagnosis

import (
	"fmt"
	"slices"
	"strings"
)

// tidy puts decisive evidence first and says nothing twice. Families that judge
// the same thing give the same fact, in more or fewer words: the longer text
// stays.
func tidy(list []Evidence) []Evidence {
	out := make([]Evidence, 0, len(list))
	for i, e := range list {
		said := slices.ContainsFunc(out, func(o Evidence) bool { return o.Text == e.Text })
		for k, o := range list {
			said = said || k != i && len(o.Text) > len(e.Text) && strings.HasPrefix(o.Text, e.Text)
		}
		if said {
			continue
		}
		for _, o := range list { // the shorter one may have been the decisive one
			e.Decisive = e.Decisive || o.Decisive && strings.HasPrefix(e.Text, o.Text)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Evidence) int {
		switch {
		case a.Decisive == b.Decisive:
			return 0
		case a.Decisive:
			return -1
		}
		return 1
	})
	return out
}

// slowUsers says how many communicators that depend on a thing are slow, and by
// how much at most.
func slowUsers(n int, effect float64) string {
	if n == 1 {
		return fmt.Sprintf("1 communicator that uses it is up to %s %% slower", figure(effect*100))
	}
	return fmt.Sprintf("%s that use it are up to %s %% slower", count(n, "communicator"), figure(effect*100))
}
