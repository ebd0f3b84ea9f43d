package signals

import "time"

// QueryStat is one query of a tick with how it ended, for people.
type QueryStat struct {
	Source string
	// Name is the family of series, or the custom signal.
	Name string
	Expr string
	// Series is the number of series in the newest answer.
	Series int
	// Skipped says that it was left out this time: a family without rows is
	// asked less often.
	Skipped bool
	// OK is when it last succeeded; Err why it did not now.
	OK  time.Time
	Err error
}

// Queries lists the queries of the tick that was read last. Call it from the
// goroutine of the tick.
func (r *Reader) Queries() []QueryStat {
	out := make([]QueryStat, 0, len(r.queries))
	for _, q := range r.queries {
		s := QueryStat{Source: q.src.name, Name: q.family.name, Expr: q.expr, Series: q.res.Len(), Skipped: q.skipped, OK: q.okAt, Err: q.err}
		if q.custom >= 0 {
			s.Name = "custom " + r.opts.Custom[q.custom].Name
		}
		out = append(out, s)
	}
	return out
}
