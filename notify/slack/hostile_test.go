package slack

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
)

// TestStrangeAnswers: whatever stands between us and Slack says, nothing breaks,
// no secret leaves to another host, and once Slack itself answers again the
// incident is there once.
func TestStrangeAnswers(t *testing.T) {
	answer := func(code int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, strange := range map[string]http.HandlerFunc{
		"login page":         answer(200, "text/html", "\n<!doctype html><title>Sign in</title>"),
		"page without type":  answer(200, "", "<html>"),
		"cut json":           answer(200, "application/json", `{"ok":true,"channel":"C0123`),
		"empty":              answer(200, "application/json", ""),
		"null":               answer(200, "application/json", "null"),
		"list":               answer(200, "application/json", "[]"),
		"no time stamp":      answer(200, "application/json", `{"ok":true}`),
		"numbers for texts":  answer(200, "application/json", `{"ok":true,"ts":1,"channel":2}`),
		"unknown error":      answer(200, "application/json", `{"ok":false,"error":"moon_phase"}`),
		"error without name": answer(200, "application/json", `{"ok":false}`),
		"gateway":            answer(502, "text/html", "<h1>Bad gateway</h1>"),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example.org/", http.StatusTemporaryRedirect)
		},
		"slow down for ever": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "31536000")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"retry after nonsense": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "soon")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		"huge": func(w http.ResponseWriter, _ *http.Request) {
			part := strings.Repeat(" ", 1<<20)
			for range 40 {
				_, _ = io.WriteString(w, part)
			}
		},
	} {
		for _, kind := range []string{"bot", "webhook"} {
			t.Run(name+" to a "+kind, func(t *testing.T) {
				in(t, func(t *testing.T) {
					var sick atomic.Bool
					s := fakeslack.New(time.Now)
					r := newRig(t, func(o *Options) {
						o.Routes[0].Channel = "C0123456789"
						if kind == "webhook" {
							o.Token = nil
							o.Routes = []Route{{Name: "hook", Webhook: func(bool) (string, error) { return s.Webhook(), nil }}}
						}
						o.HTTP.Transport = direct{http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
							require.NotContains(t, q.URL.Host, "evil")
							if sick.Load() {
								strange(w, q)
								return
							}
							s.ServeHTTP(w, q)
						})}
					})
					sick.Store(true)
					r.tick(12, down("gpu-007"))
					require.Empty(t, s.Messages())
					if kind == "webhook" && strings.Contains("cut json empty null list numbers for texts no time stamp unknown error error without name huge", name) {
						return // a webhook answers a bare 200, so these are successes
					}
					sick.Store(false)
					r.tick(60, down("gpu-007"))
					require.Len(t, s.Messages(), 1, s.Transcript())
				})
			})
		}
	}
}

// TestSlowBodyEndsWithTheTimeout: an answer that drips does not hold the channel.
func TestSlowBodyEndsWithTheTimeout(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok":`)
		w.(http.Flusher).Flush()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	c := guarded(&http.Client{Timeout: 100 * time.Millisecond})
	defer c.CloseIdleConnections()
	b := newBot(&Options{Token: func(bool) (string, error) { return "t", nil }, APIURL: srv.URL, HTTP: c})
	_, _, err := b.PostMessage(t.Context(), "C1", &Message{Text: "x"})
	e, ok := err.(*apiError) //nolint:errorlint // exactly this type is promised
	require.True(t, ok)
	require.Equal(t, classNetwork, e.class)
}
