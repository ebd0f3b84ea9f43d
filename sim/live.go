package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Live runs a cluster made with Options.Live beside a real clock, for real
// servers to scrape.
type Live struct {
	// Now is the clock. The cluster's Start is the instant at which the
	// simulation is at 0.
	Now func() time.Time

	mu sync.Mutex
	c  *Cluster
	// written is the state of each file as it was written last.
	written map[string]float64
}

// NewLive wraps c, which belongs to the Live from then on.
func NewLive(c *Cluster, now func() time.Time) *Live {
	c.render = func([]string, float64) {}
	return &Live{Now: now, c: c, written: map[string]float64{}}
}

// Inject adds a fault that starts the given time from now.
func (l *Live) Inject(f Fault, in time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.advance(context.Background()); err != nil {
		return err
	}
	f.Start += l.Now().Add(in).Sub(l.c.Start()).Seconds()
	if f.End > 0 {
		f.End += f.Start
	}
	l.c.Inject(f)
	return nil
}

func (l *Live) advance(ctx context.Context) error { return l.c.Run(ctx, l.Now().Sub(l.c.Start())) }

// Follow keeps the text files under dir up to date until ctx ends, looking every
// interval. It returns the first error, nil at the end of ctx.
func (l *Live) Follow(ctx context.Context, dir string, perHost bool, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := l.Files(ctx, dir, perHost); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Files brings the profiler's text files up to now: one per GPU, either in dir,
// as if one node exporter served the files of all hosts, or in a folder per
// host. A file is truncated and rewritten in place as the real profiler does, so
// a reader can meet half of it; it is touched only when something completed.
func (l *Live) Files(ctx context.Context, dir string, perHost bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.advance(ctx); err != nil {
		return err
	}
	for _, h := range l.c.Hosts {
		into := dir
		if perHost {
			into = filepath.Join(dir, h.Name)
			if err := os.MkdirAll(into, 0o755); err != nil { //nolint:gosec // a node exporter of another user reads it
				return fmt.Errorf("folder of text files: %w", err)
			}
		}
		for i := range h.files {
			if err := l.file(&h.files[i], h, into); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Live) file(f *file, h *Host, dir string) error {
	if f.name == "" {
		return nil
	}
	path := filepath.Join(dir, filepath.Base(f.name))
	if l.written[path] == f.mtime {
		return nil
	}
	l.written[path] = f.mtime
	if f.mtime == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("unlink the text file of a job that ended: %w", err)
		}
		return nil
	}
	var b bytes.Buffer
	l.c.render = func(labels []string, v float64) { writeLine(&b, labels, v) }
	f.emit(h.node)
	l.c.render = func([]string, float64) {}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil { //nolint:gosec // as above
		return fmt.Errorf("rewrite a text file: %w", err)
	}
	return nil
}

func writeLine(b *bytes.Buffer, labels []string, v float64) {
	b.WriteString(labels[1])
	b.WriteString(labelText(labels[2:]))
	b.WriteByte(' ')
	b.Write(appendValue(nil, v))
	b.WriteByte('\n')
}

// ServeHTTP serves the targets of all hosts: /targets lists them for Prometheus'
// HTTP service discovery, /target/KIND/NAME is one of them. A target that is
// down answers 503.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.advance(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if r.URL.Path == "/targets" {
		l.serveTargets(w, r.Host)
		return
	}
	for _, t := range l.c.targets {
		if strings.TrimPrefix(r.URL.Path, "/target/") != t.path() {
			continue
		}
		if t.down != nil && t.down() {
			http.Error(w, "this exporter is down", http.StatusServiceUnavailable)
			return
		}
		var b bytes.Buffer
		l.c.render = func(labels []string, v float64) { writeLine(&b, labels, v) }
		t.emit(t, l.c.now)
		l.c.render = func([]string, float64) {}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(b.Bytes())
		return
	}
	http.NotFound(w, r)
}

func (t *target) path() string {
	name := "all"
	if t.host != nil {
		name = t.host.Name
	}
	return strings.ReplaceAll(t.kind, " ", "-") + "/" + name
}

func (l *Live) serveTargets(w http.ResponseWriter, host string) {
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	groups := make([]group, 0, len(l.c.targets))
	for _, t := range l.c.targets {
		groups = append(groups, group{[]string{host}, map[string]string{"__metrics_path__": "/target/" + t.path(), "job": t.job, "instance": t.instance}})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(groups)
}
