package signals_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// nothing is a source without series that lists what it was asked.
type nothing struct {
	promapi.Querier

	in    *promapi.Interner
	mu    sync.Mutex
	asked []string
}

// Interner implements promapi.Querier.
func (n *nothing) Interner() *promapi.Interner { return n.in }

// Instant implements promapi.Querier.
func (n *nothing) Instant(_ context.Context, expr string, _ time.Time, dst *promapi.Result) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, expr)
	dst.Reset()
	return nil
}

// What may be there is asked for at once. Families that are not are asked for every
// fourth tick, each at another one: asked for together they would be more than a
// source with the default limit lets through without waiting.
func TestAbsentFamiliesTakeTurns(t *testing.T) {
	q := &nothing{in: promapi.NewInterner()}
	r, err := signals.NewReader(signals.Options{Interval: 15 * time.Second}, map[string]promapi.Querier{"prom": q})
	require.NoError(t, err)
	all := len(r.Queries())
	times, most := map[string]int{}, 0
	for i := range 9 {
		q.asked = nil
		r.Read(t.Context(), unix(t0).Add(time.Duration(i)*15*time.Second))
		if i == 0 {
			require.Len(t, q.asked, all)
			continue
		}
		most = max(most, len(q.asked))
		for _, expr := range q.asked {
			family, _, _ := strings.Cut(expr, "}[") // the window grows with the time since
			times[family]++
		}
	}
	require.Len(t, times, all, "each is asked for again")
	slow := 0
	for expr, n := range times {
		if n != 8 {
			require.Equal(t, 2, n, expr)
			slow++
		}
	}
	require.Equal(t, 4, slow)
	require.Equal(t, all-slow+1, most)
}
