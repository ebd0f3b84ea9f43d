package signals

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteCatalogue writes the catalogue as the page docs/signals.md: every
// signal, every dialect, and what each class of fault needs. The page is
// generated so that it cannot say anything else than the code does.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	b.WriteString(catalogueHead)
	b.WriteString("## Signals\n\n| Signal | Unit | Bad direction | Offered by |\n|---|---|---|---|\n")
	offers := map[ID][]string{}
	for _, d := range Catalogue() {
		seen := map[ID]bool{}
		for _, r := range d.Rules {
			if !seen[r.Signal] {
				seen[r.Signal] = true
				offers[r.Signal] = append(offers[r.Signal], "["+d.Name+"](#"+d.Name+")")
			}
		}
	}
	for id := None + 1; id < numIDs; id++ {
		m := id.Meta()
		unit := m.Unit
		if m.Counts && !strings.HasSuffix(unit, "/s") {
			unit += "/s"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, unit, directionText(m.Bad), strings.Join(offers[id], ", "))
	}
	b.WriteString("\n## Dialects\n")
	for _, d := range Catalogue() {
		writeDialect(&b, &d)
	}
	b.WriteString("\n## What each class of fault needs\n\nOf alternatives one is enough. \"Fully\" means as precisely as the class can be diagnosed, \"at all\" what " +
		"is needed to diagnose it coarsely.\n\n| Class | Fully | At all | Beside signals |\n|---|---|---|---|\n")
	for _, r := range Requirements() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Class, needsText(r.Full), needsText(r.Coarse), r.Beside)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("catalogue: %w", err)
	}
	return nil
}

const catalogueHead = `# Signals

<!-- Generated from the catalogue: go test ./signals -run CataloguePage -update -->

collwatch does not work on metric names but on *signals*: quantities with a base unit, whatever exporter they come from. A *dialect* is how one
exporter names them. Which dialects a cluster speaks is found out from the series; several may be mixed, and the one with the lowest rank wins where
two tell about the same thing. ` + "`collwatch coverage`" + ` says what was found in your installation and what is missing.

How values are read:

- Counters become rates per second. A counter that fell, or whose host booted, has one unknown interval; a counter that stands at 2^32-1 is unknown; a
  rate over a gap is the average over the gap.
- The Inspector's files are means over a window. A file counts once, when it was written: a file that is scraped again is nothing new.
- Message sizes are folded into classes of quarter octaves (128M is 117 to 140 MB), so that a small change of a model keeps its series and a large one
  gets another. Different sizes are never averaged.
- Hosts are compared in lower case, without domain and port; ` + "`instance`" + ` leads to the host's own name through ` + "`node_uname_info`" + `, pods to their
  node through ` + "`kube_pod_info`" + `.
- The Inspector calls a GPU by its ordinal inside the process (` + "`" + `GPU0` + "`" + `). Where the UUIDs in its file names or the jobs that dcgm-exporter tells show
  that a job has other GPUs, the ordinals are matched to these in order; where they cannot be, the GPU is called ` + "`" + `CUDA0` + "`" + `: a GPU of that process,
  which is not taken for the GPU 0 of the driver.
- A job that no series names (the Inspector says ` + "`" + `unknown` + "`" + ` on Kubernetes) is told by the labels of its pods. Where these are not exported, hosts that
  share a communicator whose members are all seen are taken for one job, called ` + "`" + `unnamed-` + "`" + ` and its first host.
- Units that differ from site to site are decided by the values, once per target, and shown by ` + "`collwatch coverage`" + `.

`

func writeDialect(b *strings.Builder, d *Dialect) {
	fmt.Fprintf(b, "\n### %s\n\n%s. Rank %d.", d.Name, d.About, d.Rank)
	if len(d.Where) > 0 {
		fmt.Fprintf(b, " Recognised by the labels `%s`.", strings.Join(d.Where, "`, `"))
	}
	if text := columnsText(&d.Columns); text != "" {
		fmt.Fprintf(b, "\n\nLabels: %s.", text)
	}
	b.WriteString("\n\n| Metric | Signal | Read as | Detail | Remarks |\n|---|---|---|---|---|\n")
	for _, r := range d.Rules {
		name := r.Metric
		if len(r.Where) > 0 {
			name += "{" + strings.Join(r.Where, ",") + "}"
		}
		read := r.Type.String()
		if r.Scale != 0 && r.Scale != 1 {
			read += " × " + strconv.FormatFloat(r.Scale, 'g', -1, 64)
		}
		var notes []string
		for _, n := range []string{r.Note, r.Repair.String(), r.Enable} {
			if n != "" {
				notes = append(notes, n)
			}
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s | %s |\n", strings.ReplaceAll(name, "|", `\|`), r.Signal, read, r.Detail, strings.Join(notes, "; "))
	}
}

func columnsText(c *Columns) string {
	var out []string
	for _, f := range []struct{ what, labels string }{
		{"host", c.Host},
		{"device", c.Device},
		{"UUID", c.UUID},
		{"port", c.Port},
		{"job", c.Job},
		{"communicator", c.Comm},
		{"operation", c.Op},
		{"size", c.Size},
		{"ranks", c.NRanks},
		{"nodes", c.NNodes},
		{"rank", c.Rank},
		{"algorithm", c.Algo},
		{"peer", c.Peer},
		{"pod", c.Pod},
	} {
		if f.labels != "" && f.labels != "-" {
			out = append(out, f.what+" `"+strings.ReplaceAll(f.labels, "|", "` or `")+"`")
		}
	}
	return strings.Join(out, ", ")
}

func directionText(d Direction) string {
	switch d {
	case Up:
		return "up"
	case Down:
		return "down"
	}
	return "context"
}

func needsText(needs [][]ID) string {
	var out []string
	for _, alternatives := range needs {
		var names []string
		for _, id := range alternatives {
			names = append(names, id.String())
		}
		out = append(out, strings.Join(names, " or "))
	}
	return strings.Join(out, "; ")
}
