package promapi

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/parser"
)

// Hours of raw samples as JSON cost a server ten times what it takes to hand over
// the compressed chunks that it keeps them in, and us three times: the remote read
// API of Prometheus ("streamed chunks", since 2.13) has the same samples without
// formatting and parsing numbers. Below chunksFrom most of a chunk, which holds 120
// samples, would be thrown away.
const chunksFrom = 30 * time.Minute

// chunksCheck is how much is read to learn whether a server offers chunks.
const chunksCheck = 5 * time.Minute

// chunkReading is what is known about the remote read API of a server.
type chunkReading struct {
	mu     sync.Mutex // held while asking
	state  chunkState
	extern []prompb.Label // that the server adds to each series
}

type chunkState uint8

const (
	chunksUnknown chunkState = iota
	chunksOffered
	chunksRefused
)

// history is a plain range selector over a long time.
type history struct {
	matchers []*labels.Matcher
	selector string
	from, to int64 // Unix ms, without from itself
}

// historyOf says whether chunks may answer expr at t, and of which series.
func (c *Client) historyOf(expr string, t time.Time) (history, bool) {
	// Nearly all queries are short ones, which need no parsing to be told.
	if !c.cfg.Chunks || c.cfg.Kind != Prometheus || !strings.HasSuffix(expr, "]") {
		return history{}, false
	}
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return history{}, false
	}
	m, ok := e.(*parser.MatrixSelector)
	if !ok || m.Range < chunksFrom || m.RangeExpr != nil {
		return history{}, false
	}
	v, ok := m.VectorSelector.(*parser.VectorSelector)
	if !ok || v.OriginalOffset != 0 || v.OriginalOffsetExpr != nil || v.Timestamp != nil || v.StartOrEnd != 0 || v.Anchored || v.Smoothed {
		return history{}, false
	}
	return history{v.LabelMatchers, v.String(), t.Add(-m.Range).UnixMilli(), t.UnixMilli()}, true
}

// readHistory fills dst from chunks. done is false where the server does not offer
// them, or not for these series.
func (c *Client) readHistory(ctx context.Context, h history, dst *Result) (done bool, err error) {
	if !c.offersChunks(ctx, h) {
		return false, nil
	}
	for _, m := range h.matchers {
		if slices.ContainsFunc(c.chunks.extern, func(l prompb.Label) bool { return l.Name == m.Name }) {
			return false, nil // the remote read API takes such a matcher for another one
		}
	}
	if err := c.admit(ctx); err != nil {
		return true, err
	}
	d := chunkDecoder{in: c.cfg.Interner, extern: c.chunks.extern, from: h.from, to: h.to, most: c.cfg.Limits.MaxBody / leastJSON, dst: dst}
	if e := c.once(ctx, chunkCall(h, d.decode)); e != nil {
		dst.Reset()
		switch {
		case ctx.Err() != nil, e.Class == ClassTooExpensive, e.Class == ClassSlow:
			c.judge(e)
			return true, e
		}
		// Whatever it was, JSON will tell, and will do from now on.
		c.chunks.mu.Lock()
		c.chunks.state = chunksRefused
		c.chunks.mu.Unlock()
		return false, nil
	}
	c.judge(nil)
	c.metrics.samples.Add(float64(len(dst.Samples)))
	c.metrics.histograms.Add(float64(d.histograms))
	return true, nil
}

// chunkCall asks for the chunks that hold samples of some series.
func chunkCall(h history, read func(io.Reader) error) call {
	q := &prompb.Query{StartTimestampMs: h.from + 1, EndTimestampMs: h.to}
	for _, m := range h.matchers {
		q.Matchers = append(q.Matchers, &prompb.LabelMatcher{Type: matcherType(m.Type), Name: m.Name, Value: m.Value})
	}
	req := prompb.ReadRequest{
		Queries:               []*prompb.Query{q},
		AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS},
	}
	raw, err := req.Marshal()
	if err != nil {
		raw = nil // never: all fields are set by us
	}
	return call{path: "/api/v1/read", proto: snappy.Encode(nil, raw), read: read}
}

func matcherType(t labels.MatchType) prompb.LabelMatcher_Type {
	switch t {
	case labels.MatchNotEqual:
		return prompb.LabelMatcher_NEQ
	case labels.MatchRegexp:
		return prompb.LabelMatcher_RE
	case labels.MatchNotRegexp:
		return prompb.LabelMatcher_NRE
	}
	return prompb.LabelMatcher_EQ
}

// offersChunks finds out, once, whether the server offers chunks and which labels it
// adds to series there: those by which it is known to others, which its query API
// does not show. One series is asked for both ways.
func (c *Client) offersChunks(ctx context.Context, h history) bool {
	c.chunks.mu.Lock()
	defer c.chunks.mu.Unlock()
	if c.chunks.state != chunksUnknown {
		return c.chunks.state == chunksOffered
	}
	var one Result
	at := time.UnixMilli(h.to)
	if err := c.Instant(ctx, "topk(1, "+h.selector+")", at, &one); err != nil || one.Len() != 1 {
		return false // perhaps these series ended; others will tell
	}
	ls := c.cfg.Interner.Labels(one.Refs[0])
	exact := history{from: at.Add(-chunksCheck).UnixMilli(), to: h.to}
	for _, l := range ls {
		exact.matchers = append(exact.matchers, &labels.Matcher{Type: labels.MatchEqual, Name: l.Name, Value: l.Value})
	}
	var seen Result
	d := chunkDecoder{in: NewInterner(), from: exact.from, to: exact.to, most: leastJSON, dst: &seen}
	if err := c.once(ctx, chunkCall(exact, d.decode)); err != nil {
		if ctx.Err() == nil {
			c.chunks.state = chunksRefused
		}
		return false
	}
	c.chunks.state = chunksRefused
	if seen.Len() != 1 {
		return false
	}
	for _, l := range d.in.Labels(seen.Refs[0]) {
		if v := ls.Get(l.Name); v == "" {
			c.chunks.extern = append(c.chunks.extern, prompb.Label{Name: l.Name, Value: l.Value})
		} else if v != l.Value {
			return false
		}
	}
	c.chunks.state = chunksOffered
	return true
}

// leastJSON is the size of the shortest sample as JSON. It turns the limit of bytes
// of an answer into one of samples, since chunks of the same size hold many more.
const leastJSON = 20

var errTooManySamples = errors.New("the answer has more samples than fit into the limit of its size")
