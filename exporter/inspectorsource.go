package exporter

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Bounds of following logs.
const (
	maxLogs       = 512
	maxLogLine    = 1 << 20 // verbose records have a list of channels
	maxLogRead    = 32 << 20
	logPoll       = 2 * time.Second
	logForgetTime = time.Hour // a log without news for so long is of a job that is gone
)

// InspectorLogs follows the JSON logs of NVIDIA Inspector, for nodes where that plugin has NCCL's one slot. It serves the
// per-rank metrics of finished operations; what is enqueued, running or stuck is not in those logs.
type InspectorLogs struct {
	dir    string
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex
	logs    map[string]*inspectorLog
	started bool
	failed  string
	badLine uint64
}

type inspectorLog struct {
	inode   os.FileInfo
	offset  int64
	partial []byte
	skip    bool // in a line that is too long
	news    time.Time
	job     string
	process inspectorProcess
}

// NewInspectorLogs follows DIR/*.log and DIR/*/*.log; a folder's name gives the job.
func NewInspectorLogs(dir string, logger *slog.Logger) *InspectorLogs {
	return &InspectorLogs{dir: dir, logger: logger, now: time.Now, logs: map[string]*inspectorLog{}}
}

// Run follows the logs until the context ends.
func (s *InspectorLogs) Run(ctx context.Context) error {
	t := time.NewTicker(logPoll)
	defer t.Stop()
	for {
		s.Poll()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// Poll reads what was added since the last time.
func (s *InspectorLogs) Poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := os.ReadDir(s.dir)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != s.failed {
		s.failed = text
		if err != nil {
			s.logger.Warn("cannot read the folder of NVIDIA Inspector's logs", "dir", s.dir, "err", err)
		}
	}
	seen := map[string]bool{}
	for _, pattern := range []string{"*.log", "*/*.log"} {
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), pattern)) // the only error is a bad pattern
		for _, path := range paths {
			seen[path] = true
			s.follow(path)
		}
	}
	for path, l := range s.logs {
		if !seen[path] || s.now().Sub(l.news) > logForgetTime {
			delete(s.logs, path)
		}
	}
	s.started = true
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// follow reads the new part of one log. A log that existed before the exporter is read from its end: counters begin with
// the exporter. A log that was replaced or shortened is read from its beginning, and its counters go on.
func (s *InspectorLogs) follow(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || s.now().Sub(info.ModTime()) > logForgetTime {
		return
	}
	l := s.logs[path]
	if l == nil {
		if len(s.logs) >= maxLogs {
			return
		}
		l = &inspectorLog{inode: info, news: s.now(), job: s.jobOf(path)}
		if !s.started {
			l.offset, l.skip = info.Size(), !endsLine(path, info.Size())
		}
		s.logs[path] = l
	}
	if !os.SameFile(l.inode, info) || info.Size() < l.offset {
		l.offset, l.partial, l.skip = 0, nil, false
	}
	l.inode = info
	if info.Size() == l.offset {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	l.news = s.now()
	s.take(l, io.NewSectionReader(f, l.offset, maxLogRead))
}

// endsLine says whether the log's next byte begins a line.
func endsLine(path string, size int64) bool {
	if size == 0 {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	var last [1]byte
	_, err = f.ReadAt(last[:], size-1)
	return err == nil && last[0] == '\n'
}

// take splits into lines; the last one may be half written and waits for the rest.
func (s *InspectorLogs) take(l *inspectorLog, r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		l.offset += int64(n)
		chunk := buf[:n]
		for {
			i := bytes.IndexByte(chunk, '\n')
			if i < 0 {
				break
			}
			if !l.skip {
				s.line(l, append(l.partial, chunk[:i]...))
			}
			l.partial, l.skip, chunk = l.partial[:0], false, chunk[i+1:]
		}
		switch {
		case l.skip:
		case len(l.partial)+len(chunk) > maxLogLine:
			l.partial, l.skip = l.partial[:0], true
			s.badLine++
		default:
			l.partial = append(l.partial, chunk...)
		}
		if err != nil {
			return
		}
	}
}

func (s *InspectorLogs) line(l *inspectorLog, b []byte) {
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return
	}
	if err := l.process.line(b); err != nil {
		s.badLine++
	}
}

// jobOf takes the job from the folder: the Inspector's default is nccl-inspector-<Slurm job id>.
func (s *InspectorLogs) jobOf(path string) string {
	dir := filepath.Dir(path)
	if dir == filepath.Clean(s.dir) {
		return ""
	}
	job := strings.TrimPrefix(filepath.Base(dir), "nccl-inspector-")
	if strings.HasPrefix(job, "unknown") {
		return ""
	}
	return strings.ToValidUTF8(job, "\uFFFD")
}

// Collect serves what the logs said so far.
func (s *InspectorLogs) Collect(out *Samples) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := out.b
	ignored := s.badLine
	for _, path := range sortedKeys(s.logs) {
		l := s.logs[path]
		ignored += l.process.ignored
		o := &Observation{Process: Process{JobID: l.job, PID: bounded(l.process.pid), GlobalRank: -1, LocalRank: -1}, Alive: true}
		for i := range l.process.comms {
			b.comm(o, &l.process.comms[i])
		}
		b.heartbeat(o, float64(l.process.last)*1e-6)
	}
	b.out.counter(&family{"collwatch_exporter_inspector_lines_ignored_total", "Lines of NVIDIA Inspector's logs that could not be used.", dto.MetricType_COUNTER},
		nil, float64(ignored))
	b.out.gauge(&family{"collwatch_exporter_inspector_logs", "Logs of NVIDIA Inspector that are followed.", dto.MetricType_GAUGE}, nil, float64(len(s.logs)))
}
