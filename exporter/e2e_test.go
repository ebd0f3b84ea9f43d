package exporter

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// served runs the exporter over the ring's folder and returns how to scrape it.
func served(t *testing.T, r *ring, control *Control) (scrape func() view, url string) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	e, err := New(Options{Dir: r.dir, Node: "node-1", Grace: time.Minute, Limits: DefaultLimits(), Logger: logger, Registry: prometheus.NewRegistry()})
	require.NoError(t, err)
	h, err := Handler(e, control, logger)
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.Close(); require.NoError(t, e.Close()) })
	return func() view {
		req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, server.URL+"/metrics", nil)
		require.NoError(t, err)
		res, err := server.Client().Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		require.Equal(t, http.StatusOK, res.StatusCode)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return parseView(t, string(body))
	}, server.URL
}

// until scrapes until the condition holds.
func until(t *testing.T, scrape func() view, what string, ok func(view) bool) view {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		v := scrape()
		if ok(v) {
			return v
		}
		require.True(t, time.Now().Before(deadline), "never: %s", what)
		time.Sleep(50 * time.Millisecond) // between scrapes, not for luck
	}
}

func rankIs(i int) string { return "rank=" + strconv.Itoa(i) }

// healthy waits until every rank has finished some operations.
func healthy(t *testing.T, scrape func() view, ranks int) view {
	t.Helper()
	return until(t, scrape, "all ranks finish operations", func(v view) bool {
		for i := range ranks {
			if n, _ := v.sum("ops_completed_total", rankIs(i)); n < 20 {
				return false
			}
		}
		return true
	})
}

// stalled waits until nobody finishes anything any more, and returns two scrapes a second apart.
func stalled(t *testing.T, scrape func() view) (view, view) {
	t.Helper()
	last := -1.0
	a := until(t, scrape, "the ring stands still", func(v view) bool {
		n, _ := v.sum("ops_completed_total")
		still := n == last
		last = n
		if still {
			age, _ := v.sum("oldest_inflight_age_seconds", "state=running")
			return age > 0.5
		}
		return false
	})
	time.Sleep(time.Second) // the time by which ages must have grown
	return a, scrape()
}

// TestStoppedRank: the job hangs, and one scrape says who waits for whom, also for the process that cannot answer.
func TestStoppedRank(t *testing.T) {
	const victim = 2
	r := startRing(t, 4, nil, nil)
	scrape, _ := served(t, r, nil)
	healthy(t, scrape, 4)
	r.signal(victim, syscall.SIGSTOP)
	a, b := stalled(t, scrape)

	for i := range 4 {
		require.Positive(t, b.get(t, "inflight_ops", rankIs(i)), "rank %d has work in flight", i)
		before, _ := a.sum("oldest_inflight_age_seconds", rankIs(i))
		after := b.get(t, "oldest_inflight_age_seconds", rankIs(i))
		require.Greater(t, after, before+0.9, "rank %d: ages grow, the stopped process included", i)
		require.Greater(t, b.get(t, "ops_enqueued_total", rankIs(i)), b.get(t, "ops_completed_total", rankIs(i)))
	}
	_, n := b.sum("process_up")
	require.Equal(t, 4, n)
	require.InDelta(t, 4, b.get(t, "process_up"), 0, "stopped is not dead")
	require.InDelta(t, 1, b.get(t, "process_stopped"), 0)
	require.InDelta(t, 1, b.get(t, "process_stopped", "global_rank="+strconv.Itoa(victim)), 0, "and the exporter says who")
	// The neighbours say where the transfer waits: for the victim's credit or its data.
	waiting := b.get(t, "proxy_steps", rankIs(victim-1), "peer=2", "direction=send", "phase=peer_wait") +
		b.get(t, "proxy_steps", rankIs(victim-1), "peer=2", "direction=send", "phase=wire")
	require.Positive(t, waiting)
	require.Positive(t, b.get(t, "proxy_steps", rankIs(victim+1), "peer=2", "direction=recv", "phase=recv_wait"))
	// Work is queued behind the hanging collective, which is running: all its channels have begun.
	for _, i := range []int{victim - 1, victim + 1} {
		require.Positive(t, b.get(t, "inflight_ops", rankIs(i), "state=queued"))
		require.InDelta(t, 1, b.get(t, "inflight_ops", rankIs(i), "state=running"), 0)
	}
	r.signal(victim, syscall.SIGCONT)
	done := b.get(t, "ops_completed_total")
	until(t, scrape, "the ring goes on", func(v view) bool { n, _ := v.sum("ops_completed_total"); return n > done+40 })
}

// TestPartialStart: a collective of which only some channels have begun is told apart from a running one.
func TestPartialStart(t *testing.T) {
	r := startRing(t, 3, nil, nil, "--staggered", "--channels", "3")
	scrape, _ := served(t, r, nil)
	healthy(t, scrape, 3)
	// Stopped at a moment of its own choosing: try until it is met in its first channels.
	for range 20 {
		r.signal(1, syscall.SIGSTOP)
		time.Sleep(300 * time.Millisecond) // the others run into it
		v := scrape()
		if n, _ := v.sum("inflight_ops", "state=partial"); n > 0 {
			require.Positive(t, v.get(t, "oldest_inflight_age_seconds", "state=partial"))
			return
		}
		r.signal(1, syscall.SIGCONT)
		time.Sleep(20 * time.Millisecond) // another phase of the loop
	}
	t.Fatal("never saw a partial start")
}

// TestKilledRank: the last state stays visible with the word that the process is gone.
func TestKilledRank(t *testing.T) {
	const victim = 1
	r := startRing(t, 3, nil, nil)
	scrape, _ := served(t, r, nil)
	v := healthy(t, scrape, 3)
	require.InDelta(t, 3, v.get(t, "process_up"), 0)
	pid := "pid=" + strconv.Itoa(r.ranks[victim].Process.Pid)
	r.signal(victim, syscall.SIGKILL)
	// Within one scrape of its death, whether it has been reaped or not.
	v = until(t, scrape, "the dead process is noticed", func(v view) bool { n, _ := v.sum("process_up", pid); return n == 0 })
	require.InDelta(t, 2, v.get(t, "process_up"), 0)
	require.Positive(t, v.get(t, "ops_completed_total", rankIs(victim)), "its counters are still served")
	require.Positive(t, v.get(t, "process_info", pid))
	_, b := stalled(t, scrape)
	require.Zero(t, b.get(t, "process_up", pid))
	before := b.get(t, "oldest_inflight_age_seconds", rankIs(victim))
	time.Sleep(100 * time.Millisecond) // the dead do not age
	require.InDelta(t, before, scrape().get(t, "oldest_inflight_age_seconds", rankIs(victim)), 1e-6)
}

// TestSlowCompute: the rank that computes longer is the one with the shortest time in its kernels.
func TestSlowCompute(t *testing.T) {
	const slow = 1
	r := startRing(t, 4, nil, []string{"COLLWATCH_MODE=normal"})
	scrape, _ := served(t, r, nil)
	healthy(t, scrape, 4)
	r.signal(slow, syscall.SIGUSR1)
	a := scrape()
	start := a.get(t, "ops_completed_total", rankIs(slow))
	b := until(t, scrape, "12 slow operations", func(v view) bool { n, _ := v.sum("ops_completed_total", rankIs(slow)); return n > start+12 })
	mean := make([]float64, 4)
	for i := range mean {
		busy := b.get(t, "busy_seconds_total", rankIs(i)) - a.get(t, "busy_seconds_total", rankIs(i))
		mean[i] = busy / (b.get(t, "ops_completed_total", rankIs(i)) - a.get(t, "ops_completed_total", rankIs(i)))
	}
	for i := range mean {
		if i != slow {
			require.Less(t, mean[slow]*2, mean[i], "means: %v", mean)
			require.Greater(t, mean[i], 0.05, "the others wait in their kernels: %v", mean)
		}
	}
	_, n := b.sum("proxy_wait_seconds_total")
	require.Zero(t, n, "normal mode follows no steps")
}

// TestDelayedLink: all ranks are slow alike, and the waits by peer point at the one link.
func TestDelayedLink(t *testing.T) {
	const from = 2
	link := newRelay(t)
	r := startRing(t, 4, map[int]*relay{from: link}, nil)
	scrape, _ := served(t, r, nil)
	healthy(t, scrape, 4)
	link.delay.Store(int64(15 * time.Millisecond))
	a := scrape()
	start := a.get(t, "ops_completed_total", rankIs(0))
	b := until(t, scrape, "15 operations over the slow link", func(v view) bool { n, _ := v.sum("ops_completed_total", rankIs(0)); return n > start+15 })
	wire := func(rank int) float64 {
		pairs := []string{rankIs(rank), "peer=" + strconv.Itoa((rank+1)%4), "direction=send", "phase=wire"}
		return b.get(t, "proxy_wait_seconds_total", pairs...) - a.get(t, "proxy_wait_seconds_total", pairs...)
	}
	waits := []float64{wire(0), wire(1), wire(2), wire(3)}
	for i, w := range waits {
		if i != from {
			require.Greater(t, waits[from], 3*w, "wire waits by rank: %v", waits)
		}
	}
	// Nobody's kernel is shorter than another's by much: no rank is to blame.
	for i := range 4 {
		busy := b.get(t, "busy_seconds_total", rankIs(i)) - a.get(t, "busy_seconds_total", rankIs(i))
		require.Greater(t, busy, 15*0.05, "rank %d", i)
	}
}

// TestDeepOnDemand: a job in normal mode is asked for deep mode and comes back by itself.
func TestDeepOnDemand(t *testing.T) {
	dir := t.TempDir()
	control, err := OpenControl(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	r := startRingIn(t, dir, 2, nil, []string{"COLLWATCH_MODE=normal"})
	scrape, url := served(t, r, control)
	healthy(t, scrape, 2)
	_, n := scrape().sum("proxy_wait_seconds_total")
	require.Zero(t, n)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/-/mode?mode=deep&for=2s", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	until(t, scrape, "both ranks in deep mode with waits by peer", func(v view) bool {
		_, steps := v.sum("proxy_wait_seconds_total", "phase=recv_wait")
		_, deep := v.sum("process_info", "mode=deep")
		return steps == 2 && deep == 2
	})
	until(t, scrape, "back to normal", func(v view) bool { _, deep := v.sum("process_info", "mode=normal"); return deep == 2 })
}

// TestCleanEnd: a job that ends in good order leaves its last numbers for a while and no dead process.
func TestCleanEnd(t *testing.T) {
	r := startRing(t, 2, nil, nil, "--iterations", "400")
	scrape, _ := served(t, r, nil)
	healthy(t, scrape, 2)
	r.end()
	v := scrape()
	require.InDelta(t, 800, v.get(t, "ops_completed_total"), 0, "every operation is accounted for")
	require.InDelta(t, 800, v.get(t, "ops_enqueued_total"), 0)
	_, n := v.sum("process_up")
	require.Zero(t, n)
	_, n = v.sum("inflight_ops")
	require.Zero(t, n)
}

var steady = flag.Int("steady", 3, "seconds of 2,000 operations each that have to be accounted for")

// TestEveryOperationIsAccountedFor: at 2,000 operations a second nothing is lost on the way to a scrape.
func TestEveryOperationIsAccountedFor(t *testing.T) {
	build, r := fakerank(t), &ring{t: t, dir: t.TempDir()}
	t.Cleanup(r.stop)
	out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", "../plugin", "BUILD="+build, "bench").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(filepath.Join(build, "bench"), "collwatch", "steady", strconv.Itoa(*steady))
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+build, "COLLWATCH_DIR="+r.dir, "BENCH_WAIT=1")
	require.NoError(t, cmd.Start())
	r.ranks = append(r.ranks, cmd)
	scrape, _ := served(t, r, nil)
	all := 2000 * float64(*steady)
	v := until(t, scrape, "all operations", func(v view) bool { n, _ := v.sum("ops_enqueued_total"); return n == all })
	v = until(t, scrape, "their end", func(now view) bool { v = now; n, _ := v.sum("ops_completed_total"); return n == all })
	done, _ := v.sum("ops_completed_total")
	t.Logf("%.0f operations of %.0f unaccounted for at 2,000 a second", all-done, all)
	require.InDelta(t, all, v.get(t, "op_duration_seconds_count"), 0)
	require.Zero(t, v.get(t, "events_dropped_total"))
	require.Zero(t, v.get(t, "inflight_ops"))
}
