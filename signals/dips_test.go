package signals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// TestErrorsLongAfterAReset holds that a counter which was reset, and reaches its
// old total an hour later by real errors, counts them.
func TestErrorsLongAfterAReset(t *testing.T) {
	var s scrapes
	const n = 60
	s.add(`node_infiniband_link_downed_total{device="mlx5_3",port="1",`+node14+`}`, n, func(i int) (float64, bool) {
		switch {
		case i < 5:
			return 3, true
		case i < 50:
			return 0, true
		}
		return 3, true // 11 minutes after the reset
	})
	got := values(t, &s, n, signals.NICLinkDowned, nic("gpu-014", "mlx5_3"))
	require.InDelta(t, 3.0/15, got[50], 1e-9)
}

// TestABootIsNoDip holds that what a counter shows after a boot of its host is
// counted from zero, whatever its total was before.
func TestABootIsNoDip(t *testing.T) {
	var s scrapes
	s.add(`node_boot_time_seconds{`+node14+`}`, 8, func(i int) (float64, bool) {
		if i >= 3 {
			return t0 + 40, true
		}
		return t0 - 1e6, true
	})
	s.add(`node_infiniband_symbol_error_total{device="mlx5_5",port="1",`+node14+`}`, 8, func(i int) (float64, bool) {
		return []float64{150, 150, 150, 0, 0, 0, 300, 300}[i], true
	})
	got := values(t, &s, 8, signals.NICSymbolErrors, nic("gpu-014", "mlx5_5"))
	require.InDelta(t, 20, got[6], 1e-9)
}
