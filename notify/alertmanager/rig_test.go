package alertmanager

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a manager and a notifier in fake time.
type rig struct {
	t    *testing.T
	m    *incidents.Manager
	n    *Notifier
	reg  *prometheus.Registry
	stop func()
}

const interval = 15 * time.Second

// start makes a rig; change may alter the options.
func start(t *testing.T, m *incidents.Manager, change func(*Options), targets ...Target) *rig {
	t.Helper()
	if m == nil {
		m = incidents.NewManager(incidents.Options{Interval: interval, External: map[string]string{"cluster": "alpha"}})
	}
	reg := prometheus.NewRegistry()
	o := Options{
		Source: m, Targets: targets, Registerer: reg, Rand: func() float64 { return 0.5 },
		Renderer: &incidents.Renderer{ExternalURL: "http://collwatch"},
	}
	if change != nil {
		change(&o)
	}
	n, err := New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { require.NoError(t, n.Run(ctx)) })
	r := &rig{t: t, m: m, n: n, reg: reg, stop: sync.OnceFunc(func() { cancel(); wg.Wait() })}
	t.Cleanup(r.stop)
	return r
}

// tick evaluates n times, an interval apart.
func (r *rig) tick(n int, vs ...diagnosis.Verdict) {
	for range n {
		time.Sleep(interval)
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
		r.n.Sync()
		synctest.Wait()
	}
}

func down(node string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.LinkDown, Reason: "port_not_active", Severity: diagnosis.Warning, Owner: diagnosis.Infrastructure,
		Job: "48213", Scope: "job", TieSet: 1, Hosts: []string{node},
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: node, Device: "mlx5_3"}},
	}
}

// hang answers when the request is given up.
type hang struct{}

func (hang) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
