package detectors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// ended runs a job for half an hour and ends it.
func ended(t *testing.T) (*Bank, *snaptest.Cluster) {
	t.Helper()
	c := snaptest.New(snaptest.Rails("h-%02d", 4, 4), 1)
	b := NewBank(Options{})
	for range 120 {
		b.Observe(c.Next())
	}
	c.End(c.Shape.Job)
	b.Observe(c.Next())
	return b, c
}

func TestBusierThanTheJobBefore(t *testing.T) {
	for name, restart := range map[string]bool{"same process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			b, c := ended(t)
			if restart {
				saved, err := b.Save()
				require.NoError(t, err)
				b = NewBank(Options{})
				require.NoError(t, b.Restore(saved))
				again, err := b.Save()
				require.NoError(t, err)
				require.JSONEq(t, string(saved), string(again))
			}
			c.AddJob("next", c.Shape.Hosts, 4)
			c.SetAll(signals.GPUDRAMActive, 0.74, nil)
			found := map[signals.ID]Finding{}
			for range 60 {
				for _, f := range b.Observe(c.Next()).Findings {
					if f.Detector == "profile" {
						found[f.Signal] = f
					}
				}
			}
			require.Len(t, found, 1)
			f := found[signals.GPUDRAMActive]
			require.Equal(t, BaselineShape, f.Pattern)
			require.InDelta(t, 0.6, f.Effect(), 0.1)
			require.Equal(t, c.Shape.Job, f.Entity.Detail)
		})
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"no JSON":         {"\x00\x01", "baselines"},
		"half written":    {`{"version":1,"sections":{"prof`, "unexpected end"},
		"another version": {`{"version":9}`, "version 9"},
		"a level of zero": {`{"version":1,"sections":{"profile":[{"job":"j","lines":[{"signal":"gpu_dram_active","usual":0}]}]}}`, "gpu_dram_active is 0"},
		"no bandwidth":    {`{"version":1,"sections":{"shapes":[{"job":"j","windows":[-1]}]}}`, `"j" is -1`},
		"another form":    {`{"version":1,"sections":{"profile":{"a":1}}}`, "profile"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBank(Options{})
			require.ErrorContains(t, b.Restore([]byte(tc.in)), tc.want)
			b.Observe(&signals.Snapshot{Time: time.Unix(0, 0), Entities: signals.NewEntities()})
		})
	}
}

// TestSlowAgainstJobsOfDaysAgo: what a job of a shape reaches is known over a
// restart, because a job that is slow from its first window on has no other
// measure.
func TestSlowAgainstJobsOfDaysAgo(t *testing.T) {
	c := snaptest.New(snaptest.Rails("h-%02d", 4, 4), 1)
	b := NewBank(Options{})
	for _, id := range []string{"second", "third"} {
		for range 60 {
			b.Observe(c.Next())
		}
		c.End(map[string]string{"second": c.Shape.Job, "third": "second"}[id])
		for range 20 {
			b.Observe(c.Next())
		}
		c.AddJob(id, c.Shape.Hosts, 4)
	}
	saved, err := b.Save()
	require.NoError(t, err)
	b = NewBank(Options{})
	require.NoError(t, b.Restore(saved))
	again, err := b.Save()
	require.NoError(t, err)
	require.JSONEq(t, string(saved), string(again))
	c.Scale(signals.CollBusBandwidth, 0.1, func(e signals.Entity) bool { return e.Job == "third" && e.NNodes > 1 })
	var slow, fast []string
	for range 60 {
		slow, fast = nil, nil
		for _, f := range b.Observe(c.Next()).Findings {
			switch f.Code {
			case CodeBelowShape:
				slow = append(slow, f.Job)
				require.InDelta(t, 0.1, f.Value/f.Expected, 0.02)
			case CodeAtShape:
				fast = append(fast, f.Job)
			}
		}
	}
	require.Contains(t, slow, "third")
	require.NotContains(t, fast, "third")
	require.Subset(t, fast, []string{c.Shape.Job, "second"})
}
