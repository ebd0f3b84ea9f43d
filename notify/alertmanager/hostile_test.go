package alertmanager

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
func (endless) Close() error { return nil }

// TestStrangeAnswersToQuestions: whatever a member answers when it is asked,
// alerts go on being delivered, nothing is taken for silenced, and nothing is
// posted in a frenzy.
func TestStrangeAnswersToQuestions(t *testing.T) {
	for name, body := range map[string]string{
		"cut":             `[{"fingerprint":"00`,
		"null":            `null`,
		"list of null":    `[null, null]`,
		"empty objects":   `[{}, {"status":{}}, {"fingerprint":null,"status":{"state":null,"silencedBy":null}}]`,
		"object":          `{}`,
		"number":          `17`,
		"wrong types":     `[{"fingerprint":7,"status":"active"}]`,
		"many silences":   `[{"fingerprint":"1","status":{"state":"suppressed","silencedBy":[` + strings.Repeat(`"x",`, 5000) + `"y"],"inhibitedBy":[]}}]`,
		"deep":            strings.Repeat(`[`, 100_000),
		"page":            `<html>sign in</html>`,
		"nothing at all":  ``,
		"binary nonsense": "\x00\xff\x1f\x8b",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, time.Now)
				var asked atomic.Int64
				target := f.target("am")
				target.NewTransport = func(DialFunc) (http.RoundTripper, error) {
					return roundTrip(func(q *http.Request) (*http.Response, error) {
						if q.Method == http.MethodPost {
							return f.RoundTrip(q)
						}
						asked.Add(1)
						return &http.Response{
							StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: q,
							Body: io.NopCloser(strings.NewReader(body)),
						}, nil
					}), nil
				}
				r := start(t, nil, nil, target)
				r.tick(20, down("a"))
				require.Len(t, f.firing(), 1)
				require.LessOrEqual(t, f.count(), 20, "five minutes: a repetition a minute, and what read-back misses")
				require.LessOrEqual(t, asked.Load(), int64(60*(maxLookups+4)))
				s, known := r.n.Suppression(r.fingerprint())
				require.False(t, known && s.Suppressed())
				r.tick(10)
				require.Empty(t, f.firing(), "and their ends")
			})
		})
	}
}

// TestEndlessAnswerIsBounded: a body without an end costs neither memory without
// a bound nor the goroutine.
func TestEndlessAnswerIsBounded(t *testing.T) {
	g := guard{now: time.Now, observe: func(int, time.Duration) {}, next: roundTrip(func(q *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: endless{}, Request: q}, nil
	})}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://am/", nil)
	require.NoError(t, err)
	resp, err := g.RoundTrip(req)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.EqualValues(t, maxAnswer, n)
}

// TestSilenceWithoutAName: an answer that does not say which silence was made is
// no silence: nobody could end it, and people would believe that it is there.
func TestSilenceWithoutAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		target := f.target("am")
		target.NewTransport = func(DialFunc) (http.RoundTripper, error) {
			return roundTrip(func(q *http.Request) (*http.Response, error) {
				if strings.HasSuffix(q.URL.Path, "/silences") {
					return &http.Response{
						StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: q, Body: io.NopCloser(strings.NewReader(`{}`)),
					}, nil
				}
				return f.RoundTrip(q)
			}), nil
		}
		r := start(t, nil, nil, target)
		r.tick(2, down("a"))
		inc := r.m.Live()[0]
		_, err := r.n.Silence(t.Context(), SilenceRequest{
			Incident: inc.ID, Matchers: inc.SilenceMatchers(), Duration: time.Hour, Author: "ada", Comment: "on it", UntilResolved: true,
		})
		require.ErrorContains(t, err, "names none")
		require.NotContains(t, r.m.Live()[0].Deliveries, ackRecord)
	})
}

// TestOneSilenceOfManyAlertsIsReadOnce: a poll asks for each silence once, not
// for each alert that it covers.
func TestOneSilenceOfManyAlertsIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Now)
		var details atomic.Int64
		target := f.target("am")
		target.NewTransport = func(DialFunc) (http.RoundTripper, error) {
			return roundTrip(func(q *http.Request) (*http.Response, error) {
				if strings.Contains(q.URL.Path, "/silence/") {
					details.Add(1)
				}
				return f.RoundTrip(q)
			}), nil
		}
		r := start(t, nil, func(o *Options) { o.PollInterval = time.Hour }, target)
		r.tick(2, hosts(15)...)
		id := "00000000-0000-0000-0000-000000000001"
		f.set(func() {
			for fp := range f.alerts {
				f.silenced[fp] = []string{id}
			}
		})
		time.Sleep(time.Minute)
		require.NoError(t, r.n.Refresh(t.Context()))
		require.EqualValues(t, 1, details.Load())
		require.Equal(t, float64(15), testutil.ToFloat64(r.n.metrics.suppressed.WithLabelValues("silence")), fmt.Sprint(r.n.Conditions()))
	})
}
