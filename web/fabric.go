package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/topology"
)

// Sizes of the drawing of the fabric.
const (
	boxWidth, boxHeight = 84.0, 34.0
	boxGap              = 10.0
	rowHeight           = 78.0
	maxColumns          = 16
	maxHostsDrawn       = 3
)

// drawing is a part of the fabric with who is suspected in it.
type drawing struct {
	// Form is wide, or tall for a phone.
	Form          string
	Width, Height float64
	Boxes         []box
	Lines         []line
	// Text says the same in words.
	Text string
	// Hidden is how many things were left out.
	Hidden int
}

// box is one thing. Mark is suspect or candidate, "" for others.
type box struct {
	X, Y, W, H float64
	Kind       string // switch, nic, gpu or host
	Label      string
	Mark       string
}

// Middle is where a label stands.
func (b box) Middle() float64 { return b.X + b.W/2 }

// Short is the label as it fits: names differ at their ends.
func (b box) Short() string {
	most := int(b.W / 7.6)
	r := []rune(b.Label)
	if len(r) <= most {
		return b.Label
	}
	return "…" + string(r[len(r)-most+1:])
}

// Base is the line of a label.
func (b box) Base() float64 {
	if b.Kind == "host" {
		return b.Y + b.H - 9
	}
	return b.Y + b.H/2 + 4
}

// MarkBase is the line of the word that marks a suspect.
func (b box) MarkBase() float64 { return b.Y - 7 }

// line leads from one box to another.
type line struct {
	X1, Y1, X2, Y2 float64
	Marked         bool
	from, to       box
}

// draw shows the surroundings of the suspects, or of the candidates if nobody
// is named. nil means that the fabric there is not known.
func draw(inc *incidents.Incident, f *topology.Fabric) *drawing {
	list, mark := inc.NamedSuspects(), "suspect"
	if len(list) == 0 {
		list, mark = inc.Verdict.Candidates, "candidate"
	}
	d := &painter{fabric: f, mark: mark, out: &drawing{Form: "wide"}}
	var hosts, switches []string
	for _, s := range list {
		switch {
		case s.Node != "" && !slices.Contains(hosts, s.Node):
			hosts = append(hosts, s.Node)
		case s.Node == "" && s.Switch != "" && !slices.Contains(switches, s.Switch):
			switches = append(switches, s.Switch)
		}
		d.marked = append(d.marked, s)
	}
	switch {
	case len(hosts) > 0:
		d.hosts(hosts)
	case len(switches) > 0:
		d.leaf(switches[0])
		d.out.Hidden += len(switches) - 1
	}
	if len(d.out.Lines) == 0 {
		return nil // boxes without any connection say nothing
	}
	return d.out
}

// painter puts boxes and lines into a drawing.
type painter struct {
	fabric *topology.Fabric
	mark   string
	marked []diagnosis.Suspect
	out    *drawing
}

func (p *painter) box(x, y, w float64, kind, label, mark string) box {
	b := box{X: x, Y: y, W: w, H: boxHeight, Kind: kind, Label: label, Mark: mark}
	p.out.Boxes = append(p.out.Boxes, b)
	p.out.Width, p.out.Height = max(p.out.Width, x+w+boxGap), max(p.out.Height, y+b.H+boxGap)
	return b
}

// link joins the upper edge of a with the lower edge of b.
func (p *painter) link(a, b box, marked bool) {
	p.out.Lines = append(p.out.Lines, line{a.Middle(), a.Y, b.Middle(), b.Y + b.H, marked, a, b})
}

// markOf says how a device of a host is marked.
func (p *painter) markOf(host, device string) string {
	for _, s := range p.marked {
		if s.Node == host && s.Device == device && device != "" {
			return p.mark
		}
	}
	return ""
}

func (p *painter) hostMark(host string) string {
	for _, s := range p.marked {
		if s.Node == host && s.Device == "" {
			return p.mark
		}
	}
	return ""
}

func (p *painter) switchMark(name string) string {
	for _, s := range p.marked {
		if s.Node == "" && (s.Switch == name || s.Device == name) {
			return p.mark
		}
	}
	return ""
}

// column is a NIC of a host with the GPU next to it.
type column struct {
	nic, gpu, leaf string
}

// columns lists the NICs that carry collectives, and all that are marked.
func (p *painter) columns(host string) []column {
	var out []column
	for _, port := range p.fabric.Ports(host) {
		if port.Compute || p.markOf(host, port.Device) != "" {
			gpu, _ := p.fabric.GPUOf(host, port.Device)
			out = append(out, column{port.Device, gpu, port.Leaf})
		}
	}
	for _, s := range p.marked {
		if s.Node != host || s.Device == "" {
			continue
		}
		if !slices.ContainsFunc(out, func(c column) bool { return c.nic == s.Device || c.gpu == s.Device }) {
			c := column{nic: s.Device, leaf: s.Switch}
			if s.Kind == "gpu" {
				c = column{gpu: s.Device}
			}
			out = append(out, c)
		}
	}
	if len(out) > maxColumns {
		// What is marked stays.
		slices.SortStableFunc(out, func(a, b column) int {
			return number(p.columnMarked(host, b)) - number(p.columnMarked(host, a))
		})
		p.out.Hidden += len(out) - maxColumns
		out = out[:maxColumns]
	}
	return out
}

func (p *painter) columnMarked(host string, c column) bool {
	return p.markOf(host, c.nic) != "" || p.markOf(host, c.gpu) != ""
}

// hosts draws leaves above the NICs and GPUs of some hosts.
func (p *painter) hosts(names []string) {
	if len(names) > maxHostsDrawn {
		p.out.Hidden += len(names) - maxHostsDrawn
		names = names[:maxHostsDrawn]
	}
	leaves := map[string]box{}
	x := boxGap
	rows := make([][]column, len(names))
	leafY, nicY, above := 24.0, 40.0, ""
	for i, host := range names {
		rows[i] = p.columns(host)
		if slices.ContainsFunc(rows[i], func(c column) bool { return c.leaf != "" && c.nic != "" }) {
			nicY, above = leafY+rowHeight, "their leaf switches"
		}
	}
	gpuY := nicY + rowHeight - 16
	for i, host := range names {
		left, cols := x+boxGap, rows[i]
		width := max(float64(len(cols))*(boxWidth+boxGap)+boxGap, 2*boxWidth)
		frame := p.box(x, nicY-26, width, "host", host, p.hostMark(host))
		p.out.Boxes[len(p.out.Boxes)-1].H = gpuY - nicY + boxHeight + 56
		p.out.Height = max(p.out.Height, frame.Y+p.out.Boxes[len(p.out.Boxes)-1].H+boxGap)
		for i, c := range cols {
			p.column(host, c, left+float64(i)*(boxWidth+boxGap), leafY, nicY, gpuY, leaves)
		}
		x += width + 2*boxGap
	}
	if above == "" {
		above = "no switch that is known"
	}
	p.out.Text = fmt.Sprintf("Host %s with its NICs, their GPUs and %s. Marked as %s: %s.", list(names), above, p.mark, p.names())
}

func (p *painter) column(host string, c column, x, leafY, nicY, gpuY float64, leaves map[string]box) {
	var nic box
	if c.nic != "" {
		nic = p.box(x, nicY, boxWidth, "nic", c.nic, p.markOf(host, c.nic))
	}
	if c.gpu != "" {
		gpu := p.box(x, gpuY, boxWidth, "gpu", c.gpu, p.markOf(host, c.gpu))
		if c.nic != "" {
			p.link(gpu, nic, gpu.Mark != "")
		}
	}
	if c.leaf == "" || c.nic == "" {
		return
	}
	leaf, ok := leaves[c.leaf]
	if !ok {
		leaf = p.box(x, leafY, boxWidth, "switch", c.leaf, p.switchMark(c.leaf))
		leaves[c.leaf] = leaf
	}
	p.link(nic, leaf, nic.Mark != "")
}

// leaf draws a switch between its uplinks and the ports under it.
func (p *painter) leaf(name string) {
	under := p.fabric.Under(name)
	var spines []string
	for _, u := range p.fabric.Uplinks(name) {
		if !slices.Contains(spines, u.Peer) {
			spines = append(spines, u.Peer)
		}
	}
	cut := func(n int) int {
		p.out.Hidden += max(0, n-maxColumns)
		return min(n, maxColumns)
	}
	spines, under = spines[:cut(len(spines))], under[:cut(len(under))]
	columns := float64(max(len(spines), len(under), 1))
	middle := boxGap + columns*(boxWidth+boxGap)/2
	top := 24.0
	leafY := top
	if len(spines) > 0 {
		leafY += rowHeight
	}
	leaf := p.box(middle-boxWidth, leafY, 2*boxWidth, "switch", name, p.switchMark(name))
	at := func(i, n int) float64 { return middle + (float64(i)-float64(n)/2)*(boxWidth+boxGap) }
	for i, s := range spines {
		p.link(leaf, p.box(at(i, len(spines)), top, boxWidth, "switch", s, p.switchMark(s)), false)
	}
	for i, port := range under {
		nic := p.box(at(i, len(under)), leafY+rowHeight, boxWidth, "nic", port.Host, "")
		p.link(nic, leaf, leaf.Mark != "")
	}
	p.out.Text = fmt.Sprintf("Switch %s with %d uplinks and %d host ports under it. Marked as %s: %s.",
		name, len(spines), len(under), p.mark, p.names())
}

func (p *painter) names() string {
	var out []string
	for _, s := range p.marked {
		out = append(out, incidents.SuspectText(s))
	}
	return list(out)
}

// list joins names and cuts long lists.
func list(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", list(names[:most]), len(names)-most)
	}
	return strings.Join(names, ", ")
}
