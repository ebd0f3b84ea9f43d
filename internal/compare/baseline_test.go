package compare

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// updateFlag is true with -update: golden files are written anew.
var updateFlag = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateFlag {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update once")
	require.Equal(t, string(want), string(got))
}

func baselineText(t testing.TB) []byte {
	t.Helper()
	intra := healthy()
	intra.key = Key{"AllGather", 8, 1, "45M", "nvls_simple"}
	rec := record("job 48213", intra, healthy())
	rec.Run = []Series{{SMActive, []float64{0.84, 0.85, 0.83}}, {CPUPressure, []float64{0, 0.01, 0.01}}}
	var b bytes.Buffer
	require.NoError(t, WriteBaseline(&b, rec))
	return b.Bytes()
}

func TestBaselineFile(t *testing.T) {
	text := baselineText(t)
	golden(t, "baseline.json", text)
	rec, err := ReadBaseline(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, "job 48213", rec.Source)
	require.Len(t, rec.Rows, 2)
	require.Len(t, rec.Run, 2)
	var again bytes.Buffer
	require.NoError(t, WriteBaseline(&again, rec))
	require.Equal(t, string(text), again.String(), "reading and saving changes nothing")
}

// TestBaselineJudgesLikeTheJob: rounding to five digits must not matter.
func TestBaselineJudgesLikeTheJob(t *testing.T) {
	slow := healthy()
	slow.time, slow.bandwidth = slow.time*1.2, slow.bandwidth/1.2
	base, cand := record("a", healthy()), record("bb", slow)
	var b bytes.Buffer
	require.NoError(t, WriteBaseline(&b, base))
	saved, err := ReadBaseline(&b)
	require.NoError(t, err)
	direct, file := Compare(base, cand, Settings{}), Compare(saved, cand, Settings{})
	require.Equal(t, direct.Verdict, file.Verdict)
	require.InDelta(t, direct.Rows[0].Of(Time).Change, file.Rows[0].Of(Time).Change, 1e-4)
	require.InDelta(t, direct.Rows[0].Of(Time).High, file.Rows[0].Of(Time).High, 1e-3)
}

func TestBaselineRefusesNonsense(t *testing.T) {
	good := string(baselineText(t))
	edit := func(from, to string) string {
		require.Contains(t, good, from)
		return strings.Replace(good, from, to, 1)
	}
	row := good[strings.Index(good, `  {"op":"AllGather"`):]
	for _, tc := range []struct{ name, text, err string }{
		{"empty", "", "no JSON"},
		{"another JSON", `{"rows": []}`, `"collwatch_baseline" is missing`},
		{"another version", edit(`"collwatch_baseline": 1`, `"collwatch_baseline": 2`), "version 2 is not understood"},
		{"an unknown key", edit(`"source"`, `"sauce"`), "unknown field"},
		{"no rows", edit(good[strings.Index(good, ` "rows": [`):strings.Index(good, ` "run"`)], " \"rows\": [],\n"), "0 rows"},
		{"an unknown metric", edit(`"metric":"time"`, `"metric":"tempo"`), `unknown metric "tempo"`},
		{"a metric twice", edit(`"metric":"transfer"`, `"metric":"time"`), "time is there twice"},
		{"a row twice", edit(` "rows": [`, " \"rows\": [\n"+row[:strings.Index(row, "\n   ]},")+7]), "two rows are AllGather"},
		{"a metric of the run in a row", edit(`"metric":"time"`, `"metric":"step_time"`), "does not belong here"},
		{"a negative value", edit(`"blocks":[`, `"blocks":[-1,`), "block 1 is -1"},
		{"too many blocks", edit(`"blocks":[`, `"blocks":[`+strings.Repeat("1,", 100)), "blocks, not 1 to 48"},
		{"a time that ends before it begins", edit(`"to": "2026`, `"to": "2025`), "no time range"},
		{"more incomplete than read", edit(`"incomplete": 0`, `"incomplete": 81`), "81 of 80"},
		{"a large number", edit(`"nranks":8`, `"nranks":80000000`), "a count of 80000000"},
		{"a merge conflict", edit(` "rows"`, "<<<<<<< ours\n \"rows\""), "no JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadBaseline(strings.NewReader(tc.text))
			require.ErrorContains(t, err, tc.err)
			require.ErrorContains(t, err, "baseline: ")
		})
	}
	_, err := ReadBaseline(strings.NewReader(strings.Repeat(" ", maxFile+1)))
	require.ErrorContains(t, err, "larger than 8 MiB")
	require.ErrorContains(t, WriteBaseline(&bytes.Buffer{}, &Record{From: time.Unix(0, 0)}), "nothing to save")
}

// FuzzReadBaseline: whatever is read can be saved, read again and compared.
func FuzzReadBaseline(f *testing.F) {
	f.Add(baselineText(f))
	f.Add([]byte(`{"collwatch_baseline":1,"rows":[{"op":"a","series":[{"metric":"time","blocks":[1]}]}]}`))
	f.Add([]byte(`{"collwatch_baseline":1,"rows":[{"op":"a","series":[{"metric":"share","blocks":[0,0,0,0,0,0,0,0]}]}],"run":[{"metric":"sm_active","blocks":[0,1e17]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := ReadBaseline(bytes.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, WriteBaseline(&b, rec))
		again, err := ReadBaseline(&b)
		require.NoError(t, err)
		require.Len(t, again.Rows, len(rec.Rows))
		if len(rec.Rows) > 20 {
			return
		}
		res := Compare(rec, again, Settings{Resamples: 20})
		require.NotEqual(t, Regression, res.Verdict)
		for _, write := range []func(*bytes.Buffer) error{
			func(b *bytes.Buffer) error { return WriteJSON(b, res) }, func(b *bytes.Buffer) error { return WriteJUnit(b, res) },
			func(b *bytes.Buffer) error { return WriteHTML(b, res) }, func(b *bytes.Buffer) error { return WriteMarkdown(b, res) },
		} {
			b.Reset()
			require.NoError(t, write(&b))
		}
	})
}
