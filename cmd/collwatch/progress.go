package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far a long read is: a bar on a terminal, a line each
// quarter otherwise, so that logs of pipelines stay short.
type progress struct {
	w     io.Writer
	term  bool
	label string
	span  span
	shown int // percent
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if f, ok := w.(*os.File); ok {
		st, err := f.Stat()
		p.term = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) begin(label string, s span) {
	p.label, p.span, p.shown = label, s, -1
	if !p.term {
		fmt.Fprintf(p.w, "%s: %s to %s\n", label, s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339))
		p.shown = 0
	}
}

func (p *progress) at(t time.Time) {
	percent := 100
	if all := p.span.to.Sub(p.span.from); all > 0 {
		percent = int(min(100, max(0, 100*t.Sub(p.span.from)/all)))
	}
	switch {
	case p.term && percent != p.shown:
		const width = 30
		full := percent * width / 100
		fmt.Fprintf(p.w, "\r%s [%s%s] %3d %%", p.label, strings.Repeat("#", full), strings.Repeat(".", width-full), percent)
	case !p.term && percent/25 > p.shown/25:
		fmt.Fprintf(p.w, "%s: %d %%\n", p.label, percent/25*25)
	default:
		return
	}
	p.shown = percent
}

func (p *progress) end() {
	if p.term {
		fmt.Fprintln(p.w)
	}
}
