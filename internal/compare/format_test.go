package compare

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mixed has a row of each verdict, and labels that try to break out.
func mixed() *Result {
	same, slow, fast, gone := healthy(), healthy(), healthy(), healthy()
	same.key = Key{"AllGather", 8, 1, "45M", "nvls_simple"}
	slow.key.Op = "ReduceScatter"
	gone.key.Algo, gone.key.Op = `<script>alert("x")</script>|@all`, "Broadcast"
	fast.key.Size, fast.bytes = "256M", 268e6
	slow2, fast2 := slow, fast
	slow2.time, slow2.bandwidth = slow.time*1.2, slow.bandwidth/1.2
	fast2.time, fast2.bandwidth = fast.time*0.8, fast.bandwidth/0.8
	base, cand := record("job <b>1</b>", same, slow, fast, gone), record("job 2", same, slow2, fast2)
	base.Run = []Series{{SMActive, ramp(20, 0.84)}}
	cand.Run = []Series{{SMActive, ramp(20, 0.80)}}
	cand.Incomplete = 1
	return Compare(base, cand, Settings{})
}

func ramp(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v + 0.001*float64(i%3)
	}
	return out
}

func TestGolden(t *testing.T) {
	res := mixed()
	require.Equal(t, Regression, res.Verdict)
	for name, write := range map[string]func(io.Writer, *Result) error{
		"mixed.txt": WriteText, "mixed.json": WriteJSON, "mixed.xml": WriteJUnit, "mixed.md": WriteMarkdown, "mixed.html": WriteHTML,
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, write(&b, res))
			golden(t, name, b.Bytes())
			if name == "mixed.html" || name == "mixed.md" {
				require.NotContains(t, b.String(), "<script")
				require.NotContains(t, b.String(), "<b>")
			}
			if name == "mixed.md" {
				require.NotContains(t, b.String(), "@all")
			}
		})
	}
}

// TestJUnitIsUnderstood parses what was written as its readers do: counts agree
// with cases, a failure is a regression and the rest is none.
func TestJUnitIsUnderstood(t *testing.T) {
	res := mixed()
	var b bytes.Buffer
	require.NoError(t, WriteJUnit(&b, res))
	var got struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Class   string `xml:"classname,attr"`
				Name    string `xml:"name,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Skipped *struct {
					Message string `xml:"message,attr"`
				} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	dec := xml.NewDecoder(&b)
	dec.Strict = true
	require.NoError(t, dec.Decode(&got))
	require.Len(t, got.Suites, 1)
	s := got.Suites[0]
	require.Len(t, s.Cases, len(res.Rows))
	require.Equal(t, len(res.Rows), got.Tests)
	require.Equal(t, 1, got.Failures)
	require.Equal(t, 1, s.Failures)
	require.Equal(t, 1, s.Skipped)
	names := map[string]bool{}
	for i, c := range s.Cases {
		require.False(t, names[c.Name], "names are unique")
		names[c.Name] = true
		require.Equal(t, res.Rows[i].Verdict == Regression, c.Failure != nil)
		require.Equal(t, res.Rows[i].Verdict == NotComparable, c.Skipped != nil)
		if c.Failure != nil {
			require.Equal(t, res.Rows[i].Why, c.Failure.Message)
		}
	}
}

func TestJUnitCarriesAnyLabel(t *testing.T) {
	r := healthy()
	r.key.Op = "All\x00Reduce\x1b[31m]]>\xff"
	res := Compare(record("a\x07", r), record("bb", r), Settings{})
	var b bytes.Buffer
	require.NoError(t, WriteJUnit(&b, res))
	var anything struct{}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &anything))
}

func TestJSONHasNoHoles(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, mixed()))
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, "regression", got["verdict"])
	require.Len(t, got["rows"], 4)
	b.Reset()
	require.NoError(t, WriteJSON(&b, Compare(&Record{Source: "a"}, &Record{Source: "b"}, Settings{})))
	require.NotContains(t, b.String(), `"rows": null`)
}

func TestFormatOfValues(t *testing.T) {
	for _, tc := range []struct {
		m    Metric
		v    float64
		want string
	}{
		{Time, 6.4213e-3, "6.42 ms"},
		{Time, 12.3e-6, "12.3 µs"},
		{Time, 2.5, "2.50 s"},
		{Bandwidth, 41.23e9, "41.2 GB/s"},
		{Bandwidth, 360e9, "360 GB/s"},
		{Lateness, 0.0213, "2.1 %"},
		{Bandwidth, 0, "0 GB/s"},
	} {
		require.Equal(t, tc.want, tc.m.Format(tc.v))
	}
	require.Equal(t, "+5.0 %", Time.FormatChange(0.05))
	require.Equal(t, "-1.5 pt", Lateness.FormatChange(-0.015))
	require.Equal(t, "×21", Time.FormatChange(20))
	require.True(t, strings.HasPrefix(Time.Format(nan()), "–"))
}
