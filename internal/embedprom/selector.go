package embedprom

import (
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

type matcher = labels.Matcher

// selector is a PromQL expression that only selects: m{…}, m{…}[90s], with or
// without an offset. Such an expression needs no engine.
type selector struct {
	expr     string
	matchers []*matcher
	window   int64 // ms, how far back samples count
	offset   int64 // ms
	raw      bool  // all samples of the window rather than the newest one
}

// plans remembers for each expression whether it is a plain selector. Detectors
// ask the same few dozen expressions for months; the bound only guards against
// a caller who does not.
type plans struct {
	mu  sync.Mutex
	all map[string]*selector // nil for an expression that needs the engine
}

const maxPlans = 4096

func (p *plans) get(parse parser.Parser, lookback int64, expr string) (*selector, error) {
	p.mu.Lock()
	s, ok := p.all[expr]
	p.mu.Unlock()
	if ok {
		return s, nil
	}
	e, err := parse.ParseExpr(expr)
	if err != nil {
		return nil, err
	}
	s = plainSelector(e, lookback)
	if s != nil {
		s.expr = expr
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil || len(p.all) >= maxPlans {
		p.all = make(map[string]*selector)
	}
	p.all[expr] = s
	return s, nil
}

// plainSelector returns nil if e has to be evaluated by the engine.
func plainSelector(e parser.Expr, lookback int64) *selector {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			break
		}
		e = p.Expr
	}
	s := &selector{window: lookback}
	if m, ok := e.(*parser.MatrixSelector); ok {
		if m.RangeExpr != nil {
			return nil
		}
		s.raw, s.window = true, m.Range.Milliseconds()
		e = m.VectorSelector
	}
	v, ok := e.(*parser.VectorSelector)
	if !ok || v.Timestamp != nil || v.StartOrEnd != 0 || v.OriginalOffsetExpr != nil || v.Anchored || v.Smoothed {
		return nil
	}
	s.offset = v.OriginalOffset.Milliseconds()
	s.matchers = v.LabelMatchers
	return s
}
