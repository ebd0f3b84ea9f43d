package compare

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// forest draws the change with its interval on a scale from −30 % to +30 %.
// Only numbers go into the drawing, so that it needs no escaping.
func forest(e Estimate) template.HTML {
	const w, h, limit = 180.0, 18.0, 0.3
	if math.IsNaN(e.Change) {
		return ""
	}
	x := func(v float64) float64 { return w/2 + max(-limit, min(limit, v))/limit*(w/2-4) }
	colour := "var(--soft)"
	if change, low, high := e.worse(); metrics[e.Metric].bad != 0 {
		switch {
		case low > 0 && change > 0:
			colour = "var(--bad)"
		case high < 0:
			colour = "var(--good)"
		}
	}
	return template.HTML(fmt.Sprintf(`<svg width="%.0f" height="%.0f" role="img" aria-label="change and interval">`+
		`<line x1="%.1f" y1="0" x2="%.1f" y2="%.0f" stroke="var(--line)"/>`+
		`<line x1="%.1f" y1="9" x2="%.1f" y2="9" stroke="%s" stroke-width="2"/><circle cx="%.1f" cy="9" r="3.5" fill="%s"/></svg>`,
		w, h, w/2, w/2, h, x(e.Low), x(e.High), colour, x(e.Change), colour))
}

// spark draws both sides over their own time on a common scale from zero.
func spark(e Estimate) template.HTML {
	const w, h = 220.0, 36.0
	top := 0.0
	for _, xs := range [][]float64{e.base, e.cand} {
		for _, v := range xs {
			top = max(top, v)
		}
	}
	if top == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width="%.0f" height="%.0f" role="img" aria-label="values over time">`, w, h)
	for i, xs := range [][]float64{e.base, e.cand} {
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, []string{"var(--base)", "var(--cand)"}[i])
		for k, v := range xs {
			fmt.Fprintf(&b, "%.1f,%.1f ", 2+(w-4)*float64(k)/float64(max(len(xs)-1, 1)), h-2-(h-4)*v/top)
		}
		b.WriteString(`"/>`)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
