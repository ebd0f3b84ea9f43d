package draw

import (
	"fmt"
	"io"
	"strings"

	"github.com/collwatch/collwatch/topology"
)

// DOT writes a view for Graphviz. Hosts are nodes, or one node for hosts that
// look alike.
func DOT(w io.Writer, v topology.View) error {
	out := &strings.Builder{}
	out.WriteString("graph fabric {\n  rankdir=TB; ranksep=1.2; nodesep=0.15;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n")
	for _, sw := range v.Above {
		fmt.Fprintf(out, "  %s [style=filled, fillcolor=\"#dbe4f0\"];\n", quote(sw))
	}
	for i := range v.Panels {
		p := &v.Panels[i]
		for _, c := range p.Columns {
			label := c.Leaf
			var labelSb23 strings.Builder
			for _, s := range []string{railText(c.Rail), upText(c)} {
				if s != "" {
					labelSb23.WriteString("\n" + s)
				}
			}
			label += labelSb23.String()
			color := ""
			if c.Up < c.Most {
				color = ", color=red"
			}
			fmt.Fprintf(out, "  %s [label=%s, style=filled, fillcolor=\"#e8f0dc\"%s];\n", quote(c.Leaf), quote(label), color)
		}
		for j := range p.Rows {
			r := &p.Rows[j]
			id := fmt.Sprintf("hosts %d %d", i, j)
			label := r.Label()
			if place := placeText(r); place != "" {
				label += "\n" + place
			}
			fmt.Fprintf(out, "  %s [label=%s];\n", quote(id), quote(label))
			for k, c := range r.Cells {
				if c.Devices == "" {
					continue
				}
				attrs := ""
				if c.Wrong {
					attrs = " [color=red, penwidth=2]"
				}
				fmt.Fprintf(out, "  %s -- %s%s;\n", quote(p.Columns[k].Leaf), quote(id), attrs)
			}
		}
	}
	for _, t := range v.Uplinks {
		label := ""
		if t.Links > 1 {
			label = fmt.Sprintf(" [label=%d]", t.Links)
		}
		fmt.Fprintf(out, "  %s -- %s%s;\n", quote(t.Peer), quote(t.Switch), label)
	}
	out.WriteString("}\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
