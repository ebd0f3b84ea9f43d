package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process makes the logarithm of a figure, one value a minute, from a minute of
// the day on.
type process func(rng *rand.Rand, at, minutes int) []float64

// wandering is an autoregressive process, from minute to minute.
func wandering(sd, phi float64) process {
	return func(rng *rand.Rand, _, n int) []float64 { return scaled(ar(rng, n, phi), sd) }
}

// heavy has tails of Student's t with three degrees of freedom.
func heavy(sd, phi float64) process {
	return func(rng *rand.Rand, _, n int) []float64 {
		out := make([]float64, n)
		x := rng.NormFloat64()
		for i := range out {
			a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()/math.Sqrt(a*a+b*b+c*c)
			out[i] = x
		}
		return scaled(out, sd)
	}
}

// tide is a day's cycle.
func tide(high, sd float64) process {
	return func(rng *rand.Rand, at, n int) []float64 {
		out := scaled(ar(rng, n, 0), sd)
		for i := range out {
			out[i] += high * math.Sin(2*math.Pi*float64(at+i)/1440)
		}
		return out
	}
}

// switching goes to and fro between two levels and stays for minutes.
func switching(step, stay, sd float64) process {
	return func(rng *rand.Rand, _, n int) []float64 {
		out := scaled(ar(rng, n, 0), sd)
		up := rng.IntN(2) == 1
		for i := range out {
			if rng.Float64() < 1/stay {
				up = !up
			}
			if up {
				out[i] += step
			}
		}
		return out
	}
}

// twoKinds are windows of two kinds, as a job has that validates now and then.
func twoKinds(step, part, sd float64) process {
	return func(rng *rand.Rand, _, n int) []float64 {
		out := scaled(ar(rng, n, 0), sd)
		for i := range out {
			if rng.Float64() < part {
				out[i] += step
			}
		}
		return out
	}
}

func scaled(xs []float64, by float64) []float64 {
	for i := range xs {
		xs[i] *= by
	}
	return xs
}

// each takes the processes of rows in turn.
func each(ps ...process) func(row int) process {
	return func(row int) process { return ps[row%len(ps)] }
}

// drawnRecord is a record of minutes of some rows, as the command would read it: at
// most 360 windows of two dumps, however long the time is.
func drawnRecord(rng *rand.Rand, rows int, pick func(int) process, at, minutes int, change func(row int) float64) *Record {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(at) * time.Minute)
	rec := &Record{Source: "job 1", Jobs: []string{"1"}, From: from, To: from.Add(time.Duration(minutes) * time.Minute), Ticks: minutes}
	every := max(1, (minutes+359)/360)
	for i := range rows {
		logs := pick(i)(rng, at, minutes)
		var times, bands, transfers []float64
		for k := 0; k < len(logs); k += every {
			f := math.Exp(logs[k]) * change(i)
			times = append(times, 6e-3*f*(1+0.002*rng.NormFloat64()))
			bands = append(bands, 4e10/f*(1+0.002*rng.NormFloat64()))
			transfers = append(transfers, 5.8e-3*f*(1+0.004*rng.NormFloat64()))
		}
		rec.Rows = append(rec.Rows, Row{
			Key:   Key{"AllReduce", int32(1024 - i), 16, "128M", "ring_simple"},
			Bytes: 134e6, Groups: 8, Members: 128, Expected: 128, Windows: len(times),
			Series: []Series{{Time, reduce(times)}, {Bandwidth, reduce(bands)}, {Transfer, reduce(transfers)}},
		})
	}
	return rec
}

func unchanged(int) float64 { return 1 }

// TestEqualProcessesRarelyFail: pairs of the same process, of the kinds that jobs
// show, with several rows, and sides that are hours and minutes. At most one in
// twenty fails, whatever the limit.
func TestEqualProcessesRarelyFail(t *testing.T) {
	if testing.Short() {
		t.Skip("many comparisons")
	}
	const pairs, rows = 40, 6
	mostly := func(i int) process { // one of several rows crosses hosts
		if i == 0 {
			return wandering(0.06, 0.9)
		}
		return wandering(0.02, 0)
	}
	const minutesOfDay = 1440
	for _, tc := range []struct {
		name       string
		pick       func(int) process
		base, cand int // minutes
	}{
		{"quiet, short", each(wandering(0.02, 0)), 25, 25},
		{"autocorrelated", each(wandering(0.03, 0.6)), 60, 60},
		{"autocorrelated, an hour and a quarter", each(wandering(0.03, 0.6)), 60, 15},
		{"autocorrelated, a day and minutes", each(wandering(0.03, 0.6)), minutesOfDay, 20},
		{"autocorrelated, minutes and a day", each(wandering(0.03, 0.6)), 20, minutesOfDay},
		{"strongly autocorrelated", each(wandering(0.03, 0.9)), 60, 60},
		{"strongly autocorrelated, a day and minutes", each(wandering(0.03, 0.9)), minutesOfDay, 20},
		{"days that wander", each(wandering(0.03, 0.97)), minutesOfDay, minutesOfDay},
		{"heavy tails", each(heavy(0.03, 0.9)), 60, 60},
		{"one row wanders among quiet ones", mostly, 60, 60},
		{"a tide, a day and minutes", each(tide(0.05, 0.02)), minutesOfDay, 20},
		{"a tide, minutes and a day", each(tide(0.05, 0.02)), 20, minutesOfDay},
		{"a tide, days", each(tide(0.05, 0.02)), minutesOfDay, minutesOfDay},
		{"a tide, a day and a half and a day", each(tide(0.05, 0.02)), 2160, minutesOfDay},
		{"switches within minutes", each(switching(0.1, 5, 0.02)), 60, 60},
		{"switches, a day and minutes", each(switching(0.06, 20, 0.01)), minutesOfDay, 20},
		{"two kinds of steps", each(twoKinds(0.3, 0.3, 0.01)), 60, 60},
		{"two kinds of steps, a day and minutes", each(twoKinds(0.3, 0.5, 0.01)), minutesOfDay, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 3))
			wrong := map[float64]int{}
			for range pairs {
				base := drawnRecord(rng, rows, tc.pick, 0, tc.base, unchanged)
				cand := drawnRecord(rng, rows, tc.pick, minutesOfDay+rng.IntN(minutesOfDay), tc.cand, unchanged)
				for _, limit := range []float64{0.001, 0.05} {
					if Compare(base, cand, Settings{FailOn: limit, Resamples: 50}).Verdict == Regression {
						wrong[limit]++
					}
				}
			}
			t.Logf("of %d: %v", pairs, wrong)
			require.LessOrEqual(t, wrong[0.001], pairs/20)
			require.LessOrEqual(t, wrong[0.05], pairs/20)
		})
	}
}

// TestRealChangesAreFound: one row of six gets worse.
func TestRealChangesAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("many comparisons")
	}
	const pairs, rows = 40, 6
	for _, tc := range []struct {
		noise         process
		name          string
		base, cand    int
		change, limit float64
		least         int // of the pairs
	}{
		{wandering(0.01, 0), "1 % noise, short", 25, 25, 0.03, 0.02, 36},
		{wandering(0.01, 0.6), "1 % noise", 60, 60, 0.03, 0.02, 36},
		{wandering(0.01, 0.6), "1 % noise, a day and minutes", 1440, 20, 0.07, 0.05, 36},
		{wandering(0.03, 0), "3 % noise", 60, 60, 0.07, 0.05, 36},
		{wandering(0.03, 0.6), "3 % noise, autocorrelated", 60, 60, 0.1, 0.05, 36},
		{wandering(0.03, 0.6), "3 % noise, short", 25, 25, 0.2, 0.05, 36},
		{wandering(0.03, 0.9), "strongly autocorrelated days", 1440, 1440, 0.07, 0.05, 36},
		{tide(0.05, 0.02), "days with a tide", 1440, 1440, 0.07, 0.05, 36},
		{tide(0.05, 0.02), "days and a half with a tide", 2160, 1500, 0.1, 0.05, 36},
	} {
		t.Run(fmt.Sprintf("%s, %.0f %%", tc.name, 100*tc.change), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(12, 4))
			found, blamed := 0, 0
			for range pairs {
				base := drawnRecord(rng, rows, each(tc.noise), 0, tc.base, unchanged)
				cand := drawnRecord(rng, rows, each(tc.noise), 1440, tc.cand, func(row int) float64 {
					if row == 1 {
						return 1 + tc.change
					}
					return 1
				})
				for i, r := range Compare(base, cand, Settings{FailOn: tc.limit, Resamples: 50}).Rows {
					switch {
					case r.Verdict != Regression:
					case i == 1:
						found++
					default:
						blamed++
					}
				}
			}
			t.Logf("found in %d of %d, other rows blamed %d times", found, pairs, blamed)
			require.GreaterOrEqual(t, found, tc.least)
			require.LessOrEqual(t, blamed, pairs/20)
		})
	}
}
