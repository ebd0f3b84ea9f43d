package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/collwatch/collwatch/internal/compare"
)

// Advice is one thing to change, the most worthwhile first.
type Advice struct {
	What string
	Why  string
}

const (
	// waitingHigh is the part of an operation's time from which waiting is the
	// first thing to look at. Healthy windows show a few percent.
	waitingHigh = 0.15
	// unsteady is the relative spread over time from which an operation counts as
	// unsteady: window means of healthy transfers vary by 0.3 to 4 %.
	unsteady = 0.25
	// mostAdvice keeps the list short enough to be followed.
	mostAdvice = 6
)

var severityOrder = map[string]int{"critical": 0, "warning": 1, "info": 2}

// advise lists what to change first: incidents by severity, because they have a
// cause and a next step; then costs, the largest first.
func (r *Report) advise() {
	list := slices.Clone(r.Incidents)
	slices.SortStableFunc(list, func(a, b Incident) int {
		return cmp.Compare(rank(a.Severity), rank(b.Severity))
	})
	for _, i := range list {
		if i.NextStep != "" && rank(i.Severity) < len(severityOrder) {
			r.Advice = append(r.Advice, Advice{What: sentence(i.NextStep), Why: sentence(i.Summary)})
		}
	}
	for _, c := range r.Costs {
		if known(c.Waiting) && c.Waiting >= waitingHigh {
			r.Advice = append(r.Advice, Advice{
				What: fmt.Sprintf("Even out what comes before %s: compute, data loading, host load.", c.Key),
				Why:  fmt.Sprintf("%s of its %s are waiting for the last to arrive, not transfer%s.", compare.Lateness.Format(c.Waiting), compare.Time.Format(c.Time), share(c)),
			})
		} else if known(c.Spread) && c.Spread >= unsteady {
			r.Advice = append(r.Advice, Advice{
				What: fmt.Sprintf("Find what disturbs %s from time to time: other traffic, storage, checkpoints.", c.Key),
				Why:  fmt.Sprintf("A tenth of the time it takes %.0f %% longer than usual%s.", 100*c.Spread, share(c)),
			})
		}
	}
	if len(r.Advice) > mostAdvice {
		r.Advice = r.Advice[:mostAdvice]
	}
}

func rank(severity string) int {
	if n, ok := severityOrder[severity]; ok {
		return n
	}
	return len(severityOrder)
}

func share(c Cost) string {
	if !known(c.Share) {
		return ""
	}
	return fmt.Sprintf("; it takes %s of the wall time", compare.Share.Format(c.Share))
}

// nothing is said where there is no advice.
func (r *Report) nothing() string {
	switch {
	case len(r.Costs) == 0:
		return "There are no collectives with new values in this time: nothing can be said."
	case len(r.Incidents) > 0:
		return "No incident has a next step, and no operation stands out."
	}
	return "Nothing stands out: no incident, little waiting, steady operations."
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ".")
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:] + "."
}
