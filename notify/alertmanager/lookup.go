package alertmanager

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

// memberSet runs the members of one target: one, or one for each address of
// its name. Alertmanagers gossip silences but not alerts, so each needs all.
type memberSet struct {
	n      *Notifier
	target Target
}

// check builds a member that is thrown away, so that a mistake in the settings
// is known at start.
func (s *memberSet) check() error {
	m, err := newMember(s.target.Name, s.target, nil, &s.n.opts, s.n.metrics)
	if err != nil {
		return err
	}
	m.client.close()
	s.n.metrics.lookupFailures.WithLabelValues(s.target.Name) // a rule on it must not meet nothing
	return nil
}

// run keeps the members until ctx ends.
func (s *memberSet) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	if !s.target.ResolveAll {
		s.start(ctx, &wg, s.target.Name, nil)
		return
	}
	stops := map[string]context.CancelFunc{} // by address
	tick := time.NewTicker(s.n.opts.LookupInterval)
	defer tick.Stop()
	for {
		s.renew(ctx, &wg, stops)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// renew looks the name up and starts and stops members. A failed look-up
// changes nothing.
func (s *memberSet) renew(ctx context.Context, wg *sync.WaitGroup, stops map[string]context.CancelFunc) {
	u, err := url.Parse(s.target.URL)
	if err != nil {
		return // checked at start
	}
	ctxLookup, cancel := context.WithTimeout(ctx, s.target.Timeout)
	addrs, err := s.n.opts.Lookup(ctxLookup, u.Hostname())
	cancel()
	if err != nil || len(addrs) == 0 {
		if ctx.Err() == nil {
			s.n.metrics.lookupFailures.WithLabelValues(s.target.Name).Inc()
			s.n.opts.Logger.Warn("alertmanager name cannot be resolved, its known members stay", "target", s.target.Name, "err", err)
		}
		return
	}
	for addr, stop := range stops {
		if !slices.Contains(addrs, addr) {
			stop()
			delete(stops, addr)
		}
	}
	for _, addr := range addrs {
		if stops[addr] != nil {
			continue
		}
		one, stop := context.WithCancel(ctx)
		stops[addr] = stop
		s.start(one, wg, s.target.Name+"/"+addr, pin(addr))
	}
}

// pin dials one address whatever the name resolves to; the name stays in the
// Host header and in the check of the certificate.
func pin(addr string) DialFunc {
	d := &net.Dialer{Timeout: 10 * time.Second}
	return func(ctx context.Context, network, hostport string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, err
		}
		return d.DialContext(ctx, network, net.JoinHostPort(addr, port))
	}
}

func (s *memberSet) start(ctx context.Context, wg *sync.WaitGroup, name string, dial DialFunc) {
	m, err := newMember(name, s.target, dial, &s.n.opts, s.n.metrics)
	if err != nil {
		s.n.opts.Logger.Error("alertmanager member cannot be started", "target", name, "err", err)
		return
	}
	s.n.mu.Lock()
	s.n.members = append(s.n.members, m)
	m.set(s.n.want, s.n.records[m.deliveryName()])
	s.n.mu.Unlock()
	wg.Go(func() {
		m.run(ctx)
		s.n.mu.Lock()
		s.n.members = slices.DeleteFunc(s.n.members, func(o *member) bool { return o == m })
		s.n.mu.Unlock()
		s.n.metrics.forget(name)
	})
}
