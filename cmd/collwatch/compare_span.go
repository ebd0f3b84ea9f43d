package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// operand is one side of a comparison as it was called: a job, a range of time,
// a job within a range, or a baseline file.
type operand struct {
	text     string
	job      string
	from, to time.Time // zero if the job's own
	file     string
	span     span // worked out by search.spanOf
}

// parseOperand reads JOB, FROM..TO, JOB@FROM..TO or, where files are allowed, the
// name of a file. "job:", "range:" and "file:" say which, should a name be both.
func parseOperand(s string, files bool) (operand, error) {
	o := operand{text: s}
	kind, rest, ok := strings.Cut(s, ":")
	if !ok || (kind != "job" && kind != "range" && kind != "file") {
		kind, rest = "", s
	}
	switch {
	case rest == "":
		return o, errors.New("empty: give a job or FROM..TO, or as the baseline a file")
	case kind == "file" && !files:
		return o, fmt.Errorf("%q: a file can only be a baseline", s)
	case kind == "file":
		o.file = rest
		return o, nil
	case kind == "" && files && isFile(rest):
		o.file = rest
		return o, nil
	case kind == "" && files && strings.HasSuffix(rest, ".json"):
		// A month would be searched for a job of that name.
		return o, fmt.Errorf("there is no file %q; write job:%s if a job is called so", s, rest)
	}
	at := rest
	if i := strings.LastIndexByte(rest, '@'); i > 0 && kind != "range" && strings.Contains(rest[i:], "..") {
		o.job, at = rest[:i], rest[i+1:]
	}
	from, to, ranged := strings.Cut(at, "..")
	switch {
	case kind == "range" && !ranged:
		return o, fmt.Errorf("%q is no range: write FROM..TO with RFC 3339 or Unix seconds", at)
	case !ranged, kind == "job" && o.job == "":
		o.job = rest
		return o, nil
	}
	var err error
	if o.from, err = instant(from); err != nil {
		return o, err
	}
	if o.to, err = instant(to); err != nil {
		return o, err
	}
	if !o.to.After(o.from) {
		return o, fmt.Errorf("%q ends before it begins", at)
	}
	return o, nil
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// instant reads RFC 3339 or Unix seconds.
func instant(s string) (time.Time, error) {
	if sec, err := strconv.ParseFloat(s, 64); err == nil && sec >= 0 && sec < 1e11 {
		return time.UnixMilli(int64(sec * 1000)).UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q is neither RFC 3339 nor Unix seconds", s)
	}
	return t.UTC(), nil
}

// String names the operand for people.
func (o operand) String() string {
	switch {
	case o.file != "":
		return "file " + o.file
	case o.from.IsZero():
		return "job " + o.job
	case o.job == "":
		return "range " + o.text
	}
	return "job " + o.job + " within a range"
}

// span is a time to read.
type span struct {
	from, to time.Time
	// starts says that the job started at from, as far as its series tell.
	starts bool
}

// search is where jobs are looked for.
type search struct {
	first, last time.Time // of the data
	known       bool      // the data themselves begin at first
	labels      []string
	selector    string
	step        time.Duration // of the coarse look, searchStep if zero
}

func newSearch(cfg *config.Config, p *past, back time.Duration, now time.Time) search {
	s := search{first: p.first, last: p.last, known: !p.first.IsZero(), selector: strings.Trim(strings.TrimSpace(cfg.Signals.Selector), "{}")}
	if !s.known {
		s.first, s.last = now.Add(-back), now
	}
	s.labels = append(signals.JobLabels(), cfg.Signals.JobLabels...)
	slices.Sort(s.labels)
	s.labels = slices.Compact(s.labels)
	return s
}

const (
	searchPoints = 5000
	searchStep   = time.Minute
	searchWide   = 5 * time.Minute // a fifth of the evaluations
	searchFine   = 15 * time.Second
	searchLately = 48 * time.Hour
)

// find looks for the first and the last sample with the job's id in any label
// that names jobs: coarsely over all of the time, so that a job of minutes is found
// in a month, then finely at both ends. Series may outlive their job (the textfile
// collector serves the last file for ever); that does no harm, for only new dumps
// count.
//
// The last days come first: most jobs that people ask about ended lately, and a
// month is a lot to ask a server for.
func (s search) find(ctx context.Context, p *past, job string) (span, error) {
	if !s.known && s.last.Sub(s.first) > searchLately {
		lately := s
		lately.first, lately.step = s.last.Add(-searchLately), searchWide
		if out, err := lately.within(ctx, p, job); err == nil && out.starts {
			return out, nil
		}
	}
	return s.within(ctx, p, job)
}

func (s search) within(ctx context.Context, p *past, job string) (span, error) {
	step := max(searchStep, s.step, s.last.Sub(s.first)/searchPoints).Round(time.Second)
	window := fmt.Sprintf("[%ds]", int(step.Seconds()))
	begin, end, err := s.seen(ctx, p, job, promapi.Window{Start: s.first.Truncate(step), End: s.last.Add(step), Step: step},
		func(selector string) string { return "last_over_time(" + selector + window + ")" })
	if err != nil {
		return span{}, err
	}
	if begin.After(end) {
		return span{}, fmt.Errorf("no series of job %q between %s and %s (labels %s)", job,
			s.first.UTC().Format(time.RFC3339), s.last.UTC().Format(time.RFC3339), strings.Join(s.labels, ", "))
	}
	out := span{from: begin.Add(-step), to: end}
	for _, at := range []time.Time{begin, end} {
		a, b, err := s.seen(ctx, p, job, promapi.Window{Start: at.Add(-step), End: at, Step: searchFine}, func(selector string) string { return selector })
		if err != nil {
			return span{}, err
		}
		if !a.After(b) && at.Equal(begin) {
			out.from = a.Add(-searchFine)
		}
		if !a.After(b) && at.Equal(end) {
			out.to = b
		}
	}
	out.starts = out.from.After(s.first.Add(2 * step))
	if out.from.Before(s.first) {
		out.from = s.first
	}
	if out.to.After(s.last) {
		out.to = s.last
	}
	return out, nil
}

// seen returns the first and the last evaluation in w that finds series of the
// job, the first after the last if there is none. expr makes an expression of a
// selector.
func (s search) seen(ctx context.Context, p *past, job string, w promapi.Window, expr func(string) string) (begin, end time.Time, err error) {
	parts := make([]string, len(s.labels))
	for i, l := range s.labels {
		selector := "{" + l + "=" + strconv.Quote(job)
		if s.selector != "" {
			selector += "," + s.selector
		}
		parts[i] = expr(selector + "}")
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, q := range p.sources {
		var res promapi.Result
		err := q.Range(ctx, "count("+strings.Join(parts, " or ")+")", w, &res)
		if err != nil && promapi.ClassOf(err) != promapi.ClassIncomplete {
			return begin, end, fmt.Errorf("look for job %q: %w", job, err)
		}
		for i := range res.Len() {
			for _, x := range res.Of(i) {
				first, last = min(first, x.T), max(last, x.T)
			}
		}
	}
	return time.UnixMilli(first), time.UnixMilli(last), nil
}

// spanOf is the time to read for an operand.
func (s search) spanOf(ctx context.Context, p *past, o operand) (span, error) {
	switch {
	case o.file != "":
		return span{}, nil
	case o.from.IsZero():
		return s.find(ctx, p, o.job)
	}
	return span{from: o.from, to: o.to}, nil
}
