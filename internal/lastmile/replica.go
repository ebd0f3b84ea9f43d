package lastmile

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/notify/alertmanager"
	"github.com/collwatch/collwatch/notify/slack"
)

// Options say what a replica is connected to.
type Options struct {
	// Targets are the addresses of Alertmanagers, at least one.
	Targets []string
	// Slack is written to directly; nil is not at all.
	Slack *fakeslack.Server
	// Incidents are the manager's settings.
	Incidents incidents.Options
	// Offset is what the clock of the host is wrong by; nil is never.
	Offset func() time.Duration
	// Change alters the settings of the sender to Alertmanager; nil is none.
	Change func(*alertmanager.Options)
}

// Replica is one daemon without its eyes: verdicts go in by Tick.
type Replica struct {
	t    testing.TB
	opts Options
	m    *incidents.Manager
	am   *alertmanager.Notifier
	sl   *slack.Notifier
	stop func()

	mu   sync.Mutex
	disk []byte
	dead bool
}

// errKilled is what a dead process gets from the network: nothing leaves it.
var errKilled = errors.New("the process is dead")

// Start runs a replica until the test ends or Kill. disk is what a former one
// left, nil for the first.
func Start(t testing.TB, o Options, disk []byte) *Replica {
	t.Helper()
	r := &Replica{t: t, opts: o, m: incidents.NewManager(o.Incidents), disk: disk}
	require.NoError(t, r.m.Restore(disk))
	var targets []alertmanager.Target
	for _, u := range o.Targets {
		targets = append(targets, alertmanager.Target{Name: u, URL: u, NewTransport: func(alertmanager.DialFunc) (http.RoundTripper, error) {
			return &mortal{r: r, next: http.DefaultTransport.(*http.Transport).Clone()}, nil
		}})
	}
	renderer := &incidents.Renderer{ExternalURL: "http://collwatch:9877", AlertmanagerURL: o.Targets[0]}
	ao := alertmanager.Options{
		// Alerts live for four intervals: on a machine that stands still for
		// seconds they must not lapse between two repetitions.
		Source: r, Targets: targets, Renderer: renderer, Interval: 10 * time.Second, ResendDelay: 500 * time.Millisecond,
		PollInterval: 200 * time.Millisecond, ReadbackInterval: 500 * time.Millisecond, DrainTimeout: time.Second, Now: r.Now,
	}
	if o.Change != nil {
		o.Change(&ao)
	}
	var err error
	r.am, err = alertmanager.New(ao)
	require.NoError(t, err)
	runs := []func(context.Context) error{r.am.Run}
	if o.Slack != nil {
		r.sl, err = slack.New(slack.Options{
			Source: r, Renderer: renderer, Suppressor: r.am, Silencer: r.am, APIURL: o.Slack.URL(), Now: r.Now,
			HTTP:  &http.Client{Timeout: 5 * time.Second, Transport: &mortal{r: r, next: http.DefaultTransport.(*http.Transport).Clone()}},
			Token: func(bool) (string, error) { return fakeslack.Token, nil }, Settle: 500 * time.Millisecond,
			Routes: []slack.Route{{Name: "oncall", Channel: "C0123456789"}},
		})
		require.NoError(t, err)
		runs = append(runs, r.sl.Run)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, run := range runs {
		wg.Go(func() {
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("notifier: %v", err)
			}
		})
	}
	r.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(r.stop)
	return r
}

// Now is the time as the host has it.
func (r *Replica) Now() time.Time {
	if r.opts.Offset == nil {
		return time.Now()
	}
	return time.Now().Add(r.opts.Offset())
}

// Tick is one evaluation at a time: the state goes to disk, then people are
// told. It returns what changed.
func (r *Replica) Tick(at time.Time, vs ...diagnosis.Verdict) []incidents.Event {
	return r.Apply(&diagnosis.Result{Time: at, Whole: true, Verdicts: vs})
}

// Apply is Tick with all that an evaluation concluded.
func (r *Replica) Apply(res *diagnosis.Result) []incidents.Event {
	events := r.m.Apply(res)
	r.save()
	r.am.Sync()
	if r.sl != nil {
		r.sl.Sync()
	}
	return events
}

func (r *Replica) save() {
	data, err := r.m.Save()
	if err != nil {
		r.t.Errorf("save: %v", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dead {
		r.disk = data
	}
}

// Live lists the incidents that live. It, Ended and SetDeliveries are what notifiers need of a manager; what they
// note is on disk before they go on, as in the daemon.
func (r *Replica) Live() []incidents.Incident { return r.m.Live() }

// Ended lists the incidents that are over and may still have to be told.
func (r *Replica) Ended() []incidents.Incident { return r.m.Ended() }

// SetDeliveries keeps what a receiver was told.
func (r *Replica) SetDeliveries(name string, records map[string]json.RawMessage) error {
	err := r.m.SetDeliveries(name, records)
	r.save()
	return err
}

// Open lists the announced incidents.
func (r *Replica) Open() []incidents.Incident {
	return slices.DeleteFunc(r.m.Live(), func(i incidents.Incident) bool { return !i.Announced })
}

// Alertmanager is the sender, to silence and to ask what is silenced.
func (r *Replica) Alertmanager() *alertmanager.Notifier { return r.am }

// Kill ends the replica as kill -9 does: from now on nothing leaves it and
// nothing reaches its disk, whose content is returned.
func (r *Replica) Kill() []byte {
	r.mu.Lock()
	r.dead = true
	disk := r.disk
	r.mu.Unlock()
	r.stop()
	return disk
}

// mortal is a network that dies with its process.
type mortal struct {
	r    *Replica
	next *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (m *mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	m.r.mu.Lock()
	dead := m.r.dead
	m.r.mu.Unlock()
	if dead {
		return nil, errKilled
	}
	return m.next.RoundTrip(req)
}

// CloseIdleConnections lets the notifiers clean up at their end.
func (m *mortal) CloseIdleConnections() { m.next.CloseIdleConnections() }
