package detectors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// When a job slows down all its NICs carry less. The level of a suspect port is
// kept as it was; its sisters must not learn the new one meanwhile and then
// look as if they carried somebody else's bytes.
func TestTrafficThatFallsIsNobodyElses(t *testing.T) {
	c := snaptest.New(snaptest.Rails("gpu-%03d", 8, 2), 5)
	b := detectors.NewBank(detectors.Options{})
	run(c, b, 10*time.Minute)
	b.Freeze([]signals.Entity{snaptest.NIC("gpu-007", "mlx5_1")})
	for _, id := range []signals.ID{signals.NICTx, signals.NICRx} {
		c.SetAll(id, 2e9, nil)
	}
	for range 4 * 25 {
		r := b.Observe(c.Next())
		for _, f := range r.Findings {
			require.NotEqual(t, detectors.CodeTrafficAbove, f.Code, "%s: %g against %g", f.Entity, f.Value, f.Expected)
		}
		b.Freeze([]signals.Entity{snaptest.NIC("gpu-007", "mlx5_1")})
	}
}
