package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/collwatch/collwatch/internal/compare"
)

// WriteMarkdown writes the report as Markdown. The heat map becomes a list of who
// was late for how long.
func (r *Report) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	md := compare.EscapeMarkdown
	fmt.Fprintf(b, "# Job %s\n\n%s\n", md(r.Job), md(r.headline()))
	fmt.Fprint(b, "\n## What to change first\n\n")
	if len(r.Advice) == 0 {
		fmt.Fprint(b, r.nothing()+"\n")
	}
	for i, a := range r.Advice {
		fmt.Fprintf(b, "%d. **%s** %s\n", i+1, md(a.What), md(a.Why))
	}
	fmt.Fprint(b, "\n## Costs by operation\n\n| operation | share of wall time | mean time | bus bandwidth | transfer | waiting | unsteady by |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range r.Costs {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", md(c.Key.String()), compare.Share.Format(c.Share), compare.Time.Format(c.Time),
			compare.Bandwidth.Format(c.Bandwidth), compare.Transfer.Format(c.Transfer), compare.Lateness.Format(c.Waiting), compare.Time.FormatChange(c.Spread))
	}
	fmt.Fprintf(b, "\n## Incidents\n\n")
	if len(r.Incidents) == 0 {
		fmt.Fprint(b, "None.\n")
	} else {
		fmt.Fprint(b, "| from | to | severity | class | suspect | summary |\n| --- | --- | --- | --- | --- | --- |\n")
	}
	for _, i := range r.Incidents {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", stamp(i.From), until(i.To), i.Severity, i.Class, md(orNobody(i.Suspect)), md(i.Summary))
	}
	fmt.Fprint(b, "\n## Who came late\n\n")
	late := r.latest(5)
	if len(late) == 0 {
		fmt.Fprint(b, "Nobody for long.\n")
	}
	for _, l := range late {
		fmt.Fprintf(b, "- %s: late in %.0f %% of the time\n", md(l.name), 100*l.share)
	}
	return b.Flush()
}

// headline says what the page is about.
func (r *Report) headline() string {
	parts := []string{fmt.Sprintf("%s to %s (%s)", stamp(r.From), stamp(r.To), r.To.Sub(r.From).Round(time.Second))}
	if r.Hosts > 0 {
		parts = append(parts, fmt.Sprintf("%d hosts, %d GPUs", r.Hosts, r.GPUs))
	}
	for _, s := range []struct{ name, v string }{{"name", r.Name}, {"user", r.User}} {
		if s.v != "" {
			parts = append(parts, s.name+" "+s.v)
		}
	}
	if r.HostsKnown > r.HostsRead {
		parts = append(parts, fmt.Sprintf("read: %d of %d hosts of the cluster, the others have nothing to do with it", r.HostsRead, r.HostsKnown))
	}
	if r.FailedTicks > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d evaluations failed", r.FailedTicks, r.Ticks))
	}
	if known(r.WaitingOverall) {
		parts = append(parts, fmt.Sprintf("%s of the time of collectives is waiting", compare.Lateness.Format(r.WaitingOverall)))
	}
	return strings.Join(parts, "; ") + "."
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func until(t time.Time) string {
	if t.IsZero() {
		return "still open"
	}
	return stamp(t)
}

func orNobody(s string) string {
	if s == "" {
		return "nobody"
	}
	return s
}
