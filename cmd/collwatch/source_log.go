package main

import (
	"log/slog"
	"time"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// sourceLog says in the log when a source begins to fail, fails in another way,
// and answers again: one line a change, however long it lasts.
type sourceLog struct {
	log     *slog.Logger
	failing map[string]failure // by the name of the source
}

// failure is what is wrong with a source. Messages differ from one evaluation to
// the next, so they are no part of it.
type failure struct {
	reason string
	class  promapi.Class
	since  time.Time
}

func newSourceLog(log *slog.Logger) *sourceLog {
	return &sourceLog{log: log, failing: map[string]failure{}}
}

// observe takes an evaluation over.
func (l *sourceLog) observe(t *engine.Tick) {
	if t.Snapshot == nil {
		return
	}
	gaps := map[string]signals.Gap{}
	for _, g := range t.Snapshot.Gaps {
		if g.Host != "" { // an exporter, which is telemetry_gap's matter
			continue
		}
		if _, worse := gaps[g.Source]; !worse || g.Reason == "source_down" {
			gaps[g.Source] = g
		}
	}
	for name, g := range gaps {
		was, failed := l.failing[name]
		is := failure{g.Reason, promapi.ClassOf(g.Err), t.At}
		if failed && was.reason == is.reason && was.class == is.class {
			continue
		}
		if failed {
			is.since = was.since
		}
		l.failing[name] = is
		what := "does not answer"
		switch {
		case g.Err == nil:
			what = "has nothing new"
		case g.Reason == "incomplete":
			what = "answers in part only"
		}
		l.log.Warn("source fails; incidents keep their state", "source", name, "what", what, "class", is.class, "err", g.Err)
	}
	for name, was := range l.failing {
		if _, still := gaps[name]; !still {
			delete(l.failing, name)
			l.log.Info("source answers again", "source", name, "after", incidents.Span(t.At.Sub(was.since)))
		}
	}
}
