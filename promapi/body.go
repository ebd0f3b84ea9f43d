package promapi

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

const (
	headSize     = 1 << 10  // kept of a body that is not understood
	maxErrorBody = 64 << 10 // read of the body of an error
)

var errBodyTooLarge = errors.New("the answer is larger than the limit")

// body reads an answer: unpacks it, counts it, keeps its beginning for
// messages, and ends with errBodyTooLarge above the limit.
type body struct {
	r     io.Reader
	n     int64
	limit int64
	head  []byte
}

func newBody(resp *http.Response, raw io.Reader, limit int64) (*body, error) {
	b := &body{r: raw, limit: limit}
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		zr, err := gzip.NewReader(raw)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		b.r = zr
	}
	return b, nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if left := b.limit + 1 - b.n; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	if len(b.head) < headSize {
		b.head = append(b.head, p[:min(n, headSize-len(b.head))]...)
	}
	if b.n > b.limit {
		return n, fmt.Errorf("%w of %d bytes", errBodyTooLarge, b.limit)
	}
	return n, err
}

var (
	invisible = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)>|$)|<[^>]*(>|$)`)
	// secretish matches what login pages and proxies put into bodies.
	secretish = regexp.MustCompile(`(?i)((?:token|secret|password|passwd|session|csrf|key|signature|authorization|cookie)[\w-]*"?\s*[=:]\s*"?(?:bearer\s+|basic\s+)?)[^\s"'&<>;,]+`)
	userinfo  = regexp.MustCompile(`://[^/\s@]*@`)
)

// gist returns what a person would read of a body that is no answer of the API,
// in one line and without secrets.
func gist(head []byte) string {
	s := invisible.ReplaceAllString(strings.ToValidUTF8(string(head), "?"), " ")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	return redact(strings.Join(strings.Fields(s), " "))
}

// redact hides what looks like a secret in a text from outside.
func redact(s string) string {
	s = userinfo.ReplaceAllString(s, "://***@")
	return secretish.ReplaceAllString(s, "${1}***")
}
