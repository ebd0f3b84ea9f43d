package promapi

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	promconfig "github.com/prometheus/common/config"
)

// transport is what requests go through below api.Client: it adds headers, and
// hands bodies to the caller. api.Client reads a body into memory as a whole,
// which for wide answers would be the largest thing there; so it gets to see an
// empty one, and the decoder reads the real one as it arrives.
type transport struct {
	make    func() (http.RoundTripper, error)
	current atomic.Pointer[http.RoundTripper]
	mu      sync.Mutex // held while renewing
	headers http.Header
}

func (t *transport) init(cfg Config) error {
	t.headers = http.Header{"User-Agent": {strings.TrimSuffix("collwatch/"+cfg.Version, "/")}}
	if cfg.Gzip {
		t.headers.Set("Accept-Encoding", "gzip")
	} else {
		t.headers.Set("Accept-Encoding", "identity")
	}
	if name := cfg.Kind.header(cfg); name != "" && !configured(cfg.HTTP, name) {
		t.headers.Set(name, cfg.Tenant)
	}
	t.make = func() (http.RoundTripper, error) {
		if cfg.RoundTripper != nil {
			return cfg.RoundTripper, nil
		}
		h := promconfig.DefaultHTTPClientConfig
		if cfg.HTTP != nil {
			h = *cfg.HTTP
		}
		var opts []promconfig.HTTPClientOption
		if cfg.Dial != nil {
			opts = append(opts, promconfig.WithDialContextFunc(cfg.Dial))
		}
		return promconfig.NewRoundTripperFromConfig(h, "source_"+cfg.Name, opts...)
	}
	return t.renew()
}

func configured(h *promconfig.HTTPClientConfig, name string) bool {
	if h == nil || h.HTTPHeaders == nil {
		return false
	}
	for n := range h.HTTPHeaders.Headers {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// renew makes the round tripper anew, so that secrets are read again and cached
// tokens are dropped.
func (t *transport) renew() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	rt, err := t.make()
	if err != nil {
		return err
	}
	if old := t.current.Swap(&rt); old != nil {
		closeIdle(*old)
	}
	return nil
}

func (t *transport) closeIdle() { closeIdle(*t.current.Load()) }

func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type bodyKey struct{}

// withBody returns a context whose request leaves its body in the returned
// place, where it is nil if there was no answer.
func withBody(ctx context.Context) (context.Context, *io.ReadCloser) {
	body := new(io.ReadCloser)
	return context.WithValue(ctx, bodyKey{}, body), body
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	maps.Copy(req.Header, t.headers)
	resp, err := (*t.current.Load()).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, ok := req.Context().Value(bodyKey{}).(*io.ReadCloser)
	if redirect := resp.StatusCode/100 == 3 && resp.Header.Get("Location") != ""; ok && !redirect {
		if *body != nil {
			_ = (*body).Close()
		}
		*body, resp.Body = resp.Body, http.NoBody
	}
	return resp, nil
}
