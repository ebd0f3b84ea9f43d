package promapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/promapi"
)

const hour = int64(3_600_000)

// history serves a day of three series with gaps, the last of them ending
// halfway.
func history(t *testing.T) *httptest.Server {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := db.Appender()
	for i := range int64(3) {
		h := s.Series("__name__", "m", "n", fmt.Sprint(i))
		for at := i * 777; at < (24-10*(i/2))*hour; at += 15_000 {
			if at/hour%5 != i+1 {
				require.NoError(t, s.Append(h, at, float64(at+i)))
			}
		}
	}
	require.NoError(t, s.Commit())
	srv := httptest.NewServer(apiserver.Handler(db))
	t.Cleanup(srv.Close)
	return srv
}

func client(t testing.TB, url string, limits promapi.Limits) *promapi.Client {
	t.Helper()
	limits.RequestsPerSecond = 1e6
	c, err := promapi.New(promapi.Config{Name: "src", URL: url, Limits: limits})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// rows is the answer in the order of labels.
func rows(q promapi.Querier, r *promapi.Result) []string {
	var all []string
	for i, ref := range r.Refs {
		all = append(all, fmt.Sprint(q.Interner().Labels(ref), r.Of(i)))
	}
	slices.Sort(all)
	return all
}

// However a range is cut, the joined answer is the one of a single request.
func TestSlicesJoinToTheWhole(t *testing.T) {
	srv := history(t)
	whole := client(t, srv.URL, promapi.Limits{Slice: 1000 * time.Hour, MaxPoints: 1 << 40})
	rapid.Check(t, func(rt *rapid.T) {
		c := client(t, srv.URL, promapi.Limits{
			Slice:     time.Duration(rapid.Int64Range(60, 5*3600).Draw(rt, "slice")) * time.Second,
			MaxPoints: rapid.Int64Range(5, 500).Draw(rt, "points"),
		})
		start := rapid.Int64Range(0, 24*hour).Draw(rt, "start")
		w := promapi.Window{
			Start: time.UnixMilli(start),
			End:   time.UnixMilli(start + rapid.Int64Range(0, 3*hour).Draw(rt, "length")),
			Step:  time.Duration(rapid.Int64Range(5_000, 600_000).Draw(rt, "step")) * time.Millisecond,
		}
		var want, got promapi.Result
		require.NoError(rt, whole.Range(t.Context(), "m", w, &want))
		require.NoError(rt, c.Range(t.Context(), "m", w, &got))
		require.Equal(rt, rows(whole, &want), rows(c, &got))
	})
}

// Reading window by window, with any overlap and after any gap that the window
// bridges, and dropping what was seen, gives the samples of one read.
func TestIncrementalReadsEqualOne(t *testing.T) {
	srv := history(t)
	c := client(t, srv.URL, promapi.Limits{})
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.Int64Range(0, 20*hour).Draw(rt, "start")
		from := at
		seen := make(map[promapi.Ref][]promapi.Sample)
		for range rapid.IntRange(1, 8).Draw(rt, "ticks") {
			ms := rapid.Int64Range(1_000, 600_000).Draw(rt, "tick")
			overlap := rapid.Int64Range(0, 60_000).Draw(rt, "overlap")
			at += ms
			var r promapi.Result
			require.NoError(rt, c.Instant(t.Context(), fmt.Sprintf("m[%dms]", ms+overlap), time.UnixMilli(at), &r))
			for i, ref := range r.Refs {
				for _, s := range r.Of(i) {
					old := seen[ref]
					if s.T > from && (len(old) == 0 || s.T > old[len(old)-1].T) {
						seen[ref] = append(old, s)
					}
				}
			}
		}
		var once promapi.Result
		require.NoError(rt, c.Instant(t.Context(), fmt.Sprintf("m[%dms]", at-from), time.UnixMilli(at), &once))
		require.Len(rt, seen, once.Len())
		for i, ref := range once.Refs {
			require.Equal(rt, seen[ref], append([]promapi.Sample(nil), once.Of(i)...))
		}
	})
}

func TestExpensiveSlicesAreHalvedOnce(t *testing.T) {
	srv := history(t)
	var requests atomic.Int64
	limit := 200 // points
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		var start, end, step float64
		_, _ = fmt.Sscan(r.Form.Get("start")+" "+r.Form.Get("end")+" "+r.Form.Get("step"), &start, &end, &step)
		if (end-start)/step > float64(limit) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"status":"error","errorType":"execution","error":"too many samples"}`))
			return
		}
		resp, err := http.PostForm(srv.URL+r.URL.Path, r.Form)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	defer proxy.Close()
	w := promapi.Window{Start: time.UnixMilli(0), End: time.UnixMilli(2*hour - 1), Step: 20 * time.Second}
	var want, got promapi.Result
	whole := client(t, srv.URL, promapi.Limits{})
	require.NoError(t, whole.Range(t.Context(), "m", w, &want))
	c := client(t, proxy.URL, promapi.Limits{})
	require.NoError(t, c.Range(t.Context(), "m", w, &got))
	require.Equal(t, rows(whole, &want), rows(c, &got))
	require.EqualValues(t, 3, requests.Load())

	limit = 100
	require.Equal(t, promapi.ClassTooExpensive, promapi.ClassOf(c.Range(t.Context(), "m", w, &got)))
	require.EqualValues(t, 5, requests.Load(), "no second halving")
}

// To ask a server what a query cost must not earn a warning, for then every
// twentieth answer would seem to be in part only.
func TestAskingForTheCostIsNoWarning(t *testing.T) {
	c := client(t, history(t).URL, promapi.Limits{StatsEvery: 1})
	var res promapi.Result
	require.NoError(t, c.Instant(t.Context(), "m[1m]", time.UnixMilli(hour), &res))
	require.Empty(t, res.Warnings)
	require.NotEmpty(t, res.Refs)
	require.NoError(t, c.Range(t.Context(), "m", promapi.Window{Start: time.UnixMilli(0), End: time.UnixMilli(hour), Step: time.Minute}, &res))
}
