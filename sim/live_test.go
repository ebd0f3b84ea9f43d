package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a settable time.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func live(t *testing.T, p Params, id string) (*Live, *clock) {
	t.Helper()
	clk := &clock{time.Unix(1767225600, 0)}
	s, ok := Find(id)
	require.True(t, ok)
	shape := s.Shape(4)
	shape.Jobs = []JobSpec{TensorData("48213", 4, 8)}
	c, err := New(Options{Seed: p.Seed, Start: clk.t, Shape: shape, Dialect: Full(), Noise: DefaultNoise(), Live: true}, nil)
	require.NoError(t, err)
	return NewLive(c, clk.now), clk
}

func TestFilesFreezeInAHangAndGoAtTheEnd(t *testing.T) {
	l, clk := live(t, Params{Seed: 1}, "N00")
	dir := t.TempDir()
	read := func() map[string]string {
		require.NoError(t, l.Files(t.Context(), dir, false))
		out := map[string]string{}
		paths, err := filepath.Glob(filepath.Join(dir, "nccl_inspector_metrics_GPU-*.prom"))
		require.NoError(t, err)
		for _, p := range paths {
			b, err := os.ReadFile(p)
			require.NoError(t, err)
			out[p] = string(b)
		}
		return out
	}
	clk.t = clk.t.Add(2 * time.Minute)
	first := read()
	require.Len(t, first, 32)
	for _, text := range first {
		require.Contains(t, text, `nccl_bus_bandwidth_gbs{version="v5.1",slurm_job_id="48213",node="gpu-00`)
		require.NotContains(t, text, "instance=", "instance is the server's")
		require.NotContains(t, text, "# TYPE")
	}
	clk.t = clk.t.Add(40 * time.Second)
	second := read()
	require.NotEqual(t, first, second, "windows go on")
	require.NoError(t, l.Inject(ExitRank(2, 1, false, 0), 0))
	clk.t = clk.t.Add(40 * time.Second)
	third := read()
	clk.t = clk.t.Add(5 * time.Minute)
	require.Equal(t, third, read(), "a hang freezes all files")
	l.c.Jobs[0].end(false)
	require.Empty(t, read(), "a clean exit unlinks")
}

func TestServeTargets(t *testing.T) {
	l, clk := live(t, Params{Seed: 1}, "N00")
	clk.t = clk.t.Add(2 * time.Minute)
	srv := httptest.NewServer(l)
	defer srv.Close()
	get := func(path string) (int, string) {
		resp, err := http.Get(srv.URL + path)
		require.NoError(t, err)
		defer func() { require.NoError(t, resp.Body.Close()) }()
		var b strings.Builder
		_, err = io.Copy(&b, resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, b.String()
	}
	code, text := get("/target/node/gpu-002")
	require.Equal(t, 200, code)
	require.Contains(t, text, `node_infiniband_rate_bytes_per_second{device="mlx5_3",port="1"} 5e+10`)
	require.Contains(t, text, `node_textfile_mtime_seconds{file="`)
	code, text = get("/target/dcgm/gpu-002")
	require.Equal(t, 200, code)
	require.Contains(t, text, `Hostname="gpu-002"} `)
	code, _ = get("/target/dcgm/nobody")
	require.Equal(t, 404, code)
	_, text = get("/targets")
	var groups []struct {
		Targets []string
		Labels  map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &groups))
	require.Len(t, groups, 4*2+1)
	l.c.Hosts[1].NodeDown = true
	code, _ = get("/target/node/gpu-002")
	require.Equal(t, 503, code)
}
