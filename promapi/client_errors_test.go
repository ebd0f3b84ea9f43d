package promapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each kind of bad answer has its class, and so many requests are sent for it.
func TestClassesOfAnswers(t *testing.T) {
	html := "<html><head><style>x{}</style><title>Sign in</title></head><body>token=abc123 <b>please</b></body></html>"
	for name, c := range map[string]struct {
		reply    reply
		class    Class
		requests int
		says     string
	}{
		"bad expression":        {apiError(400, "bad_data", `invalid parameter "query": 1:3: parse error: unexpected "limit" of series`), ClassConfig, 1, "parse error"},
		"unauthorized":          {reply{status: 401, body: "who are you"}, ClassConfig, 2, "who are you; look at the password, token or tenant"},
		"forbidden":             {reply{status: 403}, ClassConfig, 4, "Forbidden; look at the password"}, // POST and GET, each twice
		"not found":             {reply{status: 404, body: html}, ClassConfig, 1, "without /api/v1?"},
		"too many points":       {apiError(400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"), ClassTooMany, 1, "11,000"},
		"too many samples":      {apiError(422, "execution", "query processing would load too many samples into memory in query execution"), ClassTooExpensive, 1, "too many samples"},
		"a limit of Mimir":      {apiError(400, "bad_data", "the query exceeded the maximum number of chunks (limit: 2000000 chunks) (err-mimir-max-chunks-per-query)"), ClassTooExpensive, 1, "chunks"},
		"a limit of Thanos":     {apiError(500, "internal", "exceeded series limit: limit 10 violated"), ClassTooExpensive, 1, "series limit"},
		"a limit of VM":         {apiError(422, "422", "cannot select more than -search.maxSamplesPerQuery=1000000000 samples"), ClassTooExpensive, 1, "maxSamples"},
		"too many requests":     {reply{status: 429, header: map[string]string{"Retry-After": "3600"}, body: "slow down"}, ClassOverload, 1, "slow down"},
		"unavailable":           {reply{status: 503, header: map[string]string{"Retry-After": "3600"}, body: "no healthy upstream"}, ClassOverload, 1, "upstream"},
		"time-out of server":    {apiError(503, "timeout", "query timed out in expression evaluation"), ClassSlow, 1, "timed out"},
		"time-out of gateway":   {reply{status: 504, body: html}, ClassSlow, 1, "Sign in"},
		"internal error":        {apiError(500, "internal", "boom"), ClassTransport, 2, "boom"},
		"bad gateway":           {reply{status: 502, body: html}, ClassTransport, 2, "Bad Gateway"},
		"cut body":              {hangUp(answer("vector", oneSeries)[:80]), ClassTransport, 2, ""},
		"cut before the body":   {hangUp(""), ClassTransport, 2, ""},
		"HTML with 200":         {reply{status: 200, body: html}, ClassNotJSON, 1, "Sign in"},
		"text with 200":         {reply{status: 200, body: "OK"}, ClassNotJSON, 1, "OK"},
		"other JSON with 200":   {reply{status: 200, body: `{"hello":"world"}`}, ClassNotJSON, 1, "hello"},
		"empty body with 200":   {reply{status: 200}, ClassTransport, 2, "breaks off"},
		"error with 200":        {apiError(200, "execution", "expanding series: something"), ClassTooExpensive, 1, "expanding"},
		"string result":         {reply{status: 200, body: answer("string", `[1,"x"]`)}, ClassConfig, 1, "string"},
		"warnings":              {reply{status: 200, body: `{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["store gone"]}`}, ClassIncomplete, 1, "store gone"},
		"partial":               {reply{status: 200, body: `{"status":"success","isPartial":true,"data":{"resultType":"vector","result":` + oneSeries + `}}`}, ClassIncomplete, 1, "partial"},
		"redirect to elsewhere": {reply{status: 307, header: map[string]string{"Location": "http://other.example/api/v1/query?token=abc123"}}, ClassConfig, 1, "http://other.example/api/v1/query:"},
		"redirect to login":     {reply{status: 302, header: map[string]string{"Location": "/login?next=x"}}, ClassConfig, 1, "/login"},
		"redirect to nowhere":   {reply{status: 301}, ClassConfig, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, c.reply)
			cl := f.client(nil)
			_, err := instant(t, cl)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.class, e.Class, "%v", err)
			require.Equal(t, "src", e.Source)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "abc123", "no secret in errors")
			require.NotContains(t, err.Error(), "<", "no markup in errors")
			require.Len(t, f.requests(), c.requests)
		})
	}
}

func TestIncompleteKeepsTheData(t *testing.T) {
	f := newFake(t, reply{status: 200, body: `{"status":"success","data":{"resultType":"vector","result":` + oneSeries + `},"warnings":["PromQL info: metric might not be a counter","store gone"],"infos":["hint"]}`})
	r, err := instant(t, f.client(nil))
	require.Equal(t, ClassIncomplete, ClassOf(err))
	require.Equal(t, 1, r.Len())
	require.Equal(t, []string{"store gone"}, r.Warnings)
	require.Equal(t, []string{"hint", "PromQL info: metric might not be a counter"}, r.Infos)
}

func TestInfosDoNotMarkTheAnswer(t *testing.T) {
	f := newFake(t, reply{status: 200, body: `{"status":"success","data":{"resultType":"vector","result":` + oneSeries + `},"warnings":["PromQL info: x"]}`})
	r, err := instant(t, f.client(nil))
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
	require.Equal(t, []string{"PromQL info: x"}, r.Infos)
}

func TestOneRetryHelps(t *testing.T) {
	for name, first := range map[string]reply{
		"5xx":           {status: 500},
		"cut":           hangUp(`{"status"`),
		"unauthorized":  {status: 401},
		"soon possible": {status: 429, header: map[string]string{"Retry-After": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, first, ok(oneSeries))
			r, err := instant(t, f.client(func(c *Config) { c.Rand = func() float64 { return -1 } }))
			require.NoError(t, err)
			require.Equal(t, 1, r.Len())
			require.Len(t, f.requests(), 2)
		})
	}
}

func TestSlowServer(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	f := newFake(t, reply{write: func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}})
	// The client waits a second longer than it tells the server.
	c := f.client(func(c *Config) { c.Timeout, c.Interval = time.Hour, 50*time.Millisecond })
	_, err := instant(t, c)
	require.Equal(t, ClassSlow, ClassOf(err))
	require.Len(t, f.requests(), 1, "no retry in this cycle")
	require.Equal(t, "0.05", f.requests()[0].form.Get("timeout"))

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Equal(t, ClassSlow, ClassOf(c.Instant(ctx, "up", evalTime, new(Result))))
}

func TestCancelledByTheCaller(t *testing.T) {
	asked := make(chan struct{})
	f := newFake(t, reply{write: func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}})
	c := f.client(nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	err := c.Instant(ctx, "up", evalTime, new(Result))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, c.breaker.fails, "the server is not to blame")
}

func TestNobodyThere(t *testing.T) {
	f := newFake(t, reply{})
	address := strings.Replace(f.URL, "http://", "http://user:pa55@", 1)
	f.Close()
	c := f.client(func(c *Config) { c.URL = address + "/prefix?token=abc123" })
	_, err := instant(t, c)
	require.Equal(t, ClassTransport, ClassOf(err))
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "pa55")
	require.NotContains(t, err.Error(), "abc123")
}

func TestBodyAboveTheLimit(t *testing.T) {
	var sent int64
	f := newFake(t, reply{write: func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"result":[`)
		for i := 0; ; i++ {
			n, err := fmt.Fprintf(w, `{"metric":{"n":"%d"},"value":[1,"1"]},`, i)
			sent += int64(n)
			if err != nil || sent > 1<<28 {
				return
			}
		}
	}})
	r, err := instant(t, f.client(func(c *Config) { c.Limits.MaxBody = 1 << 16 }))
	require.Equal(t, ClassTooExpensive, ClassOf(err))
	require.ErrorContains(t, err, "65536 bytes")
	require.Zero(t, r.Len())
	f.Close()
	require.Less(t, sent, int64(1<<27), "reading stops at the limit")
}

func TestBombIsNoLargerThanTheLimit(t *testing.T) {
	f := newFake(t, gzipped(`{"status":"success","error":"`+strings.Repeat("x", 1<<20)))
	_, err := instant(t, f.client(func(c *Config) { c.Gzip, c.Limits.MaxBody = true, 1<<18 }))
	require.Equal(t, ClassTooExpensive, ClassOf(err))
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no url":       {},
		"no host":      {URL: "http://"},
		"other scheme": {URL: "ftp://user:pa55@host"},
		"not a url":    {URL: "http://user:pa55@host:port"},
		"kind":         {URL: "http://host", Kind: "influx"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(cfg)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "pa55")
		})
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("cause")
	err := &Error{Class: ClassSlow, Source: "a", Status: 504, Msg: "late", Err: cause}
	require.EqualError(t, err, `source "a": slow (HTTP 504): late`)
	require.ErrorIs(t, err, cause)
	require.Equal(t, "class(99)", Class(99).String())
	require.Equal(t, ClassUnknown, ClassOf(cause))
}
