package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// notifySocket is systemd's end of the notifications.
func notifySocket(t *testing.T) (received func() []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: path}))
	t.Setenv("NOTIFY_SOCKET", path)
	return func() (out []string) {
		buf := make([]byte, 4096)
		for {
			n, _, err := unix.Recvfrom(fd, buf, 0)
			if err != nil {
				return out
			}
			out = append(out, string(buf[:n]))
		}
	}
}

// TestWatchdogIsFedOnlyWhileEvaluationGoesOn: cycles that end keep the daemon
// alive, whatever came of them; one that hangs starves the watchdog, and systemd
// restarts the daemon.
func TestWatchdogIsFedOnlyWhileEvaluationGoesOn(t *testing.T) {
	received := notifySocket(t)
	t.Setenv("WATCHDOG_USEC", "20000000")
	synctest.Test(t, func(t *testing.T) {
		s := newSupervisor(slog.New(slog.DiscardHandler))
		require.Equal(t, 20*time.Second, s.period)
		s.allowed.Store(int64(time.Minute))
		stop, done := make(chan struct{}), make(chan error, 1)
		go func() { done <- s.watch(stop) }()
		feeds := func(d time.Duration) (n int) {
			time.Sleep(d)
			synctest.Wait()
			for _, m := range received() {
				n += strings.Count(m, "WATCHDOG=1")
			}
			return n
		}
		for range 20 {
			s.cycle(time.Now())
			require.NotZero(t, feeds(15*time.Second), "evaluation goes on")
		}
		require.NotZero(t, feeds(45*time.Second), "a slow evaluation is not a hang")
		feeds(10 * time.Second)
		require.Zero(t, feeds(10*time.Minute), "an evaluation hangs")
		s.cycle(time.Now())
		require.NotZero(t, feeds(15*time.Second), "it went on after all")
		close(stop)
		require.NoError(t, <-done)
	})
}
