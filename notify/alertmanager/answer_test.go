package alertmanager

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

func hosts(n int) (out []diagnosis.Verdict) {
	for i := range n {
		out = append(out, down(fmt.Sprintf("n%02d", i)))
	}
	return out
}

func status(code int, body string) func(http.ResponseWriter, *http.Request, models.PostableAlerts) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ models.PostableAlerts) bool {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
		return true
	}
}

func has(alerts models.PostableAlerts, node string) bool {
	return slices.ContainsFunc(alerts, func(a *models.PostableAlert) bool { return a.Labels["suspect_node"] == node })
}

// TestTransientAnswers walks the answers after which an alert has to arrive
// once the member is well again.
func TestTransientAnswers(t *testing.T) {
	header := func(k, v string, code int, body string) func(http.ResponseWriter, *http.Request, models.PostableAlerts) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ models.PostableAlerts) bool {
			w.Header().Set(k, v)
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	for name, c := range map[string]struct {
		answer  func(http.ResponseWriter, *http.Request, models.PostableAlerts) bool
		reason  reason
		minWait time.Duration
		within  time.Duration
	}{
		"login page with 200":    {header("Content-Type", "text/html; charset=utf-8", 200, "<html>login</html>"), badContent, 0, time.Minute},
		"text with 200":          {header("Content-Type", "text/plain", 200, "OK"), badContent, 0, time.Minute},
		"redirect":               {header("Location", "http://evil/", 302, ""), redirect, 0, time.Minute},
		"unauthorised":           {status(401, "no"), auth, time.Minute, 2 * time.Minute},
		"forbidden":              {status(403, "no"), auth, time.Minute, 2 * time.Minute},
		"not found":              {status(404, "no"), config, 2 * time.Minute, 3 * time.Minute},
		"API v1":                 {status(410, "gone"), config, 2 * time.Minute, 3 * time.Minute},
		"content type":           {status(415, ""), config, 2 * time.Minute, 3 * time.Minute},
		"retry after":            {header("Retry-After", "90", 429, ""), overload, 90 * time.Second, 2 * time.Minute},
		"retry after for a year": {header("Retry-After", "31536000", 503, ""), overload, 2 * time.Minute, 3 * time.Minute},
		"retry at a date": {func(w http.ResponseWriter, _ *http.Request, _ models.PostableAlerts) bool {
			w.Header().Set("Retry-After", time.Now().Add(2*time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(503)
			return true
		}, overload, 119 * time.Second, 3 * time.Minute},
		"overloaded":    {status(503, ""), overload, 0, time.Minute},
		"server error":  {status(500, `"provider"`), transport, 0, time.Minute},
		"bad gateway":   {status(502, "<html>"), transport, 0, time.Minute},
		"teapot":        {status(418, ""), config, 2 * time.Minute, 3 * time.Minute},
		"unknown 6xx":   {status(600, ""), transport, 0, time.Minute},
		"garbage error": {header("Content-Type", "application/json", 500, "{{{"), transport, 0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, time.Now)
				f.answer = c.answer
				r := start(t, nil, nil, f.target("am"))
				r.tick(2, down("a"))
				require.Empty(t, f.firing())
				require.NotZero(t, testutil.ToFloat64(r.n.metrics.failed.WithLabelValues("am", string(c.reason))))
				require.Zero(t, testutil.ToFloat64(r.n.metrics.sent.WithLabelValues("am")))
				require.Empty(t, r.m.Live()[0].Deliveries, "not delivered, so not noted")
				require.Equal(t, string(c.reason), r.n.Conditions()[0].Reason)
				n := f.count()
				f.set(func() { f.answer = nil })
				if c.minWait > 0 {
					time.Sleep(c.minWait - time.Second)
					synctest.Wait()
					require.Equal(t, n, f.count(), "left alone")
				}
				time.Sleep(c.within - c.minWait + time.Second)
				synctest.Wait()
				require.Len(t, f.firing(), 1)
				require.Empty(t, r.n.Conditions())
				require.NotZero(t, testutil.ToFloat64(r.n.metrics.retried.WithLabelValues("am")))
			})
		})
	}
}

func TestSuccessOtherThan200(t *testing.T) {
	for _, code := range []int{201, 202, 204} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, time.Now)
			f.answer = func(w http.ResponseWriter, _ *http.Request, a models.PostableAlerts) bool {
				w.WriteHeader(code)
				f.store(a)
				return true
			}
			r := start(t, nil, nil, f.target("am"))
			r.tick(3, down("a"))
			require.Equal(t, 1, f.count())
		})
	}
}

func TestBackoffGrowsToAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.answer = status(500, "")
		r := start(t, nil, nil, f.target("am"))
		r.tick(2, down("a"))
		time.Sleep(10 * time.Minute)
		f.mu.Lock()
		defer f.mu.Unlock()
		require.InDelta(t, 6+600/45, len(f.posts), 4)
		last := len(f.posts) - 1
		require.Equal(t, 45*time.Second, f.posts[last].at.Sub(f.posts[last-1].at).Round(time.Second), "60 s with jitter 0.75")
	})
}

// TestPartly400: the real one stores the good ones of a batch and answers 400.
func TestPartly400(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.answer = func(w http.ResponseWriter, _ *http.Request, alerts models.PostableAlerts) bool {
			if !has(alerts, "n03") {
				return false
			}
			f.store(slices.DeleteFunc(slices.Clone(alerts), func(a *models.PostableAlert) bool { return a.Labels["suspect_node"] == "n03" }))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, `"invalid label set"`)
			return true
		}
		r := start(t, nil, nil, f.target("am"))
		r.tick(2, hosts(8)...)
		require.Len(t, f.firing(), 7)
		require.Len(t, f.posts, 1+8, "the batch, then each alone once")
		require.Equal(t, 1.0, testutil.ToFloat64(r.n.metrics.dropped.WithLabelValues("am", "invalid")))
		require.Contains(t, r.n.Conditions()[0].Text, "invalid label set")
		r.tick(12, hosts(8)...)
		n := 0
		for _, p := range f.posts {
			if has(p.alerts, "n03") {
				n++
			}
		}
		require.Equal(t, 3, n, "alone, and seldom")
		vs := hosts(8)
		vs[3].Severity = diagnosis.Critical
		f.set(func() { f.answer = nil })
		r.tick(1, vs...)
		require.Len(t, f.firing(), 8)
	})
}

func TestBisecting422(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.answer = func(w http.ResponseWriter, _ *http.Request, alerts models.PostableAlerts) bool {
			if !has(alerts, "n05") {
				return false
			}
			w.WriteHeader(422)
			return true
		}
		m := incidents.NewManager(incidents.Options{FoldAbove: 100})
		r := start(t, m, nil, f.target("am"))
		r.tick(2, hosts(32)...)
		require.Len(t, f.firing(), 31)
		require.LessOrEqual(t, len(f.posts), 1+2*5)
		require.Equal(t, 1.0, testutil.ToFloat64(r.n.metrics.dropped.WithLabelValues("am", "schema")))
		n := len(f.posts)
		r.tick(3, hosts(32)...)
		require.Len(t, f.posts, n, "the culprit is not sent again, nor is the rest before its time")
	})
}

func TestTooLargeIsHalved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.answer = func(w http.ResponseWriter, _ *http.Request, alerts models.PostableAlerts) bool {
			if len(alerts) <= 5 {
				return false
			}
			w.WriteHeader(413)
			fmt.Fprint(w, "<html>nginx</html>")
			return true
		}
		m := incidents.NewManager(incidents.Options{FoldAbove: 100})
		r := start(t, m, nil, f.target("am"))
		r.tick(2, hosts(40)...)
		require.Len(t, f.firing(), 40)
		n := len(f.posts)
		r.tick(4, hosts(40)...) // the repetition
		require.Len(t, f.firing(), 40)
		require.Equal(t, 8, len(f.posts)-n, "the smaller size is remembered")
		require.Zero(t, testutil.ToFloat64(r.n.metrics.dropped.WithLabelValues("am", "too_large")))
	})
}

func TestRotatedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		var stale atomic.Bool
		tr := roundTrip(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer new")
			if stale.Swap(false) { // the file is read again for each request
				r.Header.Set("Authorization", "Bearer old")
			}
			return f.RoundTrip(r)
		})
		f.answer = func(w http.ResponseWriter, r *http.Request, _ models.PostableAlerts) bool {
			if r.Header.Get("Authorization") == "Bearer new" {
				return false
			}
			w.WriteHeader(401)
			return true
		}
		target := f.target("am")
		target.NewTransport = func(DialFunc) (http.RoundTripper, error) { return tr, nil }
		r := start(t, nil, func(o *Options) { o.PollInterval = time.Hour }, target)
		r.tick(1, down("a"))
		stale.Store(true)
		r.tick(1, down("a"))
		require.Len(t, f.posts, 2)
		require.Len(t, f.firing(), 1, "one retry at once")
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSecretsStayOutOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		f.down = true
		target := f.target("am")
		target.URL = "http://user:hunter2@am:9093/prefix"
		r := start(t, nil, nil, target)
		r.tick(2, down("a"))
		require.NotContains(t, fmt.Sprint(r.n.Conditions()), "hunter2")
	})
}

func TestPathPrefixAndBasicAuth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		var mu sync.Mutex // the senders and the poller ask at the same time
		var paths []string
		target := f.target("am")
		target.URL = "http://user:hunter2@am:9093/some/prefix/"
		target.NewTransport = func(DialFunc) (http.RoundTripper, error) {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				user, pass, _ := r.BasicAuth()
				mu.Lock()
				paths = append(paths, user+" "+pass+" "+r.URL.Path)
				mu.Unlock()
				return f.RoundTrip(r)
			}), nil
		}
		r := start(t, nil, nil, target)
		r.tick(2, down("a"))
		mu.Lock()
		defer mu.Unlock()
		require.Contains(t, paths, "user hunter2 /some/prefix/api/v2/alerts")
		require.True(t, strings.HasSuffix(paths[0], "/some/prefix/api/v2/status"))
	})
}

func TestPanickingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		var broken atomic.Bool
		broken.Store(true)
		target := f.target("am")
		target.NewTransport = func(DialFunc) (http.RoundTripper, error) {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				if broken.Load() {
					panic("unexpected success response")
				}
				return f.RoundTrip(r)
			}), nil
		}
		r := start(t, nil, nil, target)
		r.tick(2, down("a"))
		require.Equal(t, "transport", r.n.Conditions()[0].Reason)
		broken.Store(false)
		r.tick(3, down("a"))
		require.Len(t, f.firing(), 1)
	})
}

func TestInvalidAlertsNeverEnterARequest(t *testing.T) {
	good := alert{labels: map[string]string{"alertname": "x"}, starts: time.Unix(1, 0)}
	require.NoError(t, good.validate())
	for name, change := range map[string]func(*alert){
		"no name":          func(a *alert) { a.labels = map[string]string{"a": "b"} },
		"bad value":        func(a *alert) { a.labels = map[string]string{"alertname": "x", "a": "\xff"} },
		"bad annotation":   func(a *alert) { a.annotations = map[string]string{"a": "\xff"} },
		"no start":         func(a *alert) { a.starts = time.Time{} },
		"end before start": func(a *alert) { a.ends = time.Unix(0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			a := good
			change(&a)
			require.Error(t, a.validate())
		})
	}
	for url, ok := range map[string]bool{"http://x/y": true, "": true, "http://[::1": false, "::": false} {
		a := good
		a.generator = url
		require.Equal(t, ok && url != "", a.model(time.Now(), time.Minute).GeneratorURL != "", url)
		require.NoError(t, a.model(time.Now(), time.Minute).Validate(nil))
	}
}
