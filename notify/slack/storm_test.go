package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
)

func newSource(t *testing.T) *incidents.Manager {
	t.Helper()
	return incidents.NewManager(incidents.Options{Interval: interval})
}

// many are faults that nothing folds: each on its own host, in its own job.
func many(n int) []diagnosis.Verdict {
	out := make([]diagnosis.Verdict, n)
	for i := range out {
		out[i] = down(fmt.Sprintf("gpu-%03d", i))
		out[i].Job = fmt.Sprintf("job-%03d", i)
		out[i].Suspects[0].Switch = fmt.Sprintf("leaf-%03d", i)
	}
	return out
}

func summaries(r *rig) (out []fakeslack.Message) {
	for _, m := range r.visible() {
		if strings.Contains(m.Text, "any incidents at once") {
			out = append(out, m)
		}
	}
	return out
}

func stormy(o *Options) { o.Storm = 8 }

func TestStormIsOneSummary(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, stormy)
		r.tick(1, many(30)...)
		r.tick(3, many(30)...)
		require.Len(t, r.m.Live(), 30)
		require.Len(t, r.visible(), 1)
		require.Contains(t, r.visible()[0].Text, "Many incidents at once: 30 open")
		require.Contains(t, r.visible()[0].Body, "30 warning nic degraded")
		r.restart()
		r.tick(3, many(30)...)
		require.Len(t, r.visible(), 1, "a restart continues the summary")

		// All but four recover: the storm is over, and these get their own.
		r.tick(60, many(4)...)
		require.Len(t, summaries(r), 1)
		require.Contains(t, summaries(r)[0].Text, "Over: many incidents at once, 4 still open")
		require.Contains(t, summaries(r)[0].Text, "26 incidents began and ended meanwhile")
		require.Equal(t, green, summaries(r)[0].Color)
		require.Len(t, r.visible(), 5)
		for _, inc := range r.m.Live() {
			require.NotContains(t, inc.Deliveries, "slack-storm/gpu")
		}

		r.tick(60)
		require.Len(t, r.visible(), 5)
		r.tick(4, many(30)...)
		require.Len(t, summaries(r), 2, "the next storm is another message")
	})
}

func TestStormKeepsMessagesThatWereThereAndTellsTheirResolve(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, stormy)
		r.tick(6, many(5)...)
		require.Len(t, r.visible(), 5)
		r.tick(4, many(20)...)
		require.Len(t, r.visible(), 6)
		edits := r.visible()[4].Edits
		worse := many(20)
		worse[4].Severity = diagnosis.Critical
		r.tick(4, worse...)
		require.Equal(t, edits, r.visible()[4].Edits, "edits rest in a storm")
		require.Contains(t, summaries(r)[0].Text, "Critical at worst")
		r.tick(60, worse[1:]...)
		for _, m := range r.visible() {
			if strings.Contains(m.Text, "gpu-000") {
				require.Equal(t, green, m.Color, "a resolve does not")
			}
		}
	})
}

func TestLostAnswerOfASummaryIsFound(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Storm, o.Routes[0].Channel = 8, "C0123456789" })
		r.s.LoseAnswers("chat.postMessage", 1)
		r.tick(6, many(20)...)
		require.Len(t, summaries(r), 1)
		r.s.Delete(summaries(r)[0].TS)
		r.tick(6, many(21)...)
		require.Len(t, summaries(r), 1, "a deleted summary comes anew")
	})
}

func TestStormOnAWebhookIsToldAtItsBeginningAndEnd(t *testing.T) {
	in(t, func(t *testing.T) {
		s := fakeslack.New(time.Now)
		r := newRig(t, func(o *Options) {
			o.Storm, o.Token = 8, nil
			o.Routes = []Route{{Name: "hook", Webhook: func(bool) (string, error) { return s.Webhook(), nil }}}
			o.HTTP.Transport = direct{s}
		})
		r.tick(8, many(30)...)
		require.Len(t, s.Messages(), 1)
		r.tick(60)
		require.Len(t, s.Messages(), 2)
	})
}

func TestUrgentCallsGoFirst(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.MessageInterval = 5 * time.Second })
		r.tick(8, many(10)...)
		require.Len(t, r.visible(), 10)
		next := append(many(10), critical("gpu-500"))
		r.tick(1, next...)
		for i := range next {
			next[i].Reason = "ber_high" // worth an edit of each
		}
		before := len(r.s.Transcript())
		r.tick(1, next...)
		edits, _, posted := strings.Cut(r.s.Transcript()[before:], "chat.postMessage")
		require.True(t, posted)
		require.LessOrEqual(t, linesWith(edits, "chat.update"), 1, "only what was sent while the new alert settled")
		r.tick(6, next...)
		for _, m := range r.visible()[:10] {
			require.Equal(t, 1, m.Edits)
		}
	})
}

func TestAResolveGoesBeforeABacklogOfEdits(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.MessageInterval = 5 * time.Second })
		r.tick(8, many(10)...)
		last := r.m.Live()[9].Labels["suspect_node"] // among equals, that is the order
		over := func() bool {
			for _, inc := range r.m.Ended() {
				if inc.Labels["suspect_node"] == last {
					return true
				}
			}
			return false
		}
		for i := 0; i < 200 && !over(); i++ {
			next := slices.DeleteFunc(many(10), func(v diagnosis.Verdict) bool { return v.Hosts[0] == last })
			for k := range next { // an edit of each, three in an interval
				next[k].Suspects[0].Port = fmt.Sprint(i)
			}
			r.tick(1, next...)
		}
		require.True(t, over())
		for _, m := range r.visible() {
			require.Equal(t, strings.Contains(m.Text, last), m.Color == green)
		}
	})
}
