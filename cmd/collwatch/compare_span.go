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
		return o, errors.New("empty: give a job, FROM..TO or a baseline file")
	case kind == "file" && !files:
		return o, fmt.Errorf("%q: a file can only be a baseline", s)
	case kind == "file":
		o.file = rest
		return o, nil
	case kind == "" && files && isFile(rest):
		o.file = rest
		return o, nil
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
)

// find looks for the first and the last sample with the job's id in any label
// that names jobs. Series may outlive their job (the textfile collector serves
// the last file for ever); that does no harm, for only new dumps count.
func (s search) find(ctx context.Context, p *past, job string) (span, error) {
	step := max(searchStep, s.last.Sub(s.first)/searchPoints).Round(time.Second)
	parts := make([]string, len(s.labels))
	for i, l := range s.labels {
		parts[i] = "{" + l + "=" + strconv.Quote(job)
		if s.selector != "" {
			parts[i] += "," + s.selector
		}
		parts[i] += "}"
	}
	expr := "count(" + strings.Join(parts, " or ") + ")"
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, q := range p.sources {
		var res promapi.Result
		err := q.Range(ctx, expr, promapi.Window{Start: s.first.Truncate(step), End: s.last.Add(step), Step: step}, &res)
		if err != nil && promapi.ClassOf(err) != promapi.ClassIncomplete {
			return span{}, fmt.Errorf("look for job %q: %w", job, err)
		}
		for i := range res.Len() {
			for _, x := range res.Of(i) {
				first, last = min(first, x.T), max(last, x.T)
			}
		}
	}
	if first > last {
		return span{}, fmt.Errorf("no series of job %q between %s and %s (labels %s)", job,
			s.first.UTC().Format(time.RFC3339), s.last.UTC().Format(time.RFC3339), strings.Join(s.labels, ", "))
	}
	out := span{from: time.UnixMilli(first).Add(-step), to: time.UnixMilli(last)}
	out.starts = out.from.After(s.first.Add(2 * step))
	if out.from.Before(s.first) {
		out.from = s.first
	}
	if out.to.After(s.last) {
		out.to = s.last
	}
	return out, nil
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
