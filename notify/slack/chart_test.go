package slack

import (
	"bytes"
	"context"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/incidents"
)

// fallen is a rate that fell to a quarter in the middle of half an hour.
func fallen(ctx context.Context, inc *incidents.Incident) (Series, bool) {
	s := Series{Title: "NIC rate", Unit: "GB/s", Text: "the suspect's median is 50 GB/s before the onset and 12.5 GB/s after it.", Peers: 127, Onset: inc.StartedAt}
	for i := range 60 {
		s.Times = append(s.Times, inc.StartedAt.Add(time.Duration(i-30)*30*time.Second))
		s.Median = append(s.Median, 50)
		v := 50.0
		if i >= 30 {
			v = 12.5
		}
		s.Suspect = append(s.Suspect, v)
	}
	return s, ctx.Err() == nil
}

func withCharts(mode string) func(*Options) {
	return func(o *Options) { o.Series, o.Chart = fallen, mode }
}

func TestChartComesOnceIntoTheThread(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, withCharts(ChartNative))
		r.tick(6, down("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Len(t, r.replies(), 1)
		require.False(t, r.replies()[0].Broadcast)
		require.Contains(t, r.replies()[0].Body, "chart: NIC rate, 2 series of 20 points")
		require.Contains(t, r.replies()[0].Text, "`██████████▃▃▃▃▃▃▃▃▃▃` suspect")
		require.Contains(t, r.replies()[0].Text, "median of 127 peers")
		r.restart()
		r.tick(4, critical("gpu-007"))
		require.Len(t, r.replies(), 2, "one line about the rise, no second chart")
		golden(t, "chart.txt", r.s.Transcript())
	})
}

func TestPictureWhereSlackHasNoCharts(t *testing.T) {
	for _, leave := range []bool{true, false} {
		in(t, func(t *testing.T) {
			r := newRig(t, withCharts(ChartNative))
			r.s.RefuseCharts()
			if !leave {
				r.s.Fail("files.getUploadURLExternal", "missing_scope", 9)
			}
			r.tick(6, down("gpu-007"))
			want := 1
			if leave {
				want = 2
				require.Contains(t, r.replies()[1].Text, "course.png")
			}
			require.Len(t, r.replies(), want)
			require.Contains(t, r.replies()[0].Text, "suspect")
			r.tick(6, down("gpu-007"), down("gpu-008"))
			require.Len(t, r.visible(), 2, "a refused picture delays nobody")
			require.Len(t, r.replies(), 2*want)
			require.Equal(t, 1, strings.Count(r.s.Transcript(), "invalid_blocks"), "a workspace without charts is asked once")
		})
	}
}

func TestChartModes(t *testing.T) {
	for mode, want := range map[string]int{ChartNone: 0, ChartText: 1, ChartPNG: 2} {
		in(t, func(t *testing.T) {
			r := newRig(t, withCharts(mode))
			r.tick(6, down("gpu-007"))
			require.Len(t, r.replies(), want, mode)
		})
	}
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			o.Series = func(ctx context.Context, _ *incidents.Incident) (Series, bool) {
				<-ctx.Done() // a source that does not answer
				return Series{}, false
			}
		})
		r.tick(6, down("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Empty(t, r.replies())
	})
}

func TestChartWaitsForFigures(t *testing.T) {
	in(t, func(t *testing.T) {
		asked := 0
		r := newRig(t, func(o *Options) {
			o.Series = func(ctx context.Context, inc *incidents.Incident) (Series, bool) {
				if asked++; asked < 3 {
					return Series{}, false
				}
				return fallen(ctx, inc)
			}
		})
		r.tick(4, down("gpu-007"))
		require.Empty(t, r.replies())
		r.tick(8, down("gpu-007"))
		require.Len(t, r.replies(), 1)
	})
}

func TestLostAnswerOfAChartIsFound(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			withCharts(ChartNative)(o)
			o.Routes[0].Channel = "C0123456789"
		})
		r.tick(1, down("gpu-007"))
		r.s.LoseAnswers("chat.postMessage", 2)
		r.tick(8, down("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Len(t, r.replies(), 1)
	})
}

// TestAnySeriesIsWithinTheLimits throws odd courses at the strict fake.
func TestAnySeriesIsWithinTheLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(rt, "n")
		number := rapid.SampledFrom([]float64{0, 1, -3, 1e-12, 1e18, 12.5, math.NaN()})
		list := func(name string) []float64 {
			if rapid.IntRange(0, 4).Draw(rt, name+" absent") == 0 {
				return nil
			}
			return rapid.SliceOfN(number, n, n).Draw(rt, name)
		}
		s := Series{
			Title: rapid.String().Draw(rt, "title"), Unit: rapid.String().Draw(rt, "unit"), Text: rapid.String().Draw(rt, "text"),
			Suspect: list("suspect"), Median: list("median"), Peers: rapid.IntRange(0, 1e6).Draw(rt, "peers"),
		}
		step := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute, 12 * time.Hour}).Draw(rt, "step")
		for i := range n {
			s.Times = append(s.Times, time.Unix(1767225600, 0).Add(time.Duration(i)*step))
		}
		if s.Title == "" {
			s.Title = "value"
		}
		in(t, func(t *testing.T) {
			r := newRig(t, func(o *Options) {
				o.Series = func(context.Context, *incidents.Incident) (Series, bool) { return s, true }
			})
			r.tick(4, down("gpu-007"))
			require.NotContains(t, r.s.Transcript(), "invalid", s)
			r.stop()
		})
	})
}

func TestPictureIsAPicture(t *testing.T) {
	s, _ := fallen(t.Context(), &incidents.Incident{StartedAt: time.Unix(1767225600, 0)})
	data, err := s.png()
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	require.Equal(t, 960, img.Bounds().Dx())
	require.Less(t, len(data), 200<<10)
}
