package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
)

func TestBlindness(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fine := func() engine.Tick { return engine.Tick{Result: &diagnosis.Result{Whole: true}} }
	holds := func(hs ...diagnosis.Hold) func() engine.Tick {
		return func() engine.Tick { return engine.Tick{Result: &diagnosis.Result{Holds: hs}} }
	}
	failed := func() engine.Tick { return engine.Tick{Err: errors.New("panic")} }
	down := holds(diagnosis.Hold{Reason: "main not reported: source_down"})
	dcgm := holds(diagnosis.Hold{Reason: "dcgm not reported: zero_rows", Classes: []diagnosis.Class{diagnosis.GPUThrottle}})
	for name, tc := range map[string]struct {
		ticks []func() engine.Tick // one a minute, each repeated six times
		since time.Duration        // -1: nobody is told
		text  string
	}{
		"all is seen":             {[]func() engine.Tick{fine, fine}, -1, ""},
		"source down":             {[]func() engine.Tick{fine, down, down}, 6 * time.Minute, "main not reported: source_down"},
		"not long enough":         {[]func() engine.Tick{fine, fine, down}, -1, ""},
		"back in time":            {[]func() engine.Tick{down, fine, down}, -1, ""},
		"evaluations fail":        {[]func() engine.Tick{failed, failed}, 0, "evaluations fail"},
		"a failure keeps what is": {[]func() engine.Tick{down, failed}, 0, "main not reported: source_down"},
		"a family":                {[]func() engine.Tick{dcgm, dcgm}, 0, "dcgm not reported: zero_rows (1 classes)"},
		"one host is no matter": {
			[]func() engine.Tick{holds(diagnosis.Hold{Host: "gpu-007", Reason: "x"}), holds(diagnosis.Hold{Host: "gpu-007", Reason: "x"})}, -1, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBlindness(10 * time.Minute)
			at := begin
			for _, make := range tc.ticks {
				for range 6 {
					tick := make()
					tick.At = at
					b.observe(&tick)
					at = at.Add(time.Minute)
				}
			}
			since, text := b.state()
			if tc.since < 0 {
				require.True(t, since.IsZero(), text)
				return
			}
			require.Equal(t, begin.Add(tc.since), since)
			require.Equal(t, tc.text, text)
		})
	}
}
