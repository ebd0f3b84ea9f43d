package embedprom

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/collwatch/collwatch/promapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openTest(t testing.TB, opts Options) *DB {
	t.Helper()
	db, err := Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// series is an answer in a form that can be compared and read.
type series struct {
	Labels  string
	Samples []string
}

func flatten(q promapi.Querier, r *promapi.Result) []series {
	out := make([]series, 0, r.Len())
	for i := range r.Refs {
		s := series{Labels: q.Interner().Labels(r.Refs[i]).String()}
		for _, p := range r.Of(i) {
			s.Samples = append(s.Samples, fmt.Sprintf("%d:%x", p.T, math.Float64bits(p.V)))
		}
		out = append(out, s)
	}
	// The engine gives vectors in no order.
	slices.SortFunc(out, func(a, b series) int { return strings.Compare(a.Labels, b.Labels) })
	return out
}

func instant(t testing.TB, q promapi.Querier, expr string, at int64) []series {
	t.Helper()
	var r promapi.Result
	require.NoError(t, q.Instant(t.Context(), expr, time.UnixMilli(at), &r))
	return flatten(q, &r)
}

// byEngine answers through PromQL even where a plain selector would do.
func byEngine(t testing.TB, db *DB, expr string, at int64) []series {
	t.Helper()
	q := db.Querier().(*querier)
	query, err := db.engine.NewInstantQuery(t.Context(), db.store, nil, expr, time.UnixMilli(at))
	require.NoError(t, err)
	var r promapi.Result
	r.Reset()
	require.NoError(t, q.exec(t.Context(), expr, query, &r))
	return flatten(q, &r)
}

func sample(t int64, v float64) string { return fmt.Sprintf("%d:%x", t, math.Float64bits(v)) }
