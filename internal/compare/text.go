package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
)

// WriteText writes a result for a terminal.
func WriteText(w io.Writer, res *Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n\n", strings.ToUpper(string(res.Verdict)), res.Why)
	fmt.Fprintf(b, "  baseline   %s\n  candidate  %s\n", Describe(res.Base), Describe(res.Cand))
	for _, n := range res.Notes {
		fmt.Fprintf(b, "  note       %s\n", n)
	}
	for i := range res.Rows {
		r := &res.Rows[i]
		fmt.Fprintf(b, "\n%s\n  %s: %s\n", r.Key(), r.Verdict, r.Why)
		for _, c := range r.Causes {
			fmt.Fprintf(b, "  cause: %s\n", c)
		}
		writeEstimates(b, r.Metrics)
	}
	if len(res.Run) > 0 {
		fmt.Fprintf(b, "\nthe whole run (context, no verdict)\n")
		writeEstimates(b, res.Run)
	}
	fmt.Fprintf(b, "\n%s\n", res.Footnote())
	return b.Flush()
}

func writeEstimates(w io.Writer, list []Estimate) {
	for i := range list {
		e := &list[i]
		fmt.Fprintf(w, "    %-20s %11s → %-11s %9s  [%s, %s]\n", e.Metric.Title(), e.Metric.Format(e.Base), e.Metric.Format(e.Cand),
			e.Metric.FormatChange(e.Change), e.Metric.FormatChange(e.Low), e.Metric.FormatChange(e.High))
	}
}

// single drops control characters: names are foreign, and end in terminals and in
// logs.
func single(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Describe says what a record was made from.
func Describe(r *Record) string {
	if r.From.IsZero() {
		return r.Source + ", no values"
	}
	return fmt.Sprintf("%s, %s to %s (%s)", r.Source, r.From.UTC().Format(time.RFC3339), r.To.UTC().Format(time.RFC3339), r.Duration().Round(time.Second))
}

// Footnote says how to read the intervals.
func (res *Result) Footnote() string {
	return fmt.Sprintf("A change counts from %.3g %% and if its interval excludes none. The %d deciding intervals hold together with %.3g %% confidence; "+
		"autocorrelation is accounted for. Two runs differ by more than their windows tell: compare runs on the same hosts.",
		100*res.Settings.FailOn, res.Tests, 100*res.Settings.Confidence)
}
