package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// lateFrom is from which part of the others' time a member counts as late in a
// column: the noise of window means is 1 to 4 %.
const lateFrom = 0.1

type lateRow struct {
	name  string
	share float64 // of the columns with values
}

// latest lists the rows that were late most often, at least a twentieth of the
// time.
func (r *Report) latest(most int) []lateRow {
	var out []lateRow
	for i, cells := range r.Heat.Cells {
		late, all := 0, 0
		for _, v := range cells {
			if known(v) {
				all++
				if v >= lateFrom {
					late++
				}
			}
		}
		if all > 0 && 20*late >= all {
			out = append(out, lateRow{r.Heat.Rows[i], float64(late) / float64(all)})
		}
	}
	slices.SortStableFunc(out, func(a, b lateRow) int { return cmp.Compare(b.share, a.share) })
	return out[:min(most, len(out))]
}

const (
	plotLeft  = 140.0
	plotWidth = 864.0 // 12 a column
)

// heatSVG draws the heat map. Names of rows are labels of series and foreign, so
// they are escaped.
func (r *Report) heatSVG() template.HTML {
	if len(r.Heat.Rows) == 0 {
		return ""
	}
	const high = 9
	var b strings.Builder
	total := float64(high*len(r.Heat.Rows)) + 24
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" width="100%%" role="img" aria-label="who was late when">`, plotLeft+plotWidth+10, total)
	for i, cells := range r.Heat.Cells {
		y := high * i
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="end" style="font-size:8px">%s</text>`, plotLeft-6, y+8, template.HTMLEscapeString(r.Heat.Rows[i]))
		// Neighbours of one colour are one rectangle: a healthy page stays small.
		for from := 0; from < len(cells); {
			to, shade := from+1, shadeOf(cells[from])
			for to < len(cells) && shadeOf(cells[to]) == shade {
				to++
			}
			if shade != "" {
				fmt.Fprintf(&b, `<rect x="%.0f" y="%d" width="%.0f" height="%d" %s/>`, plotLeft+12*float64(from), y, 12*float64(to-from), high-1, shade)
			}
			from = to
		}
	}
	b.WriteString(r.axis(total - 8))
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// shadeOf is the fill of a cell: nothing without a value, eight steps up to half
// of the others' time.
func shadeOf(v float64) string {
	if !known(v) {
		return ""
	}
	step := int(math.Round(8 * min(1, v/0.5)))
	if step == 0 {
		return `fill="var(--line)" opacity="0.5"`
	}
	return fmt.Sprintf(`fill="var(--bad)" opacity="%.3g"`, 0.15+0.85*float64(step)/8)
}

// axis labels the beginning, the middle and the end.
func (r *Report) axis(y float64) string {
	var b strings.Builder
	for i, anchor := range []string{"start", "middle", "end"} {
		t := r.start(i * Columns / 2)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="%s">%s</text>`, plotLeft+plotWidth*float64(i)/2, y, anchor, t.Format("2006-01-02 15:04"))
	}
	return b.String()
}

// healthSVG draws the time of operations over their median, and the part of it
// that is waiting, with incidents as bands.
func (r *Report) healthSVG() template.HTML {
	const h = 150.0
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" width="100%%" role="img" aria-label="communication over time">`, plotLeft+plotWidth+10, h+24)
	for _, i := range r.Incidents {
		x0, x1 := r.x(i.From.Sub(r.From).Seconds()), r.x(r.To.Sub(r.From).Seconds())
		if !i.To.IsZero() {
			x1 = r.x(i.To.Sub(r.From).Seconds())
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="0" width="%.1f" height="%.0f" fill="var(--bad)" opacity="0.12"/>`, x0, max(2, x1-x0), h)
	}
	top := 2.0
	for _, p := range r.Health {
		if known(p.Relative) {
			top = max(top, p.Relative)
		}
	}
	for _, v := range []float64{0, 1, top} {
		y := h - h*v/top
		fmt.Fprintf(&b, `<line x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f" stroke="var(--line)"/><text x="%.0f" y="%.1f" text-anchor="end">×%.3g</text>`,
			plotLeft, plotLeft+plotWidth, y, y, plotLeft-6, min(h, y+10), v)
	}
	b.WriteString(line(r.Health, "var(--cand)", func(p Point) float64 { return h - h*p.Relative/top }))
	b.WriteString(line(r.Health, "var(--bad)", func(p Point) float64 { return h - h*p.Waiting/top }))
	b.WriteString(r.axis(h + 16))
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

func (r *Report) x(seconds float64) float64 {
	all := r.To.Sub(r.From).Seconds()
	return plotLeft + plotWidth*max(0, min(1, seconds/max(all, 1)))
}

// line draws one value over time; a gap where there is none.
func line(points []Point, colour string, y func(Point) float64) string {
	var b strings.Builder
	open := false
	for i, p := range points {
		v := y(p)
		switch {
		case !known(v):
			if open {
				b.WriteString(`"/>`)
			}
			open = false
			continue
		case !open:
			fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
			open = true
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", plotLeft+plotWidth*(float64(i)+0.5)/Columns, v)
	}
	if open {
		b.WriteString(`"/>`)
	}
	return b.String()
}
