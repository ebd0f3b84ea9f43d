package promapi

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a time that stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestBreaker(t *testing.T) {
	f := newFake(t, reply{status: 404, body: "gone"})
	at := &clock{now: time.Unix(1000, 0)}
	c := f.client(func(c *Config) { c.Limits.BreakAfter, c.Now = 3, at.Now })
	for range 3 {
		_, err := instant(t, c)
		require.Equal(t, ClassConfig, ClassOf(err))
	}
	require.Len(t, f.requests(), 3)
	for range 5 {
		_, err := instant(t, c)
		require.Equal(t, ClassConfig, ClassOf(err), "the class of the last failure stays")
		require.ErrorContains(t, err, "not asked")
		require.ErrorContains(t, err, "gone")
	}
	require.Len(t, f.requests(), 3, "nothing is sent")

	at.add(firstPause)
	_, err := instant(t, c)
	require.Equal(t, ClassConfig, ClassOf(err))
	require.Len(t, f.requests(), 4, "only a probe is sent")
	require.Equal(t, "vector(1)", f.requests()[3].form.Get("query"))
	at.add(firstPause)
	_, _ = instant(t, c)
	require.Len(t, f.requests(), 4, "the next pause is longer")

	f.mu.Lock()
	f.script = []reply{ok(`[]`), ok(oneSeries)}
	f.mu.Unlock()
	at.add(firstPause)
	r, err := instant(t, c)
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
	require.Equal(t, "vector(1)", f.requests()[4].form.Get("query"))
	require.Equal(t, "up", f.requests()[5].form.Get("query"))
	_, err = instant(t, c)
	require.NoError(t, err)
	require.Len(t, f.requests(), 7, "well again, no more probes")
}

func TestBadExpressionsDoNotOpenTheBreaker(t *testing.T) {
	f := newFake(t, apiError(400, "bad_data", "parse error"))
	c := f.client(func(c *Config) { c.Limits.BreakAfter = 2 })
	for range 5 {
		_, err := instant(t, c)
		require.Equal(t, ClassConfig, ClassOf(err))
	}
	require.Len(t, f.requests(), 5)
}

func TestRetryAfterIsRespected(t *testing.T) {
	f := newFake(t, reply{status: 429, header: map[string]string{"Retry-After": "60"}}, ok(oneSeries))
	at := &clock{now: time.Unix(1000, 0)}
	c := f.client(func(c *Config) { c.Now = at.Now })
	_, err := instant(t, c)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, time.Minute, e.Retry)
	at.add(40 * time.Second)
	_, err = instant(t, c)
	require.Equal(t, ClassOverload, ClassOf(err))
	require.ErrorContains(t, err, "another 20s")
	require.Len(t, f.requests(), 1)
	at.add(20 * time.Second)
	_, err = instant(t, c)
	require.NoError(t, err)
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                              0,
		"5":                             5 * time.Second,
		" 7 ":                           7 * time.Second,
		"-1":                            0,
		"soon":                          0,
		"999999999":                     time.Hour,
		"Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second,
		"Thu, 01 Jan 2025 00:00:30 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(text, now), text)
	}
}

func TestBackoffGrowsAndEnds(t *testing.T) {
	b := backoff{rand: func() float64 { return 1 }}
	now := time.Unix(0, 0)
	var waits []time.Duration
	for range 9 {
		b.hit(now, 0)
		b.hit(now, 0) // of requests that were on their way together
		waits = append(waits, b.until.Sub(now))
		now = b.until
	}
	sec := time.Second
	require.Equal(t, []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 60 * sec, 60 * sec, 60 * sec}, waits)
}
