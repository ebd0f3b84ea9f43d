package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
)

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

func newSoak(t *testing.T, hosts int) *soak {
	s := &soak{t: t, start: time.Now(), net: newNetwork(), pager: &lastmile.Pager{}, dir: t.TempDir()}
	s.cluster = newSoakCluster(t, s.start, hosts)
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

// set stops a server or starts it again.
func (s *soak) set(host string, up bool) {
	s.net.set(host, up)
	if host == alertmanagerHost && up {
		s.alerts.Start()
	}
	if host == alertmanagerHost && !up {
		s.alerts.Stop()
	}
}
