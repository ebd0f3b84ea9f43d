package detectors

import "math"

// correlation estimates the lag-1 autocorrelation of the residuals of one metric
// family, over all its series: noise on real fabrics is anything from white to
// 0.9, and a limit that is right for the one is wrong by orders of magnitude for
// the other.
//
// It counts how often two residuals in a row have the same sign. For a normal
// process that share p gives φ = sin(π (p − ½)), and outliers do not matter.
type correlation struct {
	same, n float64
}

const (
	// correlationLeast pairs make an estimate; correlationMost is about how many
	// the estimate remembers.
	correlationLeast = 300
	correlationMost  = 5000
	// correlationHighest is the largest φ that a limit is corrected for.
	correlationHighest = 0.9
)

// add takes two residuals in a row of one series.
func (c *correlation) add(before, now float64) {
	if c.n >= correlationMost {
		keep := 1 - 1/float64(correlationMost)
		c.same, c.n = c.same*keep, c.n*keep
	}
	c.n++
	if before*now > 0 {
		c.same++
	}
}

// phi is the estimate, at least the one that is assumed before anything is
// known: a lower one would make limits lower than they were tried with.
func (c *correlation) phi(assumed float64) float64 {
	if c.n < correlationLeast {
		return assumed
	}
	return min(max(assumed, math.Sin(math.Pi*(c.same/c.n-0.5))), max(assumed, correlationHighest))
}
