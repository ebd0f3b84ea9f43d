package realserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	readyTimeout = 4 * time.Minute // a large write-ahead log on a busy machine
	pollEvery    = 50 * time.Millisecond
	bindTries    = 3
)

// Server is a running server.
type Server struct {
	// URL of the server, without a slash at the end.
	URL string
	// Dir holds its data; it outlives Kill and Restart.
	Dir string
	// Cluster is the address for peers, of Alertmanager only.
	Cluster string

	t     testing.TB
	bin   string
	args  []string
	ready string // path that answers 2xx when the server is ready
	log   output

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

// start runs bin with the flags that args gives for a port, until it is ready.
// The test ends it; if the test fails, its log is shown.
func start(t testing.TB, bin, ready string, args func(s *Server, port string) []string) *Server {
	t.Helper()
	s := &Server{t: t, bin: bin, ready: ready, Dir: t.TempDir()}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", bin, s.Log())
		}
	})
	// Between finding a free port and binding it somebody else may take it.
	for try := 1; ; try++ {
		port := FreePort(t)
		s.URL = "http://127.0.0.1:" + port
		s.args = args(s, port)
		s.run()
		err := s.awaitReady()
		if err == nil {
			return s
		}
		s.Kill()
		if try == bindTries || !strings.Contains(s.Log(), "address already in use") {
			require.NoError(t, err, "start %s", bin)
		}
	}
}

func (s *Server) run() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd = exec.Command(s.bin, s.args...)
	s.cmd.Dir = s.Dir
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.done = make(chan struct{})
	require.NoError(s.t, s.cmd.Start())
	cmd, done := s.cmd, s.done
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+s.ready, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode/100 == 2 {
				return nil
			}
		}
		select {
		case <-s.done:
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("it was not ready within %s", readyTimeout)
		case <-time.After(pollEvery):
		}
	}
}

// Kill ends the server as a crash would, and waits for its end. It may be
// called twice.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// Restart starts a killed server again, with the same port, flags and data.
func (s *Server) Restart() {
	s.t.Helper()
	s.run()
	require.NoError(s.t, s.awaitReady(), "restart %s", s.bin)
}

// Pid is the number of the process.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd.Process.Pid
}

// Log is what the server wrote to its outputs so far.
func (s *Server) Log() string { return s.log.String() }

// FreePort returns a loopback TCP port that nobody listens on now.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// output keeps the end of what a process writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const keepOutput = 256 << 10

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() > keepOutput {
		o.buf.Next(o.buf.Len() - keepOutput/2)
	}
	return o.buf.Write(p)
}

// String returns what is kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
