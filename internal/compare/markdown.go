package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes a result as Markdown, as a comment on a change or a
// summary of a pipeline shows it.
func WriteMarkdown(w io.Writer, res *Result) error {
	b, md := bufio.NewWriter(w), EscapeMarkdown
	fmt.Fprintf(b, "## %s %s\n\n%s.\n\n", mark(res.Verdict), title(res.Verdict), md(res.Why))
	fmt.Fprintf(b, "- baseline: %s\n- candidate: %s\n", md(Describe(res.Base)), md(Describe(res.Cand)))
	for _, n := range res.Notes {
		fmt.Fprintf(b, "- note: %s\n", md(n))
	}
	_, _ = b.WriteString("\n| operation | verdict | mean time | bus bandwidth | transfer | waiting | share |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range res.Rows {
		r := &res.Rows[i]
		fmt.Fprintf(b, "| %s | %s %s |", md(r.Key().String()), mark(r.Verdict), r.Verdict)
		for m := range rowMetrics {
			fmt.Fprintf(b, " %s |", mdCell(r.Of(m)))
		}
		_, _ = b.WriteString("\n")
	}
	_, _ = b.WriteString("\n")
	for i := range res.Rows {
		r := &res.Rows[i]
		if r.Verdict == NoDifference {
			continue
		}
		fmt.Fprintf(b, "- **%s**: %s: %s\n", md(r.Key().String()), r.Verdict, md(strings.Join(append([]string{r.Why}, r.Causes...), "; ")))
	}
	if len(res.Run) > 0 {
		_, _ = b.WriteString("\n| whole run | baseline | candidate | change | interval |\n| --- | --- | --- | --- | --- |\n")
		for i := range res.Run {
			e := &res.Run[i]
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s to %s |\n", e.Metric.Title(), e.Metric.Format(e.Base), e.Metric.Format(e.Cand),
				e.Metric.FormatChange(e.Change), e.Metric.FormatChange(e.Low), e.Metric.FormatChange(e.High))
		}
	}
	fmt.Fprintf(b, "\n<sub>%s</sub>\n", res.Footnote())
	return b.Flush()
}

func mdCell(e *Estimate) string {
	if e == nil {
		return "–"
	}
	return fmt.Sprintf("%s → %s (%s)", e.Metric.Format(e.Base), e.Metric.Format(e.Cand), e.Metric.FormatChange(e.Change))
}

func title(v Verdict) string {
	s := string(v)
	return strings.ToUpper(s[:1]) + s[1:]
}

// mark is a sign for people who skim.
func mark(v Verdict) string {
	switch v {
	case Regression:
		return "✘"
	case Improvement:
		return "▲"
	case NoDifference:
		return "✔"
	case NotComparable:
		return "?"
	}
	return ""
}

// EscapeMarkdown makes a foreign text harmless in Markdown and in tables: labels may hold
// anything, and a comment must not ping people or load pictures.
func EscapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case r < 0x20:
		case r == '<':
			_, _ = b.WriteString("&lt;")
		case r == '>':
			_, _ = b.WriteString("&gt;")
		case r == '&':
			_, _ = b.WriteString("&amp;")
		case r == '@':
			_, _ = b.WriteString("@\u200b") // an entity would still ping: mentions are looked for in what is shown
		case strings.ContainsRune("\\`*_{}[]#|!~", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
