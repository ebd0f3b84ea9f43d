package rules

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The smoothed level is an EWMA of the logarithm, written as a recording rule on
// its own previous value, with a band of an EWMA of the absolute deviation.
// Prometheus has such functions only behind a feature flag, and windows of an
// hour at every evaluation cost a hundred times more. After S. Gelper, R. Fried,
// C. Croux, "Robust forecasting with exponential and Holt-Winters smoothing"
// (Journal of Forecasting 29, 2010): what is outside of the band hardly moves
// level and spread, so that a fault is not learnt as the usual.
const (
	// smoothHalf is the time after which half of a new level inside the band is
	// learnt: longer than a fault must last to be told.
	smoothHalf = 30 * time.Minute
	// outsideShare is how much slower is learnt what is outside: half of a new
	// level in ten hours, so that a job whose work really changed is not called
	// slow for ever.
	outsideShare = 0.05
	// bandWidth is in spreads; the daemon too learns nothing beyond four.
	bandWidth = 4
	// spreadFirst is the spread before anything is known; spreadLeast and
	// spreadMost bound it. Recorded transfer times vary by 0.3 to 4 %, those of
	// jobs with random lengths by up to 18 %. Without the least a constant series
	// would have no band.
	spreadFirst, spreadLeast, spreadMost = 0.05, 0.02, 0.5
	// mostAway bounds the logarithm, or an infinite value would stay in the level
	// for ever, and a pause of a quarter of an hour take much of it away.
	mostAway = 2
	// sigma makes a standard deviation of a mean absolute deviation, sqrt(pi/2);
	// sigmaMAD one of a median absolute deviation. Both hold for a normal
	// distribution.
	sigma, sigmaMAD = 1.2533, 1.4826
	// smoothStart leaves out a job's first minutes, which load and compile;
	// smoothFirst is the window whose median is the first level.
	smoothStart, smoothFirst = 5 * time.Minute, 10 * time.Minute
	// smoothMemory is the longest gap after which a level goes on. A checkpoint
	// may take a quarter of an hour.
	smoothMemory = 30 * time.Minute
)

// smooth are the names of the series that are recorded beside a smoothed one.
type smooth struct {
	// perUsual is the logarithm of the value over its usual level before it was
	// taken in; usual and spread are the level and its deviation; upper and lower
	// are the band, in the unit of the value.
	perUsual, usual, spread, upper, lower string
}

// smoothed records the usual level of a series of positive values, and a band
// around it. held, if not "", are matching and rows while which nothing is
// learnt, such as "on (job_id) last_over_time(…[2m])".
//
// Level and spread refer to their own past. A gap or a stop of the server longer
// than smoothMemory forgets them: they begin anew, and for smoothStart +
// smoothFirst nothing is said.
func (b *builder) smoothed(series, held string) smooth {
	base := series[:strings.LastIndexByte(series, ':')]
	s := smooth{
		perUsual: base + "_per_usual:ln", usual: base + "_usual:ewma", spread: base + "_spread:ewma",
		upper: base + "_upper:band", lower: base + "_lower:band",
	}
	before := func(name string) string { return fmt.Sprintf("last_over_time(%s[%s])", name, span(smoothMemory)) }
	alpha := 1 - math.Exp2(-float64(b.o.Interval)/float64(smoothHalf))
	inside := fmt.Sprintf("(abs(%s) <= bool %d * %s)", s.perUsual, bandWidth, before(s.spread))
	learning := s.perUsual
	if held != "" {
		learning = fmt.Sprintf("(%s unless %s)", s.perUsual, held)
	}
	const own = "; it refers to its own past"
	b.share(s.perUsual, "how far "+series+" is from its usual level, as a natural logarithm", "clamp(ln(%s / %s), -%d, %d)", series, before(s.usual), mostAway, mostAway)
	b.share(s.usual, fmt.Sprintf("the usual level of %s: an EWMA with a half-life of %s, %g of that speed outside of the band; it begins as the median of %s and goes on over gaps of up to %s%s",
		series, span(smoothHalf), outsideShare, span(smoothFirst), span(smoothMemory), own),
		"%s * exp(%s * %s * (%s + %s * %s)) or (%s and %s) or (quantile_over_time(0.5, %s[%s]) and %s offset %s)",
		before(s.usual), num(round4(alpha)), learning, num(outsideShare), num(1-outsideShare), inside, before(s.usual), series,
		series, span(smoothFirst), series, span(smoothStart+smoothFirst))
	if b.profile.MetricsQL {
		b.share(s.spread, "its usual deviation from that level, by the median absolute deviation of an hour, which this server has; held while outside of the band"+own,
			"clamp(%s * mad_over_time(%s[1h]), %s, %s) and %s offset %s and %s == 1 or (%s and %s) or %s * 0 + %s", num(sigmaMAD), s.perUsual, num(spreadLeast),
			num(spreadMost), s.perUsual, span(smoothFirst), inside, before(s.spread), series, s.usual, num(spreadFirst))
	} else {
		b.share(s.spread, "its usual deviation from that level, learnt in the same way, from the inside of the band only"+own,
			"clamp(%s + %s * %s * (%s * abs(%s) - %s), %s, %s) or (%s and %s) or %s * 0 + %s", before(s.spread), num(round4(alpha)), inside, num(sigma), learning,
			before(s.spread), num(spreadLeast), num(spreadMost), before(s.spread), series, s.usual, num(spreadFirst))
	}
	b.share(s.upper, "the upper end of the band", "%s * exp(%d * %s)", s.usual, bandWidth, s.spread)
	b.share(s.lower, "the lower end of the band", "%s / exp(%d * %s)", s.usual, bandWidth, s.spread)
	return s
}

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }
