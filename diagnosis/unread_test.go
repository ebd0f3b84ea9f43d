package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestHostsThatAreNotRead: a switch is blamed while others are calm. Ports of hosts
// that nobody looks at are not calm, whatever the fabric knows of them.
func TestHostsThatAreNotRead(t *testing.T) {
	unread := map[string]bool{}
	for _, h := range snaptest.R16().Hosts[6:] {
		unread[h] = true
	}
	told := func(unread map[string]bool) []string {
		r := newRig(snaptest.New(snaptest.R16(), 11))
		r.diag = diagnosis.New(diagnosis.Options{Interval: r.Interval, Unread: unread})
		r.run(20 * time.Minute)
		r.Set(signals.NICTransmitWait, 6e6, onRail(r, 2, 16)...)
		for k := range 8 {
			r.Set(signals.NICTransmitWait, 6e6, onRail(r, k, 6)...)
		}
		r.SlowGroups(0.4, rail("2"))
		return r.run(4 * time.Minute).told
	}
	const leaf = "leaf_degraded rail_wide critical high switch:leaf-r2"
	require.Contains(t, told(nil), leaf, "ten of sixteen ports below each other switch are calm")
	require.NotContains(t, told(unread), leaf)
}
