package draw

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/collwatch/collwatch/topology"
)

// Measures of the picture in pixels.
const (
	margin   = 20
	charW    = 7.0 // of the monospaced font at 11 px
	rowH     = 16
	boxH     = 24
	cellMin  = 64.0
	maxWidth = 1500.0
	// maxLines is how many lines between switches a person can follow; beyond,
	// numbers at the leaves say the same.
	maxLines = 72
	// maxAbove bounds the boxes above the leaves; the rest is counted.
	maxAbove = 24
	maxRows  = 400 // rows of one panel
	style    = `text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1d2733}.h{font-weight:bold}.m{fill:#667}.w{fill:#b00020;font-weight:bold}` +
		`.sw{fill:#dbe4f0;stroke:#7d93b2}.lf{fill:#e8f0dc;stroke:#8aa567}.bad{stroke:#b00020;stroke-width:2}.c{fill:#f6f8fa;stroke:#d5dbe1}` +
		`.cw{fill:#fde0e0;stroke:#b00020}.l{stroke:#9aa7b5;stroke-width:1;fill:none}.p{fill:#fff;stroke:#c6ced6}`
)

// canvas gathers elements and how far they reach.
type canvas struct {
	b strings.Builder
	w float64
}

// SVG writes a view as a picture: switches on top, then for each group of hosts
// a table of hosts by leaf.
func SVG(w io.Writer, v topology.View) error {
	c := &canvas{}
	y := float64(margin)
	links := 0
	for _, t := range v.Uplinks {
		links += t.Links
	}
	c.text(margin, y+10, "h", fmt.Sprintf("%s, %s, %s, %s above, %s between switches", count(v.Hosts, "host"), count(v.Ports, "NIC port"),
		count(v.Leaves, "leaf"), count(len(v.Above), "switch"), count(links, "link")))
	y += 2 * rowH
	at := map[string][2]float64{}
	y = c.above(v, y, at)
	lines := len(v.Uplinks) <= maxLines && len(v.Above) <= maxAbove
	if lines && len(v.Above) > 0 {
		y += 70
	}
	body := c.b
	c.b = strings.Builder{}
	y = c.panels(v, y, at)
	panels := c.b.String()
	c.b = body
	if lines {
		for _, t := range v.Uplinks {
			c.link(t, at)
		}
	}
	c.b.WriteString(panels)
	y = c.disagreements(v, y)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"><style>%s</style><rect width="100%%" height="100%%" fill="#fff"/>`+"\n%s</svg>\n",
		c.w+margin, y+margin, c.w+margin, y+margin, style, c.b.String())
	return err
}

// above draws the switches above the leaves in rows.
func (c *canvas) above(v topology.View, y float64, at map[string][2]float64) float64 {
	if len(v.Above) == 0 {
		return y
	}
	x := float64(margin)
	shown := v.Above[:min(len(v.Above), maxAbove)]
	for _, sw := range shown {
		w := width(sw) + 16
		if x+w > maxWidth && x > margin {
			x, y = margin, y+boxH+10
		}
		c.box(x, y, w, boxH, "sw")
		c.text(x+8, y+16, "", sw)
		at[sw] = [2]float64{x + w/2, y + boxH}
		x += w + 14
	}
	if n := len(v.Above) - len(shown); n > 0 {
		c.text(x, y+16, "m", fmt.Sprintf("and %d more", n))
	}
	return y + boxH + 16
}

// panels flows the panels from left to right.
func (c *canvas) panels(v topology.View, y float64, at map[string][2]float64) float64 {
	x, low := float64(margin), y
	for i := range v.Panels {
		p := &v.Panels[i]
		m := measure(p)
		if x+m.width > maxWidth && x > margin {
			x, y = margin, low+14
		}
		c.panel(p, m, x, y, at)
		low = max(low, y+m.height)
		x += m.width + 14
	}
	return low
}

type measures struct{ label, place, cell, width, height, head float64 }

func measure(p *topology.Panel) measures {
	m := measures{cell: cellMin, head: 8}
	for _, col := range p.Columns {
		m.cell = max(m.cell, width(col.Leaf)+10, width(upText(col))+10)
		m.head = 3*rowH + 4
	}
	if len(p.Columns) == 0 {
		m.head = rowH + 6
		m.cell = 0
	}
	for i := range p.Rows {
		r := &p.Rows[i]
		m.label = max(m.label, width(r.Label())+10)
		m.place = max(m.place, width(placeText(r))+10)
		for _, cell := range r.Cells {
			m.cell = max(m.cell, width(cell.Devices)+10)
		}
	}
	m.label = min(m.label, 340)
	m.place = min(m.place, 420)
	m.cell = min(m.cell, 260)
	if m.place <= 10 {
		m.place = 0
	}
	m.width = max(m.label+m.place+m.cell*float64(len(p.Columns))+12, 110)
	m.height = m.head + float64(min(len(p.Rows), maxRows+1))*rowH + 8
	return m
}

func (c *canvas) panel(p *topology.Panel, m measures, x, y float64, at map[string][2]float64) {
	c.box(x, y, m.width, m.height, "p")
	if len(p.Columns) == 0 {
		c.text(x+6, y+rowH, "m", "no leaf known")
	}
	left := x + 6 + m.label + m.place
	for i, col := range p.Columns {
		cx := left + float64(i)*m.cell
		class := "lf"
		if col.Up < col.Most {
			class += " bad"
		}
		c.box(cx, y+4, m.cell-4, 3*rowH-4, class)
		c.text(cx+4, y+16, "h", fit(col.Leaf, m.cell-8))
		c.text(cx+4, y+16+rowH-2, "m", railText(col.Rail))
		up := ""
		if col.Up < col.Most {
			up = "w"
		}
		c.text(cx+4, y+14+2*rowH-2, up, upText(col))
		at[col.Leaf] = [2]float64{cx + m.cell/2, y + 4}
	}
	for i := range p.Rows {
		ry := y + m.head + float64(i)*rowH
		if i == maxRows {
			c.text(x+6, ry+12, "m", fmt.Sprintf("and %d rows more", len(p.Rows)-maxRows))
			return
		}
		c.row(&p.Rows[i], m, x, ry, left)
	}
}

func (c *canvas) row(r *topology.Row, m measures, x, y, left float64) {
	class := ""
	if r.Elsewhere != "" {
		class = "w"
	}
	c.text(x+6, y+12, class, fit(r.Label(), m.label))
	c.text(x+6+m.label, y+12, "m", fit(placeText(r), m.place))
	for i, cell := range r.Cells {
		if cell.Devices == "" {
			continue
		}
		class, word := "c", ""
		if cell.Wrong {
			class, word = "cw", "w"
		}
		cx := left + float64(i)*m.cell
		c.box(cx, y+1, m.cell-4, rowH-2, class)
		c.text(cx+4, y+12, word, fit(cell.Devices, m.cell-8))
	}
}

func (c *canvas) link(t topology.Trunk, at map[string][2]float64) {
	a, okA := at[t.Peer]
	b, okB := at[t.Switch]
	if !okA || !okB {
		return
	}
	if b[1] <= a[1] { // both above: from side to side
		fmt.Fprintf(&c.b, `<path class="l" d="M%.0f %.0f q%.0f 24 %.0f 0"/>`+"\n", a[0], a[1], (b[0]-a[0])/2, b[0]-a[0])
		return
	}
	fmt.Fprintf(&c.b, `<path class="l" d="M%.0f %.0f L%.0f %.0f"><title>%s</title></path>`+"\n", a[0], a[1], b[0], b[1],
		escape(fmt.Sprintf("%s – %s: %s", t.Switch, t.Peer, count(t.Links, "link"))))
}

// disagreements lists the first few below the picture.
func (c *canvas) disagreements(v topology.View, y float64) float64 {
	const most = 12
	if len(v.Disagreements) == 0 {
		return y
	}
	y += 2 * rowH
	c.text(margin, y, "h", count(len(v.Disagreements), "disagreement"))
	for i, d := range v.Disagreements {
		y += rowH
		if i == most {
			c.text(margin, y, "m", fmt.Sprintf("and %d more", len(v.Disagreements)-most))
			break
		}
		c.text(margin, y, "w", fit(d.String(), maxWidth-2*margin))
	}
	return y
}

func (c *canvas) box(x, y, w, h float64, class string) {
	c.w = max(c.w, x+w)
	fmt.Fprintf(&c.b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" rx="3" class="%s"/>`+"\n", x, y, w, h, class)
}

func (c *canvas) text(x, y float64, class, s string) {
	if s == "" {
		return
	}
	c.w = max(c.w, x+width(s))
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(&c.b, `<text x="%.0f" y="%.0f"%s>%s</text>`+"\n", x, y, class, escape(s))
}

func width(s string) float64 { return charW * float64(len([]rune(s))) }

// fit cuts a text to a width.
func fit(s string, w float64) string {
	r := []rune(s)
	if n := int(w / charW); len(r) > n && n > 1 {
		return string(r[:n-1]) + "…"
	}
	return s
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}
