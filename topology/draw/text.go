package draw

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/collwatch/collwatch/topology"
)

// Text writes a view as a tree: switches, then each group of hosts with its
// leaves and hosts.
func Text(w io.Writer, v topology.View) error {
	out := &strings.Builder{}
	links := 0
	for _, t := range v.Uplinks {
		links += t.Links
	}
	fmt.Fprintf(out, "%s, %s, %s, %s above, %s between switches\n", count(v.Hosts, "host"), count(v.Ports, "NIC port"),
		count(v.Leaves, "leaf"), count(len(v.Above), "switch"), count(links, "link"))
	if len(v.Above) > 0 {
		fmt.Fprintf(out, "above: %s\n", list(v.Above, 16))
	}
	for i := range v.Panels {
		panelText(out, &v.Panels[i])
	}
	if n := len(v.Disagreements); n > 0 {
		fmt.Fprintf(out, "\n%s:\n", count(n, "disagreement"))
		for _, d := range v.Disagreements {
			fmt.Fprintf(out, "  %s\n", d)
		}
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func panelText(out *strings.Builder, p *topology.Panel) {
	out.WriteByte('\n')
	if len(p.Columns) == 0 {
		out.WriteString("no leaf known\n")
	}
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range p.Columns {
		fmt.Fprintf(tw, "%s\t%s\t%s\t\n", c.Leaf, railText(c.Rail), upText(c))
	}
	tw.Flush()
	tw = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i := range p.Rows {
		r := &p.Rows[i]
		fmt.Fprintf(tw, "  %s\t%s\t%s\t\n", r.Label(), placeText(r), cellsText(p, r))
	}
	tw.Flush()
}

func railText(rail string) string {
	if rail == "" {
		return ""
	}
	return "rail " + rail
}

func upText(c topology.Column) string {
	switch {
	case c.Most == 0:
		return ""
	case c.Up < c.Most:
		return fmt.Sprintf("%d of %s", c.Up, count(c.Most, "uplink"))
	default:
		return count(c.Up, "uplink")
	}
}

func placeText(r *topology.Row) string {
	var parts []string
	for _, p := range [][2]string{{"rack", r.Rack}, {"domain", r.Domain}, {"pod", r.Pod}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	return strings.Join(parts, ", ")
}

func cellsText(p *topology.Panel, r *topology.Row) string {
	var parts []string
	for i, c := range r.Cells {
		switch {
		case c.Devices == "" || c.Devices == "•" && len(p.Columns) == 1:
		case c.Devices == "•":
			parts = append(parts, p.Columns[i].Leaf)
		case c.Wrong:
			parts = append(parts, c.Devices+"→"+p.Columns[i].Leaf+"(!)")
		default:
			parts = append(parts, c.Devices+"→"+p.Columns[i].Leaf)
		}
	}
	if r.Elsewhere != "" {
		parts = append(parts, r.Elsewhere+" (!)")
	}
	return strings.Join(parts, " ")
}

func list(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func count(n int, what string) string {
	if n != 1 {
		switch {
		case strings.HasSuffix(what, "leaf"):
			what = strings.TrimSuffix(what, "f") + "ves"
		case strings.HasSuffix(what, "ch"):
			what += "es"
		default:
			what += "s"
		}
	}
	return fmt.Sprintf("%d %s", n, what)
}
