package promapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Instant implements Querier.
func (c *Client) Instant(ctx context.Context, expr string, t time.Time, dst *Result) error {
	if h, ok := c.historyOf(expr, t); ok {
		if done, err := c.readHistory(ctx, h, dst); done {
			return err
		}
	}
	args := url.Values{"query": {expr}, "time": {formatTime(t)}}
	err := c.query(ctx, "/api/v1/query", args, dst)
	if dst.Len() > 0 && !looksForward(expr) {
		if n := dst.dropAfter(t.UnixMilli()); n > 0 {
			c.metrics.future.Add(float64(n))
			dst.Infos = append(dst.Infos, fmt.Sprintf("%d samples from after the evaluation time were dropped", n))
		}
	}
	return err
}

// looksForward says whether expr may rightly give samples from after its
// evaluation time.
func looksForward(expr string) bool {
	return strings.Contains(expr, "@") || strings.Contains(strings.ReplaceAll(expr, " ", ""), "offset-")
}

// dropAfter removes the samples later than t, in milliseconds. A clock that is
// wrong somewhere must not show us the future.
func (r *Result) dropAfter(t int64) (dropped int) {
	for i := range r.Samples {
		if r.Samples[i].T > t {
			dropped++
		}
	}
	if dropped == 0 {
		return 0
	}
	series, kept := 0, 0
	for i, ref := range r.Refs {
		from, to := r.Offsets[i], r.Offsets[i+1]
		first := kept
		for _, s := range r.Samples[from:to] {
			if s.T <= t {
				r.Samples[kept] = s
				kept++
			}
		}
		if kept > first {
			r.Refs[series] = ref
			r.Offsets[series] = int32(first)
			series++
		}
		// Offsets[i+1] is read in the next turn and lies behind series.
	}
	r.Refs, r.Samples = r.Refs[:series], r.Samples[:kept]
	r.Offsets = append(r.Offsets[:series], int32(kept))
	return dropped
}

// query asks for series and fills dst, together with whoever asks the same.
func (c *Client) query(ctx context.Context, path string, args url.Values, dst *Result) error {
	dst.Reset()
	err := c.flights.do(ctx, path+"?"+args.Encode(), dst, func() error {
		if n := c.cfg.Limits.StatsEvery; n > 0 && c.queries.Add(1)%uint64(n) == 0 {
			// "1" earns a warning since Prometheus 3.16, and an answer with a
			// warning is not whole.
			args.Set("stats", "true")
		}
		d := c.decoders.Get().(*decoder)
		defer c.release(d)
		err := c.fetch(ctx, call{path: path, args: args, read: func(r io.Reader) error {
			if err := d.decode(r, dst); err != nil {
				return err
			}
			dst.Bytes = d.off + int64(len(d.buf))
			return c.answered(d)
		}})
		if err != nil {
			dst.Reset()
			return err
		}
		return c.account(d, dst)
	})
	var e *Error
	if err != nil && !errors.As(err, &e) {
		err = c.sendError(ctx, err) // our context ended while somebody else asked
	}
	return err
}

func (c *Client) release(d *decoder) {
	d.r, d.dst, d.table = nil, nil, nil
	if cap(d.buf) > 4*scanBuffer {
		d.buf = nil
	}
	c.decoders.Put(d)
}

// account counts what came, and says if it is not all.
func (c *Client) account(d *decoder, dst *Result) error {
	m := c.metrics
	m.samples.Add(float64(len(dst.Samples)))
	m.histograms.Add(float64(d.histograms))
	if d.stats.Samples.Total > 0 {
		m.cost.Observe(float64(d.stats.Samples.Total))
	}
	if d.duplicates > 0 {
		m.duplicates.Add(float64(d.duplicates))
		dst.Infos = append(dst.Infos, fmt.Sprintf("%d series came more than once and were joined", d.duplicates))
	}
	err := Incomplete(c.cfg.Name, dst)
	m.warnings.Add(float64(len(dst.Warnings)))
	if dst.Partial {
		m.partial.Inc()
	}
	if err != nil {
		m.failed(ClassIncomplete)
	}
	return err
}

// LabelValues implements Querier.
func (c *Client) LabelValues(ctx context.Context, label string, selectors []string, w Window) ([]string, error) {
	var a struct {
		Status    string   `json:"status"`
		ErrorType string   `json:"errorType"`
		Error     string   `json:"error"`
		Warnings  []string `json:"warnings"`
		IsPartial bool     `json:"isPartial"`
		Data      []string `json:"data"`
	}
	err := c.fetch(ctx, call{
		path: "/api/v1/label/:name/values",
		part: map[string]string{"name": model.EscapeName(label, model.ValueEncodingEscaping)},
		args: url.Values{"match[]": selectors, "start": {formatTime(w.Start)}, "end": {formatTime(w.End)}},
		get:  true,
		read: func(r io.Reader) error {
			a.Data, a.Warnings, a.Status = nil, nil, ""
			err := json.NewDecoder(r).Decode(&a)
			var syntax *json.SyntaxError
			var kind *json.UnmarshalTypeError
			switch {
			case errors.As(err, &syntax), errors.As(err, &kind), err == nil && a.Status == "":
				return &syntaxError{want: "label values"}
			case errors.Is(err, io.EOF):
				return io.ErrUnexpectedEOF
			case err != nil:
				return err
			}
			return c.answered(&decoder{status: a.Status, errorType: a.ErrorType, errorText: clip(a.Error)})
		},
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(a.Data)
	r := Result{Warnings: a.Warnings, Partial: a.IsPartial}
	return slices.Compact(a.Data), Incomplete(c.cfg.Name, &r)
}
