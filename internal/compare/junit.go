package compare

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitNote `xml:"failure"`
	Skipped *junitNote `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitNote struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a result as JUnit XML: one test case an operation. A
// regression is a failure; what cannot be compared is skipped, with the reason.
func WriteJUnit(w io.Writer, res *Result) error {
	suite := junitSuite{Name: "collwatch compare", Properties: []junitProperty{
		{"verdict", string(res.Verdict)}, {"why", clean(res.Why)}, {"baseline", clean(Describe(res.Base))}, {"candidate", clean(Describe(res.Cand))},
	}}
	if !res.Cand.To.IsZero() {
		suite.Timestamp = res.Cand.To.UTC().Format(time.RFC3339)
	}
	for i := range res.Rows {
		r := &res.Rows[i]
		var text strings.Builder
		for _, c := range r.Causes {
			text.WriteString("cause: " + c + "\n")
		}
		writeEstimates(&text, r.Metrics)
		c := junitCase{Class: "collwatch." + clean(r.Key().Op), Name: clean(r.Key().String()), Out: clean(text.String())}
		switch r.Verdict {
		case Regression:
			c.Failure = &junitNote{Type: string(Regression), Message: clean(r.Why), Text: c.Out}
			c.Out = ""
			suite.Failures++
		case NotComparable:
			c.Skipped = &junitNote{Message: clean(r.Why)}
			suite.Skipped++
		case Improvement, NoDifference:
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	out := junitSuites{Tests: suite.Tests, Failures: suite.Failures, Skipped: suite.Skipped, Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("comparison as JUnit: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("comparison as JUnit: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("comparison as JUnit: %w", err)
	}
	return nil
}

// clean drops what XML cannot carry. Labels may hold anything.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || (r >= 0x20 && r != 0xFFFD && r != 0xFFFE && r != 0xFFFF && (r < 0xD800 || r > 0xDFFF)) {
			return r
		}
		return -1
	}, s)
}
