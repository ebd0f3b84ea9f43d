package incidents

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMaintenanceList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "maintenance")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	l := NewMaintenanceList(path)
	require.ErrorIs(t, l.Refresh(), os.ErrNotExist)
	write("# comment\n\nGPU-001.example.org:9100 bad fan # since May\ngpu-002/mlx5_3 until=2026-01-01T12:00:00Z cable\n10.0.0.7\n")
	require.NoError(t, l.Refresh())
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		host, device string
		at           time.Time
		want         string
	}{
		{"gpu-001", "", noon, "bad fan"},
		{"gpu-001", "mlx5_0", noon, "bad fan"},
		{"gpu-002", "mlx5_3", noon.Add(-time.Second), "cable"},
		{"gpu-002", "mlx5_3", noon, ""},
		{"gpu-002", "mlx5_2", noon.Add(-time.Hour), ""},
		{"gpu-002", "", noon.Add(-time.Hour), ""},
		{"10.0.0.7", "", noon, "in maintenance"},
		{"gpu-003", "", noon, ""},
	} {
		require.Equal(t, c.want, l.Reason(c.host, c.device, c.at), "%s/%s", c.host, c.device)
	}
	l.Set(map[string]string{"gpu-003": "drained"})
	require.Equal(t, "drained", l.Reason("gpu-003", "GPU1", noon))

	write("gpu-001\ngpu-009 until=tomorrow x\ngpu-010 until= y\n")
	err := l.Refresh()
	require.ErrorContains(t, err, "line 2")
	require.ErrorContains(t, err, "line 3")
	require.Equal(t, "bad fan", l.Reason("gpu-001", "", noon), "a bad file changes nothing")
	write("")
	require.NoError(t, l.Refresh())
	require.Empty(t, l.Reason("gpu-001", "", noon))
}

func FuzzMaintenance(f *testing.F) {
	f.Add("a b\nc/d until=2026-01-01T12:00:00Z e\n")
	f.Add("[::1]:9100 x")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseMaintenance(text)
		if err != nil {
			return
		}
		for name, o := range list {
			require.NotEmpty(t, o.reason)
			require.LessOrEqual(t, len(o.reason), 200)
			require.Equal(t, name, thing(name), "normal names stay")
		}
	})
}
