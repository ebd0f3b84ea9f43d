package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachCardHasItsSwitchPort: two cards on one port would be one series with
// two values.
func TestEachCardHasItsSwitchPort(t *testing.T) {
	for _, s := range []Shape{R16(16), Q8(9), V4(18), A4(4), A4(12)} {
		t.Run(s.Name, func(t *testing.T) {
			taken := map[[2]any]string{}
			for h, host := range s.Hosts {
				for n, nic := range s.NICs {
					leaf := s.leafOf(h, n)
					if leaf < 0 {
						continue
					}
					at := [2]any{leaf, s.leafPort(h, n)}
					require.Empty(t, taken[at], "%s %s", host, nic)
					taken[at] = host + " " + nic
				}
			}
		})
	}
}
