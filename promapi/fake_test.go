package promapi

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is one scripted answer of the fake.
type reply struct {
	status int
	header map[string]string
	body   string
	// write replaces all of the above.
	write func(w http.ResponseWriter, r *http.Request)
}

// fake is a server that is strict about what it is asked and answers by script:
// one reply after the other, the last one for ever.
type fake struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	script  []reply
	asked   []asked
	running int
	peak    int
}

type asked struct {
	method, path string
	form         url.Values
	header       http.Header
}

func newFake(t testing.TB, script ...reply) *fake {
	t.Helper()
	f := &fake{t: t, script: script}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		f.t.Errorf("form: %v", err)
	}
	f.check(r)
	f.mu.Lock()
	f.asked = append(f.asked, asked{r.Method, r.URL.Path, r.Form, r.Header})
	now := f.script[0]
	if len(f.script) > 1 {
		f.script = f.script[1:]
	}
	f.running++
	f.peak = max(f.peak, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if now.write != nil {
		now.write(w, r)
		return
	}
	for name, value := range now.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(now.status)
	_, _ = io.WriteString(w, now.body)
}

// check reports what a polite client does not send.
func (f *fake) check(r *http.Request) {
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		f.t.Errorf("POST with content type %q", r.Header.Get("Content-Type"))
	}
	if r.Method == http.MethodPost && r.URL.RawQuery != "" {
		f.t.Errorf("POST with parameters in the URL: %s", r.URL)
	}
	if ua := r.Header.Get("User-Agent"); ua != "collwatch/1.2.3" {
		f.t.Errorf("user agent %q", ua)
	}
	for _, name := range []string{"query", "time", "start", "end", "step", "timeout"} {
		if n := len(r.Form[name]); n > 1 {
			f.t.Errorf("parameter %s is sent %d times", name, n)
		}
	}
}

func (f *fake) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]asked(nil), f.asked...)
}

// client returns a Client of the fake; edit may be nil.
func (f *fake) client(edit func(*Config)) *Client {
	f.t.Helper()
	cfg := Config{Name: "src", URL: f.URL, Version: "1.2.3", Limits: Limits{RequestsPerSecond: 1e6}}
	if edit != nil {
		edit(&cfg)
	}
	c, err := New(cfg)
	require.NoError(f.t, err)
	f.t.Cleanup(c.Close)
	return c
}

func ok(result string) reply { return reply{status: 200, body: answer("vector", result)} }

func apiError(status int, kind, text string) reply {
	return reply{status: status, body: fmt.Sprintf(`{"status":"error","errorType":%q,"error":%q}`, kind, text)}
}

const oneSeries = `[{"metric":{"__name__":"up"},"value":[100,"1"]}]`

var evalTime = time.Unix(100, 0)

func instant(t testing.TB, c *Client) (*Result, error) {
	t.Helper()
	var r Result
	err := c.Instant(t.Context(), "up", evalTime, &r)
	return &r, err
}

func gzipped(body string) reply {
	return reply{write: func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			http.Error(w, "gzip was not offered", http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		_, _ = io.WriteString(zw, body)
		_ = zw.Close()
	}}
}

// hangUp breaks the connection after part of the body.
func hangUp(body string) reply {
	return reply{write: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, body)
		panic(http.ErrAbortHandler)
	}}
}
