package slack

import (
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

const interval = 15 * time.Second

// direct calls a handler without a network, so that it works in fake time.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if recover() != nil {
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	d.h.ServeHTTP(w, r)
	return w.Result(), nil
}

// suppressor is an Alertmanager's view as the test sets it.
type suppressor struct {
	mu    sync.Mutex
	state alertmanager.State
	down  bool
	read  time.Time
	asked int
}

func (s *suppressor) Suppression(string) (alertmanager.State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Read = s.read
	return st, !s.read.IsZero() && !s.down
}

func (s *suppressor) Refresh(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.down {
		return io.ErrUnexpectedEOF
	}
	s.read = time.Now()
	return nil
}

func (s *suppressor) set(st alertmanager.State, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.down = st, down
	if !down {
		s.read = time.Now()
	}
}

// later sets what the next question is answered with.
func (s *suppressor) later(st alertmanager.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = st
}

func (s *suppressor) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func silencedBy(who string, until time.Time) alertmanager.State {
	return alertmanager.State{Silences: []alertmanager.Silence{{ID: "1", By: who, Until: until}}}
}

// newManager folds nothing, so that storms reach this package.
func newManager() *incidents.Manager {
	return incidents.NewManager(incidents.Options{
		Interval: interval, External: map[string]string{"cluster": "alpha"}, FoldAbove: 1000, Cap: 1000,
	})
}

// rig is a manager, a fake Slack and a notifier in fake time.
type rig struct {
	t    *testing.T
	m    *incidents.Manager
	s    *fakeslack.Server
	sup  *suppressor
	reg  *prometheus.Registry
	opts Options
	n    *Notifier
	stop func()
}

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	r := &rig{
		t: t, s: fakeslack.New(time.Now), sup: &suppressor{},
		m: newManager(),
	}
	r.opts = Options{
		Source: r.m, Suppressor: r.sup, APIURL: r.s.URL(), HTTP: &http.Client{Transport: direct{r.s}},
		Token:    func(bool) (string, error) { return fakeslack.Token, nil },
		Routes:   []Route{{Name: "oncall", Channel: "#gpu"}},
		Renderer: &incidents.Renderer{ExternalURL: "https://collwatch.example.org", AlertmanagerURL: "https://am.example.org"},
	}
	if change != nil {
		change(&r.opts)
	}
	r.start()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	r.reg = prometheus.NewRegistry()
	o := r.opts
	o.Registerer = r.reg
	n, err := New(o)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = n.Run(ctx) })
	r.n, r.stop = n, sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.t.Cleanup(r.stop)
	synctest.Wait()
}

// restart is a stop and a start from the saved state.
func (r *rig) restart() {
	r.t.Helper()
	data, err := r.m.Save()
	require.NoError(r.t, err)
	r.stop()
	r.revive(data)
}

// revive starts anew from a saved state, as after kill -9.
func (r *rig) revive(data []byte) {
	r.t.Helper()
	r.m = newManager()
	require.NoError(r.t, r.m.Restore(data))
	r.opts.Source = r.m
	r.start()
}

// tick evaluates n times, an interval apart, and lets all deliveries happen.
func (r *rig) tick(n int, vs ...diagnosis.Verdict) {
	for range n {
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
		r.n.Sync()
		time.Sleep(interval)
		synctest.Wait()
	}
}

// visible are the messages that are there, without lines in threads.
func (r *rig) visible() (out []fakeslack.Message) {
	for _, m := range r.s.Messages() {
		if !m.Deleted && m.Thread == "" {
			out = append(out, m)
		}
	}
	return out
}

func (r *rig) replies() (out []fakeslack.Message) {
	for _, m := range r.s.Messages() {
		if m.Thread != "" {
			out = append(out, m)
		}
	}
	return out
}

func down(node string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.NICDegraded, Reason: "rate_downtrained", Severity: diagnosis.Warning, Confidence: diagnosis.High,
		Owner: diagnosis.Infrastructure, Job: "48213", Scope: "job", TieSet: 1, Hosts: []string{node},
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: node, Device: "mlx5_3", Switch: "leaf-r3", Port: "7"}},
		Evidence: []diagnosis.Evidence{
			{Text: "bus bandwidth of rail 3 is 11.3 GB/s against 43.5 GB/s before, on all 16 hosts"},
			{Text: "rate 12.5 GB/s against 50 GB/s of 127 peers", Decisive: true},
		},
		AffectedHosts: 16, AffectedGPUs: 128,
		Next: "reseat the cable between " + node + "/mlx5_3 and leaf-r3 port 7, then measure the pair", Command: "ib_write_bw -d mlx5_3",
	}
}

// in runs a test in fake time, on a day that a reader of its messages takes for
// one.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 3, 9, 3, 14, 15, 0, time.UTC)))
		f(t)
	})
}

// lines of a transcript that begin with a word.
func linesWith(transcript, word string) (n int) {
	for l := range strings.Lines(transcript) {
		if strings.HasPrefix(l, word) {
			n++
		}
	}
	return n
}

// result is an evaluation of now.
func result(vs ...diagnosis.Verdict) *diagnosis.Result {
	return &diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs}
}
