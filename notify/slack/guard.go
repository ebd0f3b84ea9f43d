package slack

import (
	"bufio"
	"io"
	"net/http"
)

// maxAnswer bounds what is read of one answer: a page of a busy channel's
// history has a few megabytes.
const maxAnswer = 32 << 20

// guarded is a client that reads no more than maxAnswer of any answer and never
// follows a redirect: the form of a call holds the token, and it would travel
// along to whatever host the answer names.
func guarded(c *http.Client) *http.Client {
	g := *c
	g.Transport = bounded{g.Transport}
	g.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &g
}

type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(resp.Body, maxAnswer))
	resp.Body = body{in, resp.Body}
	if resp.StatusCode/100 == 2 && isPage(in) {
		_ = resp.Body.Close()
		return nil, &apiError{class: classNetwork, code: "a page instead of an answer, perhaps a proxy's login page"}
	}
	return resp, nil
}

// isPage says that an answer is one for people. Slack's are JSON, or "ok" of a
// webhook, whatever the content type says; the library takes any 200 of a webhook
// for a success.
func isPage(in *bufio.Reader) bool {
	for n := 1; n <= 256; n++ {
		head, err := in.Peek(n)
		if err != nil {
			return false
		}
		if c := head[n-1]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c == '<'
		}
	}
	return false
}

// CloseIdleConnections is called by the HTTP client.
func (b bounded) CloseIdleConnections() {
	if c, ok := b.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type body struct {
	io.Reader
	io.Closer
}
