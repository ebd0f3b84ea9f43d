package apiserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/promapi"
)

// The client over HTTP and the embedded querier give the same answers.
func TestClientSeesWhatTheEngineHas(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	s := db.Appender()
	for _, node := range []string{"a", `quote " brace } back \ line` + "\n" + "end", "é😀"} {
		h := s.Series("__name__", "m", "node", node)
		for i := range int64(20) {
			require.NoError(t, s.Append(h, 1000+i*15_000+i%7, float64(i)/3))
		}
		require.NoError(t, s.Stale(h, 400_000))
	}
	require.NoError(t, s.Commit())

	srv := httptest.NewServer(apiserver.Handler(db))
	defer srv.Close()
	client, err := promapi.New(promapi.Config{Name: "test", URL: srv.URL, Gzip: true, Limits: promapi.Limits{RequestsPerSecond: 1000}})
	require.NoError(t, err)
	defer client.Close()
	direct := db.Querier()

	for _, expr := range []string{"m", "m[90s]", `m{node="a"}[1m] offset 30s`, "sum(m)", "sum by (node) (rate(m[1m]))", "vector(1)", "3", "m / 0", "nothing"} {
		for _, at := range []int64{1000, 150_500, 299_000, 500_000} {
			var want, got promapi.Result
			require.NoError(t, direct.Instant(t.Context(), expr, time.UnixMilli(at), &want))
			require.NoError(t, client.Instant(t.Context(), expr, time.UnixMilli(at), &got))
			require.Equal(t, rows(direct, &want), rows(client, &got), "%s at %d", expr, at)
		}
	}
	w := promapi.Window{Start: time.UnixMilli(500), End: time.UnixMilli(301_000), Step: 15 * time.Second}
	var want, got promapi.Result
	require.NoError(t, direct.Range(t.Context(), "m*2", w, &want))
	require.NoError(t, client.Range(t.Context(), "m*2", w, &got))
	require.Equal(t, rows(direct, &want), rows(client, &got))
	require.NotEmpty(t, rows(client, &got))

	a, err := direct.LabelValues(t.Context(), "node", []string{"m"}, w)
	require.NoError(t, err)
	b, err := client.LabelValues(t.Context(), "node", []string{"m"}, w)
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.Len(t, b, 3)

	require.Equal(t, promapi.ClassConfig, promapi.ClassOf(client.Instant(t.Context(), "m{", time.Now(), &got)))
	require.Equal(t, promapi.ClassConfig, promapi.ClassOf(client.Instant(t.Context(), `"text"`, time.Now(), &got)))

	resp, err := http.Get(srv.URL + "/api/v1/targets")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
}

type row struct {
	labels  string
	samples []string
}

// rows is the answer without the order of series, which the engine leaves open.
func rows(q promapi.Querier, r *promapi.Result) []row {
	var all []row
	for i, ref := range r.Refs {
		w := row{labels: q.Interner().Labels(ref).String()}
		for _, s := range r.Of(i) {
			w.samples = append(w.samples, fmt.Sprint(s.T, s.V)) // as text NaN equals NaN
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b row) int { return strings.Compare(a.labels, b.labels) })
	return all
}
