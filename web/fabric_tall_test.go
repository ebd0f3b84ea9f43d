package web

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The tall drawing has the same things as the wide one, none upon another, and
// three levels fit a phone of 390 points.
func TestTallDrawing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wide := &drawing{Form: "wide"}
		p := &painter{out: wide}
		leaves := rapid.Bool().Draw(t, "leaves")
		x := boxGap
		for h := range rapid.IntRange(1, maxHostsDrawn).Draw(t, "hosts") {
			n := rapid.IntRange(1, 8).Draw(t, "columns")
			width := max(float64(n)*(boxWidth+boxGap)+boxGap, 2*boxWidth)
			p.box(x, 76, width, "host", fmt.Sprint("h", h), "")
			for i := range n {
				at := x + boxGap + float64(i)*(boxWidth+boxGap)
				nic := p.box(at, 102, boxWidth, "nic", fmt.Sprint("n", i), "")
				p.link(p.box(at, 164, boxWidth, "gpu", fmt.Sprint("g", i), ""), nic, false)
				if leaves {
					p.link(nic, p.box(at, 24, boxWidth, "switch", fmt.Sprint("s", h, i), ""), false)
				}
			}
			x += width + 2*boxGap
		}
		tall := wide.turned()
		require.Len(t, tall.Boxes, len(wide.Boxes))
		require.Len(t, tall.Lines, len(wide.Lines))
		require.LessOrEqual(t, tall.Width, 360.0)
		for i, a := range tall.Boxes {
			require.GreaterOrEqual(t, min(a.X, a.Y), 0.0)
			require.LessOrEqual(t, a.Y+a.H, tall.Height)
			for _, b := range tall.Boxes[:i] {
				apart := a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y
				require.True(t, apart || (a.Kind == "host") != (b.Kind == "host"), "%+v is upon %+v", a, b)
			}
		}
		for _, l := range tall.Lines {
			require.GreaterOrEqual(t, l.X1, l.X2, "from the right to the left")
			require.InDelta(t, l.Y1, l.Y2, 1e-9, "a NIC, its GPU and its leaf stand in one row")
		}
	})
}
