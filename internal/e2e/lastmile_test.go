package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/internal/realserver"
)

// sick is the verdict about one NIC of a host.
func sick(host string) diagnosis.Verdict {
	return diagnosis.Verdict{
		Class: diagnosis.LinkDown, Reason: "port_not_active", Severity: diagnosis.Critical, Owner: diagnosis.Infrastructure,
		Job: "48213", Scope: "job", TieSet: 1, Hosts: []string{host},
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: host, Device: "mlx5_3"}},
	}
}

// cluster starts two Alertmanagers that know each other.
func cluster(t *testing.T, config string) (one, two *realserver.Server) {
	t.Helper()
	one = realserver.StartAlertmanager(t, config)
	return one, realserver.StartAlertmanager(t, config, one.Cluster)
}

// evaluate ticks a pause apart: as long as Alertmanager needs to tell people.
func evaluate(r *lastmile.Replica, n int, vs ...diagnosis.Verdict) {
	for range n {
		r.Tick(r.Now(), vs...)
		time.Sleep(50 * time.Millisecond) // the pace of evaluations, not a wait
	}
}

// soon polls: how long real servers take is theirs to say.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 50*time.Millisecond, what)
}

// quiet gives doubled notifications the time to show: three group intervals of
// Alertmanager and some poll intervals of ours.
func quiet() { time.Sleep(time.Second) }

// Intervals of groups. A cluster's is longer than the time that a member waits
// for its peers, or it doubles by itself what turns meanwhile.
const (
	interval        = 300 * time.Millisecond
	clusterInterval = 3 * time.Second
)

// peerWait is when the last member of a cluster has told people, if it ever
// does.
const peerWait = clusterInterval + 2*time.Second

func firing(t *testing.T, s *realserver.Server) []string {
	t.Helper()
	r := rig{t: t, alertmanager: s}
	var out []string
	for _, a := range r.alerts() {
		if a.Labels["class"] == "delivery_failing" {
			continue // what collwatch says of a clock, or of a member that is down
		}
		out = append(out, a.Labels["severity"]+" "+a.Labels["suspect_node"])
	}
	slices.Sort(out)
	return out
}

// TestOneAlertmanagerDownOneSlow: what happens meanwhile reaches the healthy
// member at once, the others with the newest state, and people once.
func TestOneAlertmanagerDownOneSlow(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	p, q := lastmile.StartPager(t), lastmile.StartPager(t)
	one, two := cluster(t, p.Config(clusterInterval, ""))
	slow := realserver.StartAlertmanager(t, q.Config(interval, ""))
	const delay = 3 * time.Second
	upstream, err := url.Parse(slow.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	viaProxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(delay):
			proxy.ServeHTTP(w, r)
		}
	}))
	defer viaProxy.Close()
	two.Kill()

	r := lastmile.Start(t, lastmile.Options{Targets: []string{two.URL, viaProxy.URL, one.URL}}, nil)
	began := time.Now()
	evaluate(r, 2, sick("a"), sick("b"))
	soon(t, "the healthy one knows", func() bool { return len(firing(t, one)) == 2 })
	require.Less(t, time.Since(began), delay, "nobody waits for the slow one")
	soon(t, "the slow one learns it too", func() bool { return len(firing(t, slow)) == 2 })
	evaluate(r, 6, sick("b"))
	soon(t, "a is over", func() bool { return slices.Equal(firing(t, one), []string{"critical b"}) })
	two.Restart()
	soon(t, "who was down has the newest state", func() bool { return slices.Equal(firing(t, two), []string{"critical b"}) })
	soon(t, "and the slow one", func() bool { return slices.Equal(firing(t, slow), []string{"critical b"}) })
	soon(t, "people know both", func() bool { return len(p.Count("firing")) == 2 && len(p.Count("resolved")) == 1 })
	time.Sleep(peerWait)
	want := []string{"firing critical link_down a", "firing critical link_down b", "resolved critical link_down a"}
	require.ElementsMatch(t, want, p.Lines())
	require.ElementsMatch(t, want, q.Lines(), "the slow one told its people late, and once")
}

// TestClockSteps: a host whose clock jumps by an hour and back neither resolves
// nor doubles what is open, and ends it when it is over.
func TestClockSteps(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	for name, step := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			p, s := lastmile.StartPager(t), fakeslack.Start(t)
			am := realserver.StartAlertmanager(t, p.Config(interval, ""))
			var offset atomic.Int64
			r := lastmile.Start(t, lastmile.Options{
				Targets: []string{am.URL}, Slack: s, Offset: func() time.Duration { return time.Duration(offset.Load()) },
			}, nil)
			told := func(want ...string) func() bool {
				return func() bool { return slices.Equal(p.Lines(), want) }
			}
			evaluate(r, 3, sick("a"))
			soon(t, "it fires", told("firing critical link_down a"))
			soon(t, "Slack shows it", func() bool { return len(s.Messages()) == 1 })
			for _, o := range []time.Duration{step, 0, step} {
				offset.Store(int64(o))
				evaluate(r, 20, sick("a"))
				require.Equal(t, []string{"critical a"}, firing(t, am), "the clock is off by %s", o)
			}
			evaluate(r, 3, sick("a"), sick("b"))
			quiet()
			soon(t, "what is new is told in spite of the clock", told("firing critical link_down a", "firing critical link_down b"))
			evaluate(r, 8)
			soon(t, "all is over", func() bool { return len(firing(t, am)) == 0 && len(r.Open()) == 0 })
			offset.Store(0)
			evaluate(r, 10)
			soon(t, "people know the end", func() bool { return len(p.Count("resolved")) == 2 })
			quiet()
			require.Len(t, p.Lines(), 4, "%v", p.Lines())
			soon(t, "Slack shows both ends", func() bool {
				m := topLevel(s)
				return len(m) == 2 && m[0].Color == green && m[1].Color == green
			})
		})
	}
}

// green is the colour of the bar of what is over.
const green = "#2eb67d"

// TestSilenceBeforeDuringAndAfter: a silence set before an incident holds its
// message back and says so when it ends; one set during it is shown, and holds
// the resolve back; one set after it changes nothing.
func TestSilenceBeforeDuringAndAfter(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	p, s := lastmile.StartPager(t), fakeslack.Start(t)
	am := realserver.StartAlertmanager(t, p.Config(interval, ""))
	hand := rig{t: t, alertmanager: am}
	expire := hand.silence("link_down")
	r := lastmile.Start(t, lastmile.Options{Targets: []string{am.URL}, Slack: s}, nil)

	evaluate(r, 3, sick("a"))
	soon(t, "it is there and silenced", func() bool {
		list := hand.alerts()
		return len(list) == 1 && list[0].Status.State == "suppressed"
	})
	evaluate(r, 20, sick("a"))
	require.Empty(t, p.Lines(), "silenced before: nobody is told")
	require.Empty(t, s.Messages())
	expire()
	soon(t, "the end of the silence brings both", func() bool {
		r.Tick(r.Now(), sick("a"))
		return len(p.Lines()) == 1 && len(s.Messages()) == 1
	})
	require.Contains(t, s.Messages()[0].Body, "silence expired")

	expire = hand.silence("link_down")
	soon(t, "silenced during: the message says so", func() bool {
		r.Tick(r.Now(), sick("a"))
		return len(topLevel(s)) == 1 && contains(topLevel(s)[0].Body, "context: Silenced by on-call")
	})
	lines := len(s.Messages())
	evaluate(r, 8)
	soon(t, "the message turns green", func() bool { return topLevel(s)[0].Color == green })
	require.NotContains(t, topLevel(s)[0].Body, "still there")
	quiet()
	require.Len(t, s.Messages(), lines, "a silenced resolve is not announced")
	require.Equal(t, []string{"firing critical link_down a"}, p.Lines())

	expire()
	quiet()
	hand.silence("link_down")
	evaluate(r, 10)
	quiet()
	require.Len(t, s.Messages(), lines, "silenced after the end: nothing happens")
	require.Empty(t, hand.alerts())
}

// TestReplicas: two daemons with two Alertmanagers that write to Slack
// themselves, which is the recommended mode for two: one message for the open,
// one for the end, also when one daemon dies on the way.
func TestReplicas(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	p, s := lastmile.StartPager(t), fakeslack.Start(t)
	s.Pace(0)
	one, two := cluster(t, p.Config(clusterInterval, fmt.Sprintf("    slack_configs: [{api_url: %q, channel: '#hook', send_resolved: true}]\n", s.Webhook())))
	o := lastmile.Options{Targets: []string{one.URL, two.URL}, Incidents: incidents.Options{External: map[string]string{"cluster": "alpha"}}}
	a, b := lastmile.Start(t, o, nil), lastmile.Start(t, o, nil)
	const apart = 7 * time.Second
	both := func(n int, vs ...diagnosis.Verdict) {
		for range n {
			now := time.Now()
			a.Tick(now.Add(-apart), vs...) // the second looks a little later, as its slots fall
			b.Tick(now, vs...)
			time.Sleep(50 * time.Millisecond) // the pace of evaluations, not a wait
		}
	}
	both(3, sick("a"))
	require.Equal(t, a.Open()[0].AlertLabels(), b.Open()[0].AlertLabels())
	soon(t, "it fires once", func() bool { return len(p.Lines()) == 1 && len(s.Messages()) == 1 })
	disk := a.Kill()
	for range 10 {
		b.Tick(time.Now(), sick("a"))
	}
	a = lastmile.Start(t, o, disk)
	both(10, sick("a"))
	time.Sleep(peerWait) // the second member has told by now, if it ever does
	require.Equal(t, []string{"firing critical link_down a"}, p.Lines())
	both(8)
	soon(t, "it ends", func() bool { return len(p.Lines()) == 2 && len(s.Messages()) == 2 })
	time.Sleep(peerWait)
	require.Equal(t, []string{"firing critical link_down a", "resolved critical link_down a"}, p.Lines())
	require.Len(t, s.Messages(), 2, s.Transcript())
}
