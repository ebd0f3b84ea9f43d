package web

import "slices"

// Sizes of the drawing for a phone: three levels fit its width.
const (
	tallLevel = boxWidth + 24  // from level to level
	tallRow   = boxHeight + 18 // from row to row: the word above a suspect fits between
	tallTop   = 28.0           // room for the name of a host, or for the word
)

// Forms are the drawing and the same turned on its side for a phone, where the
// wide one would have to be scrolled to find the suspect.
func (d *drawing) Forms() []*drawing { return []*drawing{d, d.turned()} }

// turned makes levels of columns and rows of what stood side by side.
func (d *drawing) turned() *drawing {
	t := turning{wide: d}
	for _, b := range d.Boxes {
		if b.Kind == "host" {
			t.frames = append(t.frames, b.X)
		} else if !slices.Contains(t.levels, b.Y) {
			t.levels = append(t.levels, b.Y)
		}
	}
	slices.Sort(t.levels)
	out := &drawing{Form: "tall", Text: d.Text, Hidden: d.Hidden}
	for _, b := range d.Boxes {
		b = t.box(b)
		out.Boxes = append(out.Boxes, b)
		out.Width, out.Height = max(out.Width, b.X+b.W+boxGap), max(out.Height, b.Y+b.H+boxGap)
	}
	for _, l := range d.Lines {
		from, to := t.box(l.from), t.box(l.to)
		out.Lines = append(out.Lines, line{
			X1: from.X, Y1: from.Y + from.H/2, X2: to.X + to.W, Y2: to.Y + to.H/2, Marked: l.Marked, from: from, to: to,
		})
	}
	return out
}

// turning is how places of the wide drawing become those of the tall one.
type turning struct {
	wide   *drawing
	levels []float64 // heights at which boxes begin, from above
	frames []float64 // left edges of hosts
}

// row is where a box begins whose middle stands at x.
func (t *turning) row(x float64) float64 {
	before := 0.0
	for _, f := range t.frames {
		if f <= x {
			before++
		}
	}
	return tallTop*max(before, 1) + (x-boxWidth/2-boxGap)*tallRow/(boxWidth+boxGap)
}

func (t *turning) box(b box) box {
	if b.Kind == "host" {
		return t.frame(b)
	}
	b.X, b.Y = 2*boxGap+float64(slices.Index(t.levels, b.Y))*tallLevel, t.row(b.Middle())
	b.W = boxWidth
	return b
}

// frame is drawn around what stood inside of the wide one.
func (t *turning) frame(b box) box {
	inner := b
	inner.X, inner.Y, inner.W, inner.H = 0, 0, 0, 0
	for _, in := range t.wide.Boxes {
		if in.Kind == "host" || in.Y < b.Y || in.X < b.X || in.X > b.X+b.W {
			continue
		}
		in = t.box(in)
		if inner.W == 0 {
			inner.X, inner.Y = in.X, in.Y
		}
		right, bottom := max(inner.X+inner.W, in.X+in.W), max(inner.Y+inner.H, in.Y+in.H)
		inner.X, inner.Y = min(inner.X, in.X), min(inner.Y, in.Y)
		inner.W, inner.H = right-inner.X, bottom-inner.Y
	}
	inner.X, inner.Y = inner.X-boxGap, inner.Y-boxGap
	inner.W, inner.H = inner.W+2*boxGap, inner.H+boxGap+tallTop
	return inner
}
