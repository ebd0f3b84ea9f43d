package embedprom

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/promapi"
)

const goodText = `# HELP m A gauge.
# TYPE m gauge
m{node="a"} 1 10
m{node="a"} 2.5e3 20.001
m{node="quote \" brace } back \\ line \n end"} +Inf 20
m{node="a"} 3 5
# TYPE c counter
c_total 5 20 # {trace="x"} 1 19.5
{"dotted.name",node="a"} NaN 20
# EOF
`

func load(t *testing.T, text []byte) (*DB, LoadStats, error) {
	t.Helper()
	db := openTest(t, Options{})
	st, err := db.LoadOpenMetrics(t.Context(), bytes.NewReader(text), nil)
	return db, st, err
}

func gz(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestLoad(t *testing.T) {
	for name, text := range map[string][]byte{
		"plain":               []byte(goodText),
		"gzip":                gz(t, goodText),
		"no break at the end": []byte(strings.TrimSuffix(goodText, "\n")),
		"line ends of DOS":    []byte(strings.ReplaceAll(goodText, "\n", "\r\n")),
	} {
		t.Run(name, func(t *testing.T) {
			db, st, err := load(t, text)
			require.NoError(t, err)
			require.Equal(t, int64(6), st.Samples)
			require.Equal(t, int64(4), st.Series)
			q := db.Querier()
			require.Equal(t, []series{
				{`m{node="a"}`, []string{sample(5000, 3), sample(10_000, 1), sample(20_001, 2500)}},
				{`m{node="quote \" brace } back \\ line \n end"}`, []string{sample(20_000, math.Inf(1))}},
			}, instant(t, q, "m[1m]", 30_000))
			require.Equal(t, []series{{`c_total{}`, []string{sample(20_000, 5)}}}, instant(t, q, "c_total[1m]", 30_000))
			require.Len(t, instant(t, q, `{"dotted.name"}`, 30_000), 1)
		})
	}
}

func TestLoadNamesTheLine(t *testing.T) {
	zipped := gz(t, goodText)
	for name, c := range map[string]struct {
		text []byte
		line int64
		cut  bool
		says string
	}{
		"cut in a number":      {[]byte("m 1 10\nm 1 2"), 2, true, "does not end"},
		"no EOF mark":          {[]byte("m 1 10\n"), 2, true, "# EOF"},
		"empty":                {nil, 1, true, "# EOF"},
		"cut gzip":             {zipped[:len(zipped)-20], 0, true, "unexpected EOF"},
		"damaged gzip head":    {[]byte{0x1f, 0x8b, 0xff, 1, 1, 1, 1, 1, 1, 1, 1}, 1, true, "gzip"},
		"no timestamp":         {[]byte("m 1 10\nm{a=\"b\"} 1\n# EOF\n"), 2, false, "timestamp"},
		"exemplar without":     {[]byte("m 1 # {} 1\n# EOF\n"), 1, false, "timestamp"},
		"milliseconds":         {[]byte("m 1 1700000000000\n# EOF\n"), 1, false, "not milliseconds"},
		"timestamp not number": {[]byte("m 1 NaN\n# EOF\n"), 1, false, "1970"},
		"value not a number":   {[]byte("m one 1\n# EOF\n"), 1, false, "number"},
		"three numbers":        {[]byte("m 1 1 1\n# EOF\n"), 1, false, "unexpected text"},
		"open brace":           {[]byte("m 1 1\nm{a=\"b} 1 1\n# EOF\n"), 2, false, "expected a series"},
		"bad label":            {[]byte("m{1a=\"b\"} 1 1\n# EOF\n"), 1, false, ""},
		"twice a label":        {[]byte("m{a=\"b\",a=\"c\"} 1 1\n# EOF\n"), 1, false, "occurs twice"},
		"invalid UTF-8":        {[]byte("m{a=\"\xff\"} 1 1\n# EOF\n"), 1, false, "UTF-8"},
		"after EOF":            {[]byte("m 1 1\n# EOF\nm 1 2\n"), 3, false, "goes on"},
		"long line":            {[]byte("m{a=\"" + strings.Repeat("x", maxLine) + "\"} 1 1\n# EOF\n"), 1, false, "longer"},
		"HTML":                 {[]byte("<html>\n<body>\n"), 1, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			db, st, err := load(t, c.text)
			var le *LoadError
			require.ErrorAs(t, err, &le)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.cut, le.Cut)
			if c.line > 0 {
				require.Equal(t, c.line, le.Line)
				require.Equal(t, c.line-1, st.Lines)
			}
			if bytes.HasPrefix(c.text, []byte("m 1 10\n")) {
				require.Len(t, instant(t, db.Querier(), "m", 10_000), 1, "what came before is usable")
			}
		})
	}
}

func TestLoadCountsDuplicates(t *testing.T) {
	_, st, err := load(t, []byte("m 1 1\nm 2 1\nm 1 1\nm 3 2\n# EOF\n"))
	require.NoError(t, err)
	require.Equal(t, int64(1), st.Duplicates)
}

func TestLoadStopsWithItsContext(t *testing.T) {
	db := openTest(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var text strings.Builder
	for i := range 3 * reportEvery {
		fmt.Fprintf(&text, "m 1 %d\n", i)
	}
	_, err := db.LoadOpenMetrics(ctx, strings.NewReader(text.String()), func(st LoadStats) {
		require.Equal(t, int64(reportEvery), st.Lines)
		cancel()
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpenTSDB(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	_, err = db.LoadOpenMetrics(t.Context(), strings.NewReader(goodText), nil)
	require.NoError(t, err)
	want := instant(t, db.Querier(), "m[1m]", 30_000)
	require.NoError(t, db.Close())

	ro, err := OpenTSDB(dir, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ro.Close()) }()
	require.Equal(t, want, instant(t, ro.Querier(), "m[1m]", 30_000))
	require.Equal(t, want, byEngine(t, ro, "m[1m]", 30_000))
	s := ro.Appender()
	require.ErrorIs(t, s.Append(s.Series("__name__", "m"), 1, 1), errReadOnly)
	vs, err := ro.Querier().LabelValues(t.Context(), "node", nil, promapi.Window{Start: time.UnixMilli(0), End: time.UnixMilli(1e6)})
	require.NoError(t, err)
	require.Len(t, vs, 2)
}

func TestOpenTSDBRefusesOtherFolders(t *testing.T) {
	_, err := OpenTSDB(t.TempDir(), Options{})
	require.ErrorContains(t, err, "neither blocks nor a wal")
	_, err = OpenTSDB(t.TempDir()+"/none", Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// FuzzLoad checks that no text brings the loader down.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(goodText))
	f.Add([]byte("m{a=\"}\"} 0x1p3 1\n# EOF"))
	f.Add([]byte("m 1e999 1\nm{} -0 1.5\n# EOF\n"))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		db, err := Open(Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		_, err = db.LoadOpenMetrics(t.Context(), bytes.NewReader(text), nil)
		var le *LoadError
		if err != nil && !errors.As(err, &le) {
			t.Fatalf("unexpected kind of error: %v", err)
		}
	})
}
