package alertmanager

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/collwatch/collwatch/incidents"
)

// Source is where incidents come from, and where what was told is kept.
// *incidents.Manager is one.
type Source interface {
	Live() []incidents.Incident
	Ended() []incidents.Incident
	// SetDeliveries keeps records by the IDs of their incidents; they are on
	// disk when it returns. It is called once for each request that was answered.
	SetDeliveries(name string, records map[string]json.RawMessage) error
}

// DialFunc opens a connection.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Target is an Alertmanager, or all members behind one name.
type Target struct {
	// Name is for metrics and messages; "" is the host and port of the URL.
	Name string
	// URL is the address without /api/v2, with a path prefix if there is one.
	URL string
	// ResolveAll sends to every address of the host's name.
	ResolveAll bool
	// Timeout bounds one request; 0 is 10 s.
	Timeout time.Duration
	// NewTransport returns a transport with authentication, TLS and headers.
	// dial is nil, or must be used to open connections. Credential files must
	// be read for each request, as prometheus/common does. Nil is plain HTTP.
	NewTransport func(dial DialFunc) (http.RoundTripper, error)
}

// Options are the settings of a Notifier.
type Options struct {
	Source   Source
	Renderer *incidents.Renderer
	Targets  []Target
	// Interval is the engine's; with ResendDelay it gives the end of a firing
	// alert. 0 is 15 s and 1 min.
	Interval, ResendDelay time.Duration
	// ResolveRepeat is how long a resolve is repeated; 0 is 15 min.
	ResolveRepeat time.Duration
	// BatchSize is the number of alerts in a request; 0 is 64: with at most
	// 8 KB an alert that stays below the 1 MB that proxies accept.
	BatchSize int
	// DrainTimeout bounds the last deliveries at the end; 0 is 10 s.
	DrainTimeout time.Duration
	// PollInterval is how often suppression is read, ReadbackInterval how often
	// the alerts that should be there are compared with those that are. 0 is
	// 15 s and 3 min.
	PollInterval, ReadbackInterval time.Duration
	// LookupInterval is how often names are resolved again; 0 is 1 min.
	LookupInterval time.Duration
	// Heartbeat posts an alert that always fires, for a dead man's switch;
	// External are its labels besides its name.
	Heartbeat bool
	External  map[string]string
	// Blind says since when collwatch could not judge what it should, and why,
	// for an alert of its own; a zero time is no trouble. Nil is none.
	Blind func() (since time.Time, text string)
	// UserAgent is sent with each request.
	UserAgent string

	// Now is the clock, Rand gives numbers in [0,1) for jitter, Lookup
	// resolves names. Nil is the real thing.
	Now    func() time.Time
	Rand   func() float64
	Lookup func(ctx context.Context, host string) ([]string, error)

	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

func (o Options) withDefaults() (Options, error) {
	orElse(&o.Interval, 15*time.Second)
	orElse(&o.ResendDelay, time.Minute)
	orElse(&o.ResolveRepeat, 15*time.Minute)
	orElse(&o.BatchSize, 64)
	orElse(&o.DrainTimeout, 10*time.Second)
	orElse(&o.PollInterval, 15*time.Second)
	orElse(&o.ReadbackInterval, 3*time.Minute)
	orElse(&o.LookupInterval, time.Minute)
	orElse(&o.UserAgent, "collwatch")
	if o.Renderer == nil {
		o.Renderer = &incidents.Renderer{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupHost
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	targets := make([]Target, len(o.Targets))
	seen := map[string]bool{}
	for i, t := range o.Targets {
		if err := t.complete(); err != nil {
			return o, err
		}
		if seen[t.Name] {
			return o, fmt.Errorf("alertmanager target %q: two targets have this name", t.Name)
		}
		seen[t.Name] = true
		targets[i] = t
	}
	o.Targets = targets
	return o, nil
}

// keep is how long an alert that fires stays alive without being repeated.
func (o *Options) keep() time.Duration { return 4 * max(o.Interval, o.ResendDelay) }

// longestWait bounds every pause, whatever the answer was and asks for: what was
// acknowledged a repetition ago must be repeated before it lapses, or a proxy's
// bad minute would look like the recovery of everything.
func (o *Options) longestWait() time.Duration { return o.keep() / 2 }

func orElse[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// complete fills defaults in and checks the URL. Its errors never show a
// password.
func (t *Target) complete() error {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("alertmanager target %q: url must be http(s)://host[:port][/prefix]", t.Name)
	}
	orElse(&t.Name, u.Host)
	orElse(&t.Timeout, 10*time.Second)
	if t.NewTransport == nil {
		t.NewTransport = func(dial DialFunc) (http.RoundTripper, error) {
			tr := http.DefaultTransport.(*http.Transport).Clone()
			if dial != nil {
				tr.DialContext = dial
			}
			return tr, nil
		}
	}
	return nil
}
