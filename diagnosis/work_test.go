package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestGPUWithMoreWorkIsNotNamed: a lasting hot expert is late, at full clock and
// power and with all its tensor activity. A GPU that is late for want of anything
// shows less of one of them, and is named.
func TestGPUWithMoreWorkIsNotNamed(t *testing.T) {
	gpu := snaptest.GPU("roce-03", 3)
	for name, tc := range map[string]struct {
		tensor, power float64 // of the late GPU; the others wait at 0.29 and 560 W, healthy are 0.41 and 690 W
		more          func(c *snaptest.Cluster)
		named         bool
	}{
		"a hot expert":             {0.44, 700, nil, false},
		"it draws less":            {0.44, 500, nil, true},
		"it computes less":         {0.33, 690, nil, true},
		"it waits like the others": {0.29, 560, nil, true},
		"power is not reported":    {0.44, 700, func(c *snaptest.Cluster) { c.Without(signals.GPUPower) }, true},
		"its host lacks CPU":       {0.44, 700, func(c *snaptest.Cluster) { c.Set(signals.HostCPUPressure, 0.55, snaptest.Host(gpu.Host)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.Q8(), 6)
			p := newPipeline(c.Interval).run(c, 30*time.Minute)
			require.Empty(t, p.first)
			late(c, 12e-3, func(e signals.Entity) bool { return e.Host == gpu.Host && e.Device == gpu.Device })
			c.SetAll(signals.GPUTensorActive, 0.29, nil)
			c.SetAll(signals.GPUPower, 560, nil)
			c.Set(signals.GPUTensorActive, tc.tensor, gpu)
			c.Set(signals.GPUPower, tc.power, gpu)
			if tc.more != nil {
				tc.more(c)
			}
			p.run(c, 15*time.Minute)
			if tc.named {
				require.NotEmpty(t, p.verdict(t, StragglerCompute).Suspects)
				return
			}
			require.Len(t, p.first, 1, "%v", p.first)
			v := p.verdict(t, RoleImbalance)
			require.Equal(t, "more_work", v.Reason)
			require.Equal(t, Recorded, v.Severity)
			require.Empty(t, v.Suspects)
		})
	}
}
