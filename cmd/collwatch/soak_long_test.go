//go:build long

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
)

var (
	soakFor  = flag.Duration("soak", 24*time.Hour, "simulated time of TestSoakLong, at least 3h")
	soakHeap = flag.String("soak.heap", "", "folder for a heap profile of each hour")
)

const (
	// soakStep is the time between two evaluations and between two scrapes.
	soakStep = 30 * time.Second
	// soakHistory is what the server has before the daemon is started first.
	soakHistory = 50 * time.Minute
)

// TestSoakLong runs the daemon for a day of simulated time on a thousand hosts
// while faults come and go and every party is restarted and cut off. Everybody
// hears of each fault once when it begins and once when it is over, nobody else is
// named, and neither memory nor the number of goroutines grows.
func TestSoakLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSoak(t)
		plan := soakPlan(s)
		s.through()
		s.judge(plan)
	})
}

// soak is everybody involved.
type soak struct {
	t       *testing.T
	start   time.Time
	net     *network
	cluster *soakCluster
	pager   *lastmile.Pager
	alerts  *lastmile.StandIn
	slack   *fakeslack.Server
	dir     string

	daemon *soakDaemon // nil while it is down
	number int         // of daemons so far
	sizes  []soakSize
}

// soakSize is taken once an hour, when all is quiet.
type soakSize struct {
	at         time.Duration
	heap       uint64
	goroutines int
	series     int
}

// soakDaemon is one process.
type soakDaemon struct {
	*daemon

	dir  string // of its state
	die  func()
	stop func()
	log  *bytes.Buffer
}

func newSoak(t *testing.T) *soak {
	s := &soak{t: t, start: time.Now(), net: newNetwork(), pager: &lastmile.Pager{}, dir: t.TempDir()}
	s.cluster = newSoakCluster(t, s.start)
	s.alerts = lastmile.NewStandIn(s.pager, func(err error) { t.Errorf("Alertmanager would refuse: %v", err) })
	s.slack = fakeslack.New(time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { s.alerts.Run(ctx, 10*time.Second) })
	var stops []func()
	for host, h := range map[string]http.Handler{prometheusHost: s.cluster, alertmanagerHost: s.alerts, slackHost: s.slack} {
		stops = append(stops, s.net.serve(host, h))
	}
	t.Cleanup(func() {
		if s.daemon != nil {
			s.daemon.stop()
		}
		cancel()
		wg.Wait()
		for _, stop := range stops {
			stop()
		}
		require.NoError(t, s.cluster.db.Close())
	})
	return s
}

const soakConfig = `
[global]
interval = %q
cluster = "soak"
state_dir = %q
external_url = "http://collwatch.test"
warm_up = "20m"
[[source]]
url = "http://` + prometheusHost + `"
[[alertmanager.target]]
url = "http://` + alertmanagerHost + `"
[slack]
token = %q
api_url = "http://` + slackHost + `/api/"
[[slack.route]]
name = "people"
channel = "C0123456789"
`

// up starts a daemon with the state that the last one left in dir.
func (s *soak) up(dir string) {
	s.t.Helper()
	s.number++
	path := filepath.Join(s.dir, fmt.Sprintf("collwatch-%d.toml", s.number))
	require.NoError(s.t, os.WriteFile(path, fmt.Appendf(nil, soakConfig, soakStep, dir, fakeslack.Token), 0o600))
	cfg, err := loadConfig(path)
	require.NoError(s.t, err)
	d := &soakDaemon{dir: dir, log: &bytes.Buffer{}}
	dial, die := s.net.process()
	d.daemon, err = newDaemon(path, cfg, slog.New(slog.NewTextHandler(d.log, nil)), dial)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.run(ctx); err != nil {
			s.t.Errorf("daemon %d: %v", s.number, err)
		}
	})
	wg.Go(func() { _ = d.watch(ctx) })
	wg.Go(func() { s.look(ctx, d.server().Handler) })
	d.die, d.stop = die, func() { cancel(); wg.Wait() }
	s.daemon = d
}

// look reads pages and metrics, as a Prometheus and people do.
func (s *soak) look(ctx context.Context, h http.Handler) {
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Minute):
		}
		pages := []string{"/metrics"}
		if n%10 == 0 {
			pages = append(pages, "/", "/jobs", "/coverage", "/evaluations", "/api/v1/incidents")
		}
		for _, page := range pages {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, page, nil))
			if w.Code != http.StatusOK {
				s.t.Errorf("%s: %d", page, w.Code)
			}
		}
	}
}

// down stops the daemon as systemd does and returns its state folder.
func (s *soak) down() string {
	d := s.daemon
	s.daemon = nil
	d.stop()
	s.failed(d)
	return d.dir
}

// kill ends the daemon as kill -9 does: nothing leaves it any more, and the state
// is what was on disk.
func (s *soak) kill() string {
	s.t.Helper()
	synctest.Wait()
	d := s.daemon
	s.daemon = nil
	left := filepath.Join(s.dir, fmt.Sprintf("state-%d", s.number+1))
	require.NoError(s.t, os.CopyFS(left, os.DirFS(d.dir)))
	d.die()
	d.stop()
	s.failed(d)
	return left
}

func (s *soak) failed(d *soakDaemon) {
	for line := range strings.Lines(d.log.String()) {
		if strings.Contains(line, "panic") || testing.Verbose() && !strings.Contains(line, "level=DEBUG") {
			s.t.Log(strings.TrimSpace(line))
		}
		if strings.Contains(line, "panic") {
			s.t.Errorf("daemon %d panicked", s.number)
		}
	}
}

// measure notes how much is in use.
func (s *soak) measure() {
	synctest.Wait()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if *soakHeap != "" {
		f, err := os.Create(filepath.Join(*soakHeap, fmt.Sprintf("heap-%02d", int(time.Since(s.start).Hours()))))
		require.NoError(s.t, err)
		require.NoError(s.t, pprof.WriteHeapProfile(f))
		require.NoError(s.t, f.Close())
	}
	series := 0
	if s.daemon != nil {
		if recent := s.daemon.current.Load().asm.engine.Recent(); len(recent) > 0 {
			series = recent[0].Series
		}
	}
	s.sizes = append(s.sizes, soakSize{time.Since(s.start), m.HeapAlloc, runtime.NumGoroutine(), series})
	s.t.Logf("hour %4.1f: heap %d MB, %d goroutines, %d series, %d messages", time.Since(s.start).Hours(), m.HeapAlloc>>20, runtime.NumGoroutine(), series, len(s.slack.Messages()))
}
