package embedprom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/collwatch/collwatch/promapi"
)

var errTooManySamples = promql.ErrTooManySamples("query execution")

// Querier answers queries from the embedded storage as a Prometheus server
// would. Native histograms are left out.
func (db *DB) Querier() promapi.Querier { return &querier{db: db} }

type querier struct {
	db    *DB
	plans plans
}

// Interner implements promapi.Querier.
func (q *querier) Interner() *promapi.Interner { return q.db.opts.Interner }

// Instant implements promapi.Querier.
func (q *querier) Instant(ctx context.Context, expr string, t time.Time, dst *promapi.Result) error {
	dst.Reset()
	sel, err := q.plans.get(q.db.parser, q.db.opts.Lookback.Milliseconds(), expr)
	if err != nil {
		return q.configError(expr, err)
	}
	if sel != nil {
		ctx, cancel := context.WithTimeout(ctx, q.db.opts.Timeout)
		defer cancel()
		return q.wrap(expr, q.db.instant(ctx, sel, t.UnixMilli(), dst))
	}
	query, err := q.db.engine.NewInstantQuery(ctx, q.db.store, nil, expr, t)
	if err != nil {
		return q.configError(expr, err)
	}
	return q.exec(ctx, expr, query, dst)
}

// Range implements promapi.Querier. Nothing is cut into slices: there is no
// server to be spared.
func (q *querier) Range(ctx context.Context, expr string, w promapi.Window, dst *promapi.Result) error {
	dst.Reset()
	first, last, n, err := w.Steps()
	if err != nil {
		return q.configError(expr, err)
	}
	if n == 0 {
		return nil
	}
	query, err := q.db.engine.NewRangeQuery(ctx, q.db.store, nil, expr, first, last, w.Step)
	if err != nil {
		return q.configError(expr, err)
	}
	return q.exec(ctx, expr, query, dst)
}

func (q *querier) exec(ctx context.Context, expr string, query promql.Query, dst *promapi.Result) error {
	defer query.Close()
	res := query.Exec(ctx)
	dst.Warnings, dst.Infos = res.Warnings.AsStrings(expr, 10, 10)
	if res.Err != nil {
		return q.wrap(expr, res.Err)
	}
	switch v := res.Value.(type) {
	case promql.Vector:
		for i := range v {
			if v[i].H == nil {
				dst.Begin(q.intern(v[i].Metric))
				dst.Add(v[i].T, v[i].F)
			}
		}
	case promql.Matrix:
		for i := range v {
			if len(v[i].Floats) == 0 {
				continue
			}
			dst.Begin(q.intern(v[i].Metric))
			for _, p := range v[i].Floats {
				dst.Add(p.T, p.F)
			}
		}
	case promql.Scalar:
		dst.Begin(q.intern(labels.EmptyLabels()))
		dst.Add(v.T, v.V)
	default:
		return q.configError(expr, fmt.Errorf("the answer is a %s", res.Value.Type()))
	}
	return promapi.Incomplete(q.db.opts.Name, dst)
}

func (q *querier) intern(ls labels.Labels) promapi.Ref {
	return q.db.opts.Interner.Intern(appendLabels(nil, ls))
}

// LabelValues implements promapi.Querier.
func (q *querier) LabelValues(ctx context.Context, label string, selectors []string, w promapi.Window) ([]string, error) {
	sets := make([][]*matcher, 0, len(selectors))
	for _, s := range selectors {
		ms, err := q.db.parser.ParseMetricSelector(s)
		if err != nil {
			return nil, q.configError(s, err)
		}
		sets = append(sets, ms)
	}
	if len(sets) == 0 {
		sets = append(sets, nil)
	}
	sq, err := q.db.store.Querier(w.Start.UnixMilli(), w.End.UnixMilli())
	if err != nil {
		return nil, q.wrap(label, err)
	}
	defer sq.Close()
	var (
		out  []string
		warn annotations.Annotations
	)
	for _, ms := range sets {
		vs, ws, err := sq.LabelValues(ctx, label, nil, ms...)
		if err != nil {
			return nil, q.wrap(label, err)
		}
		warn.Merge(ws)
		for _, v := range vs {
			out = append(out, string([]byte(v))) // the storage owns v only until sq is closed
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (q *querier) configError(what string, err error) error {
	return &promapi.Error{Class: promapi.ClassConfig, Source: q.db.opts.Name, Msg: fmt.Sprintf("query %q: %v", what, err), Err: err}
}

func (q *querier) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	class := promapi.ClassUnknown
	var (
		timeout promql.ErrQueryTimeout
		tooMany promql.ErrTooManySamples
		stored  promql.ErrStorage
	)
	switch {
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		class = promapi.ClassSlow
	case errors.As(err, &tooMany):
		class = promapi.ClassTooExpensive
	case errors.As(err, &stored):
		class = promapi.ClassTransport
	}
	return &promapi.Error{Class: class, Source: q.db.opts.Name, Msg: fmt.Sprintf("query %q: %v", what, err), Err: err}
}
