package exporter

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Options of an Exporter.
type Options struct {
	Dir      string        // COLLWATCH_DIR of the training processes
	Node     string        // value of the label node
	Grace    time.Duration // how long a dead process is shown
	ProcFS   string        // where the host's /proc is, usually /proc
	Limits   Limits
	Compat   bool // serve NVIDIA Inspector's names too
	Logger   *slog.Logger
	Registry *prometheus.Registry // the exporter's own metrics; it is gathered with the rest
	Sources  []Source
}

// Source is another origin of per-rank series, for nodes where another plugin has the one slot.
type Source interface {
	// Collect adds what the source knows. It must not block.
	Collect(s *Samples)
}

// Exporter reads the folder at every scrape. It is a prometheus.Gatherer.
type Exporter struct {
	options Options
	metrics *metrics
	own     *ownMetrics

	mu     sync.Mutex // one pass at a time: buffers and the table of files are shared
	store  *store
	compat *compat
	folder string // the last error of the folder, to log a change once
}

// New makes an Exporter. It opens nothing: a folder that is not there yet is no mistake.
func New(o Options) (*Exporter, error) {
	if o.Dir == "" || o.Node == "" || o.Registry == nil || o.Logger == nil {
		return nil, errors.New("exporter: Dir, Node, Registry and Logger are needed")
	}
	if o.ProcFS == "" {
		o.ProcFS = "/proc"
	}
	e := &Exporter{options: o, metrics: newMetrics(), store: newStore(o.Dir, o.Grace, o.ProcFS, hostClock)}
	e.own = newOwnMetrics(o.Registry)
	if o.Compat {
		e.compat = newCompat()
	}
	return e, nil
}

var _ prometheus.Gatherer = (*Exporter)(nil)

// Gather reads all files and returns everything there is to serve, the exporter's own metrics included.
func (e *Exporter) Gather() ([]*dto.MetricFamily, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	begin := time.Now()
	pass := e.store.pass()
	wall, mono := e.store.clock()
	b := newBuilder(e.metrics, e.options.Limits, e.options.Node)
	for i := range pass.Seen {
		b.process(&pass.Seen[i], float64(wall.UnixNano())*1e-9, mono)
	}
	if e.compat != nil {
		e.compat.build(pass.Seen, e.options.Node, mono, b.out)
	}
	for _, s := range e.options.Sources {
		s.Collect(&Samples{b: b})
	}
	b.totals()
	e.note(pass)
	e.own.update(pass, b, time.Since(begin))
	own, err := e.options.Registry.Gather()
	return merge(b.out.list(), own), err
}

// note logs when the folder becomes unreadable or readable again.
func (e *Exporter) note(p Pass) {
	now := ""
	if p.Err != nil {
		now = p.Err.Error()
	}
	if now == e.folder {
		return
	}
	e.folder = now
	if now == "" {
		e.options.Logger.Info("the data folder can be read again", "dir", e.options.Dir)
		return
	}
	e.options.Logger.Warn("cannot read the data folder; processes of this node are not shown", "dir", e.options.Dir, "err", now)
}

func merge(a, b []*dto.MetricFamily) []*dto.MetricFamily {
	all := append(a, b...)
	slices.SortFunc(all, func(x, y *dto.MetricFamily) int { return strings.Compare(x.GetName(), y.GetName()) })
	return all
}

// Close gives back all files.
func (e *Exporter) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.store.close()
}

var _ io.Closer = (*Exporter)(nil)

// ownMetrics are about the exporter itself.
type ownMetrics struct {
	files, rejected       *prometheus.GaugeVec
	readable, seconds     prometheus.Gauge
	duplicates, capped    prometheus.Gauge
	series, communicators prometheus.Gauge
}

func newOwnMetrics(r prometheus.Registerer) *ownMetrics {
	const p = "collwatch_exporter_"
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: p + name, Help: help})
		r.MustRegister(g)
		return g
	}
	m := &ownMetrics{
		files:         prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: p + "files", Help: "Data files of processes by what became of the process."}, []string{"state"}),
		rejected:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: p + "files_rejected", Help: "Files that were skipped in the last pass, by reason."}, []string{"reason"}),
		readable:      gauge("folder_readable", "1 if the data folder could be read in the last pass."),
		seconds:       gauge("last_pass_duration_seconds", "How long reading all files took."),
		duplicates:    gauge("duplicates", "Processes and communicators left out because another one has the same labels."),
		capped:        gauge("communicators_capped", "Communicators left out by the limit on series."),
		series:        gauge("series", "Lines of the last answer that come from data files."),
		communicators: gauge("communicators", "Communicators in the last pass."),
	}
	r.MustRegister(m.files, m.rejected)
	for _, state := range []string{"live", "dead", "ended"} {
		m.files.WithLabelValues(state)
	}
	for _, reason := range rejectReasons {
		m.rejected.WithLabelValues(reason)
	}
	return m
}

// rejectReasons are all values of the label, so that each series exists from the start.
var rejectReasons = []string{
	"foreign", "layout", "not_regular", "not_removable", "permission", "too_many", "truncated", "unreadable", "version",
}

func (m *ownMetrics) update(p Pass, b *builder, took time.Duration) {
	states, communicators := map[string]int{"live": 0, "dead": 0, "ended": 0}, 0
	for i := range p.Seen {
		communicators += len(p.Seen[i].Comms)
		switch {
		case p.Seen[i].Ended:
			states["ended"]++
		case p.Seen[i].Alive:
			states["live"]++
		default:
			states["dead"]++
		}
	}
	for state, n := range maps.All(states) {
		m.files.WithLabelValues(state).Set(float64(n))
	}
	for _, reason := range rejectReasons {
		m.rejected.WithLabelValues(reason).Set(float64(p.Rejected[reason]))
	}
	readable := 1.0
	if p.Err != nil {
		readable = 0
	}
	m.readable.Set(readable)
	m.seconds.Set(took.Seconds())
	m.duplicates.Set(float64(b.duplicates))
	m.capped.Set(float64(b.capped))
	m.series.Set(float64(b.out.series))
	m.communicators.Set(float64(communicators))
}
