package promapi

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// slicesAtOnce is how many slices of a range are on their way at once, if the limits
// of the source allow: one that is evaluated while another one is decoded.
const slicesAtOnce = 2

// Range implements Querier. The slices lie on multiples of the configured
// length since the epoch, whatever the window is, so that caches and front ends
// see the same ones again. Each ends before the next begins.
func (c *Client) Range(ctx context.Context, expr string, w Window, dst *Result) error {
	dst.Reset()
	first, last, n, err := w.Steps()
	if err != nil {
		return &Error{Class: ClassConfig, Source: c.cfg.Name, Msg: err.Error(), Err: err}
	}
	if n == 0 {
		return nil
	}
	spans := cut(first.UnixMilli(), last.UnixMilli(), w.Step.Milliseconds(), c.sliceLength(w.Step))
	answers, lacks := make([][]Result, len(spans)), make([]error, len(spans))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(slicesAtOnce)
	for i, s := range spans {
		g.Go(func() error {
			var err error
			if answers[i], err = c.slice(ctx, expr, s, w.Step); ClassOf(err) == ClassIncomplete {
				lacks[i], err = err, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var parts []Result
	var lacking error
	for i := range answers {
		parts = append(parts, answers[i]...)
		lacking = cmp.Or(lacks[i], lacking)
	}
	dst.join(parts)
	return lacking
}

// sliceLength is the configured length, halved until no series can have too
// many points.
func (c *Client) sliceLength(step time.Duration) int64 {
	length := c.cfg.Limits.Slice.Milliseconds()
	for length > step.Milliseconds() && length/step.Milliseconds() > c.cfg.Limits.MaxPoints {
		length /= 2
	}
	return max(length, step.Milliseconds())
}

// span is a row of evaluation times from first to last, in milliseconds.
type span struct{ first, last int64 }

// cut divides the multiples of step from first to last at the multiples of
// length. first and last are multiples of step.
func cut(first, last, step, length int64) []span {
	var all []span
	for at := first; at <= last; {
		next := (floorDiv(at, length) + 1) * length
		end := min(last, floorDiv(next-1, step)*step)
		all = append(all, span{at, end})
		at = end + step
	}
	return all
}

// slice asks for one slice, in two halves if the server finds it too expensive.
func (c *Client) slice(ctx context.Context, expr string, s span, step time.Duration) ([]Result, error) {
	var r Result
	err := c.ask(ctx, expr, s, step, &r)
	var e *Error
	if errors.As(err, &e) && e.Class == ClassTooExpensive && s.first < s.last {
		ms := step.Milliseconds()
		mid := s.first + (s.last-s.first)/ms/2*ms
		halves := make([]Result, 2)
		err = c.ask(ctx, expr, span{s.first, mid}, step, &halves[0])
		if err != nil && ClassOf(err) != ClassIncomplete {
			return nil, err
		}
		err2 := c.ask(ctx, expr, span{mid + ms, s.last}, step, &halves[1])
		if err2 != nil {
			err = err2
		}
		return halves, err
	}
	return []Result{r}, err
}

func (c *Client) ask(ctx context.Context, expr string, s span, step time.Duration, dst *Result) error {
	return c.query(ctx, "/api/v1/query_range", url.Values{
		"query": {expr},
		"start": {formatTime(time.UnixMilli(s.first))},
		"end":   {formatTime(time.UnixMilli(s.last))},
		"step":  {formatStep(step)},
	}, dst)
}

// formatStep writes a step in whole units: Prometheus cuts a fraction of
// seconds such as 8.001 down to 8.000.
func formatStep(step time.Duration) string {
	if step%time.Second == 0 {
		return strconv.FormatInt(int64(step/time.Second), 10)
	}
	return strconv.FormatInt(step.Milliseconds(), 10) + "ms"
}

// join fills r with the series of parts, which follow each other in time.
func (r *Result) join(parts []Result) {
	r.Reset()
	place := make(map[Ref]int)
	var counts []int32
	for _, p := range parts {
		for i, ref := range p.Refs {
			at, ok := place[ref]
			if !ok {
				at = len(r.Refs)
				place[ref] = at
				r.Refs = append(r.Refs, ref)
				counts = append(counts, 0)
			}
			counts[at] += p.Offsets[i+1] - p.Offsets[i]
		}
		r.Warnings = append(r.Warnings, p.Warnings...)
		r.Infos = append(r.Infos, p.Infos...)
		r.Partial = r.Partial || p.Partial
		r.Bytes += p.Bytes
	}
	total := int32(0)
	for _, n := range counts {
		total += n
		r.Offsets = append(r.Offsets, total)
	}
	r.Samples = append(r.Samples, make([]Sample, total)...)
	fill := append([]int32(nil), r.Offsets...)
	for _, p := range parts {
		for i, ref := range p.Refs {
			at := place[ref]
			fill[at] += int32(copy(r.Samples[fill[at]:], p.Of(i)))
		}
	}
}
