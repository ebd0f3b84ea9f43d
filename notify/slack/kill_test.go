package slack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/notify/alertmanager"
)

// process is a daemon that dies at a chosen write of its state: at that moment
// nothing reaches the disk or Slack any more.
type process struct {
	*incidents.Manager
	next http.RoundTripper

	mu     sync.Mutex
	disk   []byte
	writes int // until death; negative is never
	dead   bool
	early  bool // dies before the write, not after it
}

// save writes the state at the end of a tick.
func (p *process) save() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write()
}

func (p *process) write() {
	data, err := p.Save()
	if err == nil && !p.dead {
		p.disk = data
	}
}

func (p *process) SetDeliveries(name string, records map[string]json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.Manager.SetDeliveries(name, records)
	p.writes--
	if p.writes == 0 && p.early {
		p.dead = true
	}
	p.write()
	if p.writes == 0 {
		p.dead = true
	}
	return err
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.gone() {
		return nil, io.ErrClosedPipe
	}
	return p.next.RoundTrip(r)
}

func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// TestKillAtAnyWriteNeitherDoublesNorLoses kills the daemon at random writes of
// its state, before or after each, while Slack misbehaves and incidents come,
// rise, change their kind and go. In the end each chain of incidents has exactly
// one message with the right end, and no line twice, also where a rise leads to
// another route of the channel.
func TestKillAtAnyWriteNeitherDoublesNorLoses(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			level [2]int // 0 well, 1 warning, 2 critical
			kill  int
			early bool
			slack string
		}
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) step {
			return step{
				level: [2]int{rapid.IntRange(0, 2).Draw(rt, "a"), rapid.IntRange(0, 2).Draw(rt, "b")},
				kill:  rapid.IntRange(-1, 6).Draw(rt, "kill"), early: rapid.Bool().Draw(rt, "early"),
				slack: rapid.SampledFrom([]string{"", "", "500", "429", "lost", "lost reply"}).Draw(rt, "slack"),
			}
		}), 1, 8).Draw(rt, "steps")
		routes := []Route{{Name: "oncall", Channel: "C0123456789"}}
		if rapid.Bool().Draw(rt, "by severity") {
			routes = append([]Route{{Name: "urgent", Channel: "C0123456789", Matchers: []string{`severity="critical"`}}}, routes...)
		}
		synctest.Test(t, func(t *testing.T) {
			s := fakeslack.New(time.Now)
			var disk []byte
			run := func(ticks, kill int, early bool, vs ...diagnosis.Verdict) {
				m := newManager()
				if disk != nil {
					require.NoError(t, m.Restore(disk))
				}
				p := &process{Manager: m, next: direct{s}, writes: kill, early: early, disk: disk}
				r := &rig{t: t, m: m, s: s, sup: &suppressor{}}
				r.opts = Options{
					Source: p, APIURL: s.URL(), HTTP: &http.Client{Transport: p}, Suppressor: r.sup,
					Token:  func(bool) (string, error) { return fakeslack.Token, nil },
					Routes: routes, Series: fallen,
				}
				r.start()
				for range ticks {
					if p.gone() {
						break
					}
					m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: vs})
					p.save()
					r.n.Sync()
					time.Sleep(interval)
				}
				p.mu.Lock()
				disk = p.disk
				p.mu.Unlock()
				r.stop()
			}
			for _, st := range steps {
				var vs []diagnosis.Verdict
				for i, level := range st.level {
					v := down(fmt.Sprintf("gpu-00%d", i))
					v.Severity = diagnosis.Severity(level) + diagnosis.Info
					if level > 0 {
						vs = append(vs, v)
					}
				}
				switch st.slack {
				case "500":
					s.Fail("", "500", 2)
				case "429":
					s.LimitRate("", 3*time.Second, 2)
				case "lost":
					s.LoseAnswers("chat.postMessage", 1)
				case "lost reply":
					s.LoseAnswers("chat.update", 1)
				}
				run(3, st.kill, st.early, vs...)
			}
			s.Heal()
			run(60, -1, false)
			m := newManager()
			require.NoError(t, m.Restore(disk))
			announced := map[string]bool{}
			for _, inc := range append(m.Ended(), m.Past()...) {
				if inc.Announced {
					announced[inc.Thread] = true
				}
			}
			top, lines := 0, map[string]int{}
			for _, msg := range s.Messages() {
				if msg.Thread == "" {
					top++
					require.Equal(t, green, msg.Color, s.Transcript())
					continue
				}
				lines[msg.Thread+msg.Text]++
			}
			require.Equal(t, len(announced), top, s.Transcript())
			for text, n := range lines {
				if !strings.Contains(text, "It came back") { // which may be twice
					require.Equal(t, 1, n, text)
				}
			}
		})
	})
}

func TestRecordOfAnotherVersionIsNone(t *testing.T) {
	for _, raw := range []string{"", "null", "{", `[]`, `{"ts":1}`} {
		_, ok := parseRecord(json.RawMessage(raw))
		require.Equal(t, raw == "null", ok, raw)
	}
}

func TestHoldKeepsTheLongestSilence(t *testing.T) {
	a, b := time.Unix(1000, 0), time.Unix(2000, 0)
	h := holdOf(alertmanager.State{Silences: []alertmanager.Silence{{By: "x", Until: b}, {By: "y", Until: a}}})
	require.Equal(t, b.UTC(), h.Until)
	require.Nil(t, holdOf(alertmanager.State{}))
}
