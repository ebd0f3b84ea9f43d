package alertmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// mortal is a process that dies at a chosen write of its state: from then on
// nothing reaches its disk or its Alertmanagers.
type mortal struct {
	*incidents.Manager
	mu     sync.Mutex
	disk   []byte
	writes int // until death; negative is never
	early  bool
	dead   bool
}

func (p *mortal) SetDeliveries(name string, records map[string]json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.Manager.SetDeliveries(name, records)
	p.writes--
	if p.writes == 0 && p.early {
		p.dead = true
	}
	p.write()
	p.dead = p.dead || p.writes == 0
	return err
}

func (p *mortal) write() {
	if data, err := p.Save(); err == nil && !p.dead {
		p.disk = data
	}
}

func (p *mortal) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// target is a fake that a dead process cannot reach.
func (p *mortal) target(f *fake) Target {
	t := f.target("am")
	t.NewTransport = func(DialFunc) (http.RoundTripper, error) {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if p.gone() {
				return nil, errors.New("the process is dead")
			}
			return f.RoundTrip(r)
		}), nil
	}
	return t
}

// life is what people heard of one alert: its turns from firing to resolved and
// back, as Alertmanager sees them.
type life struct {
	firing map[string]bool
	heard  map[string][]string // by alert
}

func (l *life) look(f *fake) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.alerts {
		node, severity := a.Labels["suspect_node"], a.Labels["severity"]
		if node == "" {
			continue
		}
		key, now := node+" "+severity, time.Time(a.EndsAt).After(f.now())
		if now != l.firing[key] {
			l.firing[key] = now
			l.heard[key] = append(l.heard[key], map[bool]string{true: "firing", false: "resolved"}[now])
		}
	}
}

// TestKilledAtAnyWritePagesTheSame compares a daemon that is killed at random
// writes of its state with one that never is, on the same faults that come,
// rise and go: people hear the same, alert by alert.
func TestKilledAtAnyWritePagesTheSame(t *testing.T) {
	const ticks, keys = 40, 2
	rapid.Check(t, func(rt *rapid.T) {
		var there [keys][]int // severity at each tick, 0 is well
		for k := range there {
			for len(there[k]) < ticks {
				lasts := rapid.SampledFrom([]int{3, 12}).Draw(rt, "lasts")
				rises := lasts == 12 && rapid.Bool().Draw(rt, "rises")
				for i := range lasts {
					severity := diagnosis.Warning
					if rises && i >= 6 {
						severity = diagnosis.Critical
					}
					there[k] = append(there[k], int(severity))
				}
				for range rapid.SampledFrom([]int{1, 15}).Draw(rt, "gone") { // clearly below or above the hold of 5
					there[k] = append(there[k], 0)
				}
			}
		}
		type death struct {
			writes int
			early  bool
		}
		deaths := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) death {
			return death{rapid.IntRange(1, 12).Draw(rt, "write"), rapid.Bool().Draw(rt, "early")}
		}), 1, 4).Draw(rt, "deaths")

		heard := func(kills []death) map[string][]string {
			l := life{firing: map[string]bool{}, heard: map[string][]string{}}
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, time.Now)
				var disk []byte
				begin := func() (*mortal, *rig) {
					policies := incidents.Policies()
					// The window to reopen is wall time: no run may end near it.
					policies[diagnosis.LinkDown] = incidents.Policy{Pending: 2, Clear: 5, Reopen: 24 * time.Hour, Max: diagnosis.Critical}
					p := &mortal{Manager: incidents.NewManager(incidents.Options{Interval: interval, Policies: policies}), writes: -1}
					require.NoError(t, p.Restore(disk))
					p.disk = disk
					if len(kills) > 0 {
						p.writes, p.early = kills[0].writes, kills[0].early
						kills = kills[1:]
					}
					return p, start(t, p.Manager, func(o *Options) { o.Source = p }, p.target(f))
				}
				p, r := begin()
				revive := func() {
					if p.gone() {
						disk = p.disk
						r.stop()
						p, r = begin()
						synctest.Wait()
						l.look(f)
					}
				}
				for i := range ticks + 20 {
					time.Sleep(interval)
					revive() // a repetition may have been its last
					var vs []diagnosis.Verdict
					for k := range there {
						if i < ticks && there[k][i] > 0 {
							v := down(fmt.Sprintf("n%d", k))
							v.Severity = diagnosis.Severity(there[k][i])
							vs = append(vs, v)
						}
					}
					p.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
					p.mu.Lock()
					p.write()
					p.mu.Unlock()
					r.n.Sync()
					synctest.Wait()
					l.look(f)
					revive()
				}
				r.stop()
			})
			return l.heard
		}
		require.Equal(t, heard(nil), heard(deaths))
	})
}

// TestThirtyDaysDoNotGrow: what the sender keeps is bounded by what is open and
// what ended lately, however long it runs.
func TestThirtyDaysDoNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		const step = 5 * time.Minute
		m := incidents.NewManager(incidents.Options{Interval: step})
		r := start(t, m, func(o *Options) {
			o.Interval, o.ResendDelay, o.PollInterval, o.ReadbackInterval = step, step, step, 3*step
		}, f.target("am"))
		most := 0
		for i := range int(30 * 24 * time.Hour / step) {
			time.Sleep(step)
			var vs []diagnosis.Verdict
			if i%12 < 4 { // every hour another host for twenty minutes
				vs = append(vs, down(fmt.Sprintf("gpu-%03d", i/12)))
			}
			m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
			r.n.Sync()
			synctest.Wait()
			f.set(func() { f.posts = nil; clear(f.alerts) }) // the fake would be what grows
			member := r.n.present()[0]
			member.mu.Lock()
			kept := len(member.pending.items)
			member.mu.Unlock()
			r.n.poller.mu.Lock()
			kept = max(kept, len(r.n.poller.states), len(r.n.poller.silences), len(r.n.poller.resolved))
			r.n.poller.mu.Unlock()
			most = max(most, kept)
		}
		require.NotZero(t, most)
		require.LessOrEqual(t, most, 40, "720 hosts failed in these days")
	})
}
