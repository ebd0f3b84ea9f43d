package exporter

import (
	"encoding/binary"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestControlRequest(t *testing.T) {
	dir := t.TempDir()
	c, err := OpenControl(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	c.clock = func() (time.Time, int64) { return time.Time{}, 1000 }
	words := func() (w [4]uint64) {
		b, err := os.ReadFile(filepath.Join(dir, "control"))
		require.NoError(t, err)
		require.Len(t, b, ctlSize)
		for i := range w {
			w[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
		return w
	}
	require.Equal(t, [4]uint64{ctlMagic, 0, 0, 0}, words())
	require.NoError(t, c.Request("deep", time.Minute))
	require.Equal(t, [4]uint64{ctlMagic, 2, 4, 60e9 + 1000}, words())
	require.NoError(t, c.Request("light", 0))
	require.Equal(t, [4]uint64{ctlMagic, 4, 1, 0}, words())
	for _, bad := range []struct {
		mode string
		d    time.Duration
	}{{"off", time.Second}, {"", time.Second}, {"turbo", time.Second}, {"deep", -1}, {"deep", 2 * time.Hour}} {
		require.Error(t, c.Request(bad.mode, bad.d), "%v", bad)
	}
	require.Equal(t, uint64(4), words()[1], "refused requests change nothing")

	again, err := OpenControl(dir)
	require.NoError(t, err)
	require.NoError(t, again.Close())
	require.Equal(t, uint64(4), words()[1], "a restart keeps the sequence")
}

func TestControlRefusesStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "control")
	require.NoError(t, os.Symlink("/dev/null", path))
	_, err := OpenControl(dir)
	require.Error(t, err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("short"), 0o600))
	_, err = OpenControl(dir)
	require.ErrorContains(t, err, "5 bytes")
}

func TestHandler(t *testing.T) {
	dir := t.TempDir()
	logger := slog.New(slog.DiscardHandler)
	e, err := New(Options{Dir: dir, Node: "n", Grace: time.Minute, Limits: DefaultLimits(), Logger: logger, Registry: prometheus.NewRegistry(), Compat: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	control, err := OpenControl(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	with, err := Handler(e, control, logger)
	require.NoError(t, err)
	without, err := Handler(e, nil, logger)
	require.NoError(t, err)
	for _, tc := range []struct {
		h            http.Handler
		method, path string
		code         int
		text         string
	}{
		{with, "GET", "/metrics", 200, "collwatch_exporter_folder_readable 1"},
		{with, "GET", "/-/healthy", 200, "ok"},
		{with, "GET", "/-/ready", 200, "ok"},
		{with, "GET", "/", 200, "collwatch-exporter"},
		{with, "GET", "/etc/passwd", 404, ""},
		{with, "POST", "/-/mode?mode=deep&for=60s", 200, "accepted"},
		{with, "POST", "/-/mode?mode=deep", 400, "duration"},
		{with, "POST", "/-/mode?mode=turbo&for=1s", 400, "none of"},
		{with, "GET", "/-/mode?mode=deep&for=60s", 405, ""},
		{without, "POST", "/-/mode?mode=deep&for=60s", 405, ""},
	} {
		rec := httptest.NewRecorder()
		tc.h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil))
		if tc.code == 405 {
			require.Contains(t, []int{404, 405}, rec.Code, tc.path)
			continue
		}
		require.Equal(t, tc.code, rec.Code, "%s %s: %s", tc.method, tc.path, rec.Body)
		require.Contains(t, rec.Body.String(), tc.text)
	}
}
