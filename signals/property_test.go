package signals_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// tape answers from recorded samples as a server does, with more overlap than
// it was asked for.
type tape struct {
	in      *promapi.Interner
	series  []taped
	overlap int64
}

type taped struct {
	name    string
	ref     promapi.Ref
	samples []promapi.Sample
}

func (p *tape) Interner() *promapi.Interner { return p.in }

func (p *tape) Instant(_ context.Context, expr string, at time.Time, dst *promapi.Result) error {
	dst.Reset()
	window := int64(75_000)
	if i := strings.LastIndexByte(expr, '['); i >= 0 {
		if d, err := time.ParseDuration(strings.TrimSuffix(expr[i+1:], "]")); err == nil {
			window = d.Milliseconds()
		}
	}
	for _, s := range p.series {
		if !strings.Contains(expr, s.name+"|") && !strings.Contains(expr, "|"+s.name) {
			continue
		}
		begun := false
		for _, x := range s.samples {
			if x.T > at.UnixMilli() || x.T <= at.UnixMilli()-window-p.overlap {
				continue
			}
			if !begun {
				dst.Begin(s.ref)
				begun = true
			}
			dst.Add(x.T, x.V)
		}
	}
	return nil
}

func (p *tape) Range(context.Context, string, promapi.Window, *promapi.Result) error { return nil }
func (p *tape) LabelValues(context.Context, string, []string, promapi.Window) ([]string, error) {
	return nil, nil
}

func (p *tape) add(name string, samples []promapi.Sample, kv ...string) {
	ls := promapi.Labels{{Name: "__name__", Value: name}}
	for i := 0; i < len(kv); i += 2 {
		ls = append(ls, promapi.Label{Name: kv[i], Value: kv[i+1]})
	}
	p.series = append(p.series, taped{name, p.in.Intern(ls), samples})
}

// frames renders all rows of a tick.
func frames(s *signals.Snapshot) string {
	var b strings.Builder
	for id, f := range s.Frames {
		for i := range f.Len() {
			fmt.Fprintf(&b, "%v %v %v %v %v\n", signals.ID(id), s.Entities.Of(f.Entity[i]), f.Value[i], f.Stamp[i], f.Delta[i])
		}
	}
	return b.String()
}

// TestOverlapChangesNothing: however much a server returns again, a tick sees
// the same rows.
func TestOverlapChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counter, gauge := samplesOf(t, "counter"), samplesOf(t, "gauge")
		read := func(overlap int64) []string {
			p := &tape{in: promapi.NewInterner(), overlap: overlap}
			p.add("node_infiniband_symbol_error_total", counter, "instance", "a:9100", "job", "node", "device", "mlx5_0", "port", "1")
			p.add("DCGM_FI_DEV_GPU_TEMP", gauge, "instance", "a:9400", "job", "dcgm", "Hostname", "a", "gpu", "1")
			r, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"p": p})
			require.NoError(t, err)
			var out []string
			for i := range 20 {
				out = append(out, frames(r.Read(t.Context(), unix(t0+int64(15*i)))))
			}
			return out
		}
		require.Equal(t, read(0), read(rapid.Int64Range(0, 300_000).Draw(t, "overlap")))
	})
}

// TestMissedTicksLoseNoCounts: whatever ticks are missed, up to the largest
// window the increases add up to the whole.
func TestMissedTicksLoseNoCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := samplesOf(t, "counter")
		for i := range samples { // no resets: these lose an interval on purpose
			samples[i].V = float64(i * i)
		}
		p := &tape{in: promapi.NewInterner()}
		p.add("node_infiniband_symbol_error_total", samples, "instance", "a:9100", "job", "node", "device", "mlx5_0", "port", "1")
		r, err := signals.NewReader(signals.Options{}, map[string]promapi.Querier{"p": p})
		require.NoError(t, err)
		sum, first := 0.0, math.NaN()
		for i := range 24 {
			if i > 0 && i < 23 && rapid.Bool().Draw(t, "missed") {
				continue
			}
			at := unix(t0 + int64(15*i))
			f := r.Read(t.Context(), at).Frame(signals.NICSymbolErrors)
			for k := range f.Len() {
				if math.IsNaN(first) {
					first = 0 // the row that has no sample before it, or only some of them
					for _, s := range samples {
						if s.T <= f.Stamp[k] {
							first = s.V
						}
					}
					if !math.IsNaN(f.Delta[k]) {
						first -= f.Delta[k]
					}
				}
				if !math.IsNaN(f.Delta[k]) {
					sum += f.Delta[k]
				}
			}
		}
		if len(samples) > 0 && !math.IsNaN(first) {
			require.InDelta(t, samples[len(samples)-1].V-first, sum, 1e-9)
		}
	})
}

// samplesOf draws a series with scrapes missing here and there.
func samplesOf(t *rapid.T, name string) []promapi.Sample {
	var out []promapi.Sample
	v := 0.0
	for i := range 20 {
		v += float64(rapid.IntRange(0, 50).Draw(t, name))
		switch rapid.IntRange(0, 9).Draw(t, name+" event") {
		case 0:
			continue
		case 1:
			v = 0
		}
		out = append(out, promapi.Sample{T: (t0 + int64(15*i)) * 1000, V: v})
	}
	return out
}
