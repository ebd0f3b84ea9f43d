package alertmanager

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

// TestNameWithSeveralAddresses checks that all addresses of a name get all
// alerts, also those that appear later.
func TestNameWithSeveralAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes := map[string]*fake{"10.0.0.1": newFake(t, time.Now), "10.0.0.2": newFake(t, time.Now), "10.0.0.3": newFake(t, time.Now)}
		var mu sync.Mutex
		addrs, fail := []string{"10.0.0.1", "10.0.0.2"}, false
		target := Target{Name: "am", URL: "http://am.example:9093/x", ResolveAll: true, NewTransport: func(dial DialFunc) (http.RoundTripper, error) {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				require.Equal(t, "am.example:9093", r.URL.Host, "the name stays for Host header and certificate")
				if dial == nil {
					return nil, errors.New("not pinned")
				}
				ctx, cancel := context.WithCancel(r.Context())
				cancel()
				_, err := dial(ctx, "tcp", r.URL.Host)
				var op *net.OpError
				require.ErrorAs(t, err, &op)
				return fakes[op.Addr.(*net.TCPAddr).IP.String()].RoundTrip(r)
			}), nil
		}}
		r := start(t, nil, func(o *Options) {
			o.Lookup = func(context.Context, string) ([]string, error) {
				mu.Lock()
				defer mu.Unlock()
				if fail {
					return nil, errors.New("no such host")
				}
				return addrs, nil
			}
		}, target)
		r.tick(3, down("a"))
		require.Len(t, fakes["10.0.0.1"].firing(), 1)
		require.Len(t, fakes["10.0.0.2"].firing(), 1)
		mu.Lock()
		addrs = []string{"10.0.0.2", "10.0.0.3"}
		mu.Unlock()
		r.tick(5, down("a"))
		require.Len(t, fakes["10.0.0.3"].firing(), 1)
		require.Len(t, r.n.Members(), 2)
		n := fakes["10.0.0.1"].count()
		mu.Lock()
		fail = true
		mu.Unlock()
		r.tick(20, down("a"))
		require.Equal(t, n, fakes["10.0.0.1"].count(), "its sender is gone")
		require.Len(t, fakes["10.0.0.2"].firing(), 1, "a failed look-up changes nothing")
		require.NotZero(t, testutil.ToFloat64(r.n.metrics.lookupFailures.WithLabelValues("am")))
	})
}
