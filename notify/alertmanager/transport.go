package alertmanager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// keptBody is how much of an answer is kept for messages.
const keptBody = 1024

// maxAnswer bounds what is read of one answer, whatever the server sends. Our
// own alerts are all that is asked for: 5,000 of them at 8 KB each are 40 MB.
const maxAnswer = 64 << 20

// answer is what the transport saw. The generated client loses the body of
// most errors and takes a login page for success, so its errors are not asked.
type answer struct {
	status     int
	retryAfter time.Duration
	body       string // the first bytes, for errors
	html       bool   // success with a page instead of data
	date       time.Time
}

type answerKey struct{}

func withAnswer(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

var errContent = errors.New("answer is not from Alertmanager")

// guard is the one transport between the generated client and a member.
type guard struct {
	next      http.RoundTripper
	userAgent string
	now       func() time.Time
	observe   func(code int, d time.Duration)
}

// RoundTrip sends a request and notes what came back.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", g.userAgent)
	start := g.now()
	resp, err := g.next.RoundTrip(req)
	a, _ := req.Context().Value(answerKey{}).(*answer)
	if a == nil {
		a = &answer{}
	}
	if err != nil {
		g.observe(0, g.now().Sub(start))
		return nil, err
	}
	g.observe(resp.StatusCode, g.now().Sub(start))
	a.status = resp.StatusCode
	a.date, _ = http.ParseTime(resp.Header.Get("Date")) // zero if absent
	a.retryAfter = retryAfter(resp.Header.Get("Retry-After"), g.now())
	if resp.StatusCode/100 == 2 && g.isData(resp) {
		resp.Body = limited{io.LimitReader(resp.Body, maxAnswer), resp.Body}
		return resp, nil
	}
	head, _ := io.ReadAll(io.LimitReader(resp.Body, keptBody)) // a part is as good
	resp.Body.Close()
	a.body = strings.ToValidUTF8(string(head), "\uFFFD")
	if resp.StatusCode/100 == 2 {
		a.html = true
		return nil, fmt.Errorf("%w: status %d with content type %q", errContent, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	resp.Body = io.NopCloser(bytes.NewReader(head))
	return resp, nil
}

// CloseIdleConnections is called by the HTTP client.
func (g *guard) CloseIdleConnections() {
	if c, ok := g.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// isData says that a success is empty or JSON. It peeks at the body: an empty
// one may carry any content type.
func (g *guard) isData(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/json" || strings.HasSuffix(kind, "+json") {
		return true
	}
	first := make([]byte, 1)
	n, err := io.ReadFull(resp.Body, first)
	resp.Body = limited{io.MultiReader(bytes.NewReader(first[:n]), resp.Body), resp.Body}
	return n == 0 && errors.Is(err, io.EOF)
}

type limited struct {
	io.Reader
	io.Closer
}

// retryAfter reads the header in both of its forms, bounded to five minutes: a
// server may not silence us for a day.
func retryAfter(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	d, err := time.ParseDuration(header + "s")
	if err != nil {
		at, err := http.ParseTime(header)
		if err != nil {
			return 0
		}
		d = at.Sub(now)
	}
	return min(max(d, 0), 5*time.Minute)
}
