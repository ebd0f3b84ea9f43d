package apiserver_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/promapi"
)

const (
	chunkSeries = 7
	chunkEnd    = int64(4 * 3600 * 1000)
)

// hours is a storage with hours of series, some of which end, begin late, have a
// gap, or got a sample late.
func hours(t *testing.T) *embedprom.DB {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := db.Appender()
	for i := range chunkSeries {
		h := s.Series("__name__", "m", "node", "gpu-"+string(rune('a'+i)), "cluster", "own")
		from, to := int64(0), chunkEnd
		switch i {
		case 1:
			to = chunkEnd / 4 // ended before most windows
		case 2:
			from = chunkEnd - 60_000
		}
		for at := from; at <= to; at += 15_000 {
			if i == 3 && at > chunkEnd/2 && at < chunkEnd*3/4 || i == 4 && at == chunkEnd/2 {
				continue
			}
			v := float64(at/15_000%977) / 7
			if i == 5 {
				v = math.Inf(int(at/15_000%2)*2 - 1)
			}
			require.NoError(t, s.Append(h, at+int64(i), v))
		}
		if i == 1 {
			require.NoError(t, s.Stale(h, to+15_000))
		}
		require.NoError(t, s.Commit())
	}
	late := s.Series("__name__", "m", "node", "gpu-e", "cluster", "own")
	require.NoError(t, s.Append(late, chunkEnd/2+4, 42))
	require.NoError(t, s.Commit())
	return db
}

// counting counts the requests to remote read.
func counting(t *testing.T, h http.Handler) (url string, reads *atomic.Int32) {
	t.Helper()
	reads = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/read") {
			reads.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, reads
}

func chunkClient(t *testing.T, url string, limits promapi.Limits) *promapi.Client {
	t.Helper()
	limits.RequestsPerSecond = 1000
	c, err := promapi.New(promapi.Config{Name: "test", URL: url, Chunks: true, Limits: limits})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// TestChunksHoldWhatJSONSays: whatever the window and the labels by which the server
// is known to others, history read as chunks is what the query API gives.
func TestChunksHoldWhatJSONSays(t *testing.T) {
	db := hours(t)
	direct := db.Querier()
	for name, external := range map[string][]string{
		"plain":                       nil,
		"known to others":             {"region", "eu", "replica", "a"},
		"by a label that others have": {"cluster", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			url, reads := counting(t, apiserver.Handler(db, external...))
			c := chunkClient(t, url, promapi.Limits{})
			for _, expr := range []string{`m[1h]`, `m[4h]`, `{__name__=~"m|n",node!~"gpu-(a|b)"}[95m]`, `m{node="gpu-b"}[3h30m]`, `none[1h]`, `m{region="eu"}[1h]`, `m[1h] offset 30m`} {
				for _, at := range []int64{chunkEnd, chunkEnd - 7_501, chunkEnd/2 + 4} {
					var want, got promapi.Result
					require.NoError(t, direct.Instant(t.Context(), expr, time.UnixMilli(at), &want))
					require.NoError(t, c.Instant(t.Context(), expr, time.UnixMilli(at), &got))
					require.Equal(t, rows(direct, &want), rows(c, &got), "%s at %d", expr, at)
				}
			}
			require.Greater(t, reads.Load(), int32(10), "chunks were never asked for")
		})
	}
}

// TestWithoutChunksJSONAnswers: a server, or a proxy in front of it, that has no
// remote read is asked for it once.
func TestWithoutChunksJSONAnswers(t *testing.T) {
	db := hours(t)
	direct := db.Querier()
	api := apiserver.Handler(db)
	for name, refuse := range map[string]http.HandlerFunc{
		"not found":  http.NotFound,
		"forbidden":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"a page":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>log in</html>")) },
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"breaks off": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			url, reads := counting(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/read") {
					refuse(w, r)
					return
				}
				api.ServeHTTP(w, r)
			}))
			c := chunkClient(t, url, promapi.Limits{})
			for range 3 {
				var want, got promapi.Result
				require.NoError(t, direct.Instant(t.Context(), "m[2h]", time.UnixMilli(chunkEnd), &want))
				require.NoError(t, c.Instant(t.Context(), "m[2h]", time.UnixMilli(chunkEnd), &got))
				require.Equal(t, rows(direct, &want), rows(c, &got))
			}
			require.LessOrEqual(t, reads.Load(), int32(2), "HTTP itself repeats a request once when a connection breaks off")
		})
	}
}

// TestChunksKeepTheLimitOfAnAnswer: few bytes of chunks may be many samples.
func TestChunksKeepTheLimitOfAnAnswer(t *testing.T) {
	url, _ := counting(t, apiserver.Handler(hours(t)))
	c := chunkClient(t, url, promapi.Limits{MaxBody: 50_000})
	var r promapi.Result
	err := c.Instant(t.Context(), "m[4h]", time.UnixMilli(chunkEnd), &r)
	require.Equal(t, promapi.ClassTooExpensive, promapi.ClassOf(err), err)
	require.Zero(t, r.Len())
	require.NoError(t, c.Instant(t.Context(), "m[30m]", time.UnixMilli(chunkEnd), &r))
	require.NotZero(t, r.Len())
}
