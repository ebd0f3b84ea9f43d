package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// hostNames of the parties in the simulated network.
const (
	prometheusHost   = "10.0.0.1:9090"
	alertmanagerHost = "10.0.0.2:9093"
	slackHost        = "10.0.0.3:80"
)

var errRefused = errors.New("connection refused")

// network joins daemons and servers by pipes, so that all of them live in
// simulated time and any of them can be cut off.
type network struct {
	mu      sync.Mutex
	servers map[string]*pipeListener
	down    map[string]bool
	conns   map[string][]net.Conn // by host
}

func newNetwork() *network {
	return &network{servers: map[string]*pipeListener{}, down: map[string]bool{}, conns: map[string][]net.Conn{}}
}

// serve answers for a host until stop is called.
func (n *network) serve(host string, h http.Handler) (stop func()) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	n.servers[host] = l
	srv := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	return func() { _ = srv.Close(); wg.Wait() }
}

// set cuts a host off, or brings it back.
func (n *network) set(host string, up bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down[host] = !up
	if !up {
		n.cut(host)
	}
}

func (n *network) cut(host string) {
	for _, c := range n.conns[host] {
		_ = c.Close()
	}
	delete(n.conns, host)
}

// process is the network as one process has it: with its death, all of its
// connections end.
func (n *network) process() (dial dialer, die func()) {
	p := &struct {
		sync.Mutex

		dead  bool
		conns []net.Conn
	}{}
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
			p.Lock()
			defer p.Unlock()
			if p.dead {
				return nil, errRefused
			}
			c, err := n.connect(ctx, addr)
			if err == nil {
				p.conns = append(p.conns, c)
			}
			return c, err
		}, func() {
			p.Lock()
			defer p.Unlock()
			p.dead = true
			for _, c := range p.conns {
				_ = c.Close()
			}
		}
}

func (n *network) connect(ctx context.Context, host string) (net.Conn, error) {
	n.mu.Lock()
	l, down := n.servers[host], n.down[host]
	n.mu.Unlock()
	if l == nil || down {
		return nil, errRefused
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
	case <-l.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[host] = append(n.conns[host], far)
	return near, nil
}

// pipeListener hands out the far ends of pipes.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error { l.once.Do(func() { close(l.closed) }); return nil }

// Addr implements net.Listener.
func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
