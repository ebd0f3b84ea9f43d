package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWrongCommandLines(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":     {[]string{"--nonsense"}, "nonsense' (see collwatch-exporter --help)"},
		"RAS nowhere":      {[]string{"--ras=localhost"}, "write HOST:PORT"},
		"negative grace":   {[]string{"--grace=-1s"}, "--grace"},
		"no series":        {[]string{"--limit.series=0"}, "--limit.series"},
		"wide classes":     {[]string{"--size-class.octaves=9"}, "--size-class.octaves"},
		"hasty RAS":        {[]string{"--ras.interval=10ms"}, "--ras.interval"},
		"all at once":      {[]string{"--limit.peers=-1", "--ras.interval=1ms"}, "--limit.peers"},
		"no number at all": {[]string{"--limit.peers=x"}, "invalid syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, 2, command(t.Context(), tc.args, io.Discard, &stderr))
			require.Contains(t, stderr.String(), tc.want)
		})
	}
}

func TestVersionAndHelp(t *testing.T) {
	for _, flag := range []string{"--version", "--help"} {
		var stdout bytes.Buffer
		require.Equal(t, 0, command(t.Context(), []string{flag}, &stdout, io.Discard))
		require.Contains(t, stdout.String(), "collwatch-exporter")
	}
}

// TestServes runs the whole command: it serves, takes a request for another mode, follows a log, and ends cleanly.
func TestServes(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	dir, logs := t.TempDir(), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		done <- command(ctx, []string{
			"--dir", dir, "--web.listen-address", addr, "--control", "--compat.inspector", "--inspector-json", logs,
			"--ras", "127.0.0.1:1", "--node.name", "gpu-014",
		}, io.Discard, io.Discard)
	}()
	get := func(method, path string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return ""
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(body)
	}
	require.Eventually(t, func() bool { return strings.Contains(get("GET", "/-/ready"), "ok") }, time.Minute, 20*time.Millisecond)
	body := get("GET", "/metrics")
	for _, want := range []string{"collwatch_exporter_folder_readable 1", "collwatch_exporter_build_info", "collwatch_nccl_ras_up{", "collwatch_exporter_inspector_logs 0"} {
		require.Contains(t, body, want)
	}
	require.Contains(t, get("POST", "/-/mode?mode=net&for=10s"), "accepted")
	info, err := os.Stat(filepath.Join(dir, "control"))
	require.NoError(t, err)
	require.Equal(t, "-rw-r--r--", fmt.Sprint(info.Mode()))
	cancel()
	select {
	case code := <-done:
		require.Zero(t, code)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
