package promapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// row is a decoded series in a form that can be compared and read.
type row struct {
	Labels  string
	Samples []string
}

func show(in *Interner, r *Result) []row {
	rows := make([]row, 0, r.Len())
	for i := range r.Refs {
		w := row{Labels: in.Labels(r.Refs[i]).String()}
		for _, s := range r.Of(i) {
			w.Samples = append(w.Samples, showSample(s.T, s.V))
		}
		rows = append(rows, w)
	}
	return rows
}

func showSample(t int64, v float64) string {
	if math.IsNaN(v) {
		return fmt.Sprintf("%d NaN", t)
	}
	return fmt.Sprintf("%d %v", t, v)
}

func decodeText(text string) (*decoder, *Result, error) {
	d := newDecoder(newRefCache(NewInterner()))
	var r Result
	err := d.decode(strings.NewReader(text), &r)
	return d, &r, err
}

func answer(kind, result string) string {
	return `{"status":"success","data":{"resultType":"` + kind + `","result":` + result + `}}`
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []row
	}{
		"empty vector": {answer("vector", `[]`), []row{}},
		"no result":    {answer("vector", `null`), []row{}},
		"vector": {
			answer("vector", `[{"metric":{"__name__":"up","job":"a"},"value":[1435781451.781,"1"]},{"metric":{},"value":[1435781451,"-0.25"]}]`),
			[]row{{`up{job="a"}`, []string{"1435781451781 1"}}, {`{}`, []string{"1435781451000 -0.25"}}},
		},
		"matrix": {
			answer("matrix", `[{"metric":{"a":"b"},"values":[[1,"1"],[2.5,"NaN"],[3.125,"+Inf"],[4,"-Inf"],[5,"1e-300"],[6.0005,"12345678901234567890"]]}]`),
			[]row{{`{a="b"}`, []string{"1000 1", "2500 NaN", "3125 +Inf", "4000 -Inf", "5000 1e-300", "6001 1.2345678901234567e+19"}}},
		},
		"scalar": {answer("scalar", `[1.5,"3"]`), []row{{`{}`, []string{"1500 3"}}}},
		"white space and another order": {
			" {\n\"data\" : { \"result\" :\t[ { \"values\" : [ [ 1 , \"1\" ] , [ 2e0 , \"2\" ] ] , \"metric\" : { \"a\" : \"b\" } } ] , \"resultType\" : \"matrix\" } , \"status\" : \"success\" } \r\n",
			[]row{{`{a="b"}`, []string{"1000 1", "2000 2"}}},
		},
		"labels out of order": {answer("vector", `[{"metric":{"b":"2","a":"1"},"value":[1,"1"]}]`), []row{{`{a="1",b="2"}`, []string{"1000 1"}}}},
		"braces, quotes, escapes in labels": {
			answer("vector", `[{"metric":{"a":"},\"value\":[1","b":"\u00e9\ud83d\ude00\ud800 \n\\","c":"}"},"value":[1,"1"]}]`),
			[]row{{"{a=\"},\\\"value\\\":[1\",b=\"é😀\ufffd \\n\\\\\",c=\"}\"}", []string{"1000 1"}}},
		},
		"invalid UTF-8":          {answer("vector", "[{\"metric\":{\"a\":\"x\xff\xfey\"},\"value\":[1,\"1\"]}]"), []row{{"{a=\"x\ufffd\ufffdy\"}", []string{"1000 1"}}}},
		"label named value":      {answer("vector", `[{"metric":{"value":"}","values":"x"},"value":[1,"1"]}]`), []row{{`{value="}",values="x"}`, []string{"1000 1"}}}},
		"metric last":            {answer("vector", `[{"value":[1,"1"],"metric":{"a":"b"}}]`), []row{{`{a="b"}`, []string{"1000 1"}}}},
		"no metric":              {answer("vector", `[{"value":[1,"1"]}]`), []row{{`{}`, []string{"1000 1"}}}},
		"unknown members":        {answer("vector", `[{"x":[{"y":"]}"},null,-1.5e3,true],"metric":{"a":"b"},"value":[1,"1"],"z":{}}]`), []row{{`{a="b"}`, []string{"1000 1"}}}},
		"series without samples": {answer("matrix", `[{"metric":{"a":"b"},"values":[]},{"metric":{"a":"c"},"values":[[1,"1"]]},{}]`), []row{{`{a="c"}`, []string{"1000 1"}}}},
		"histograms are left out": {
			answer("matrix", `[{"metric":{"a":"h"},"histograms":[[1,{"count":"1","buckets":[[0,"1","2","3"]]}]]},{"metric":{"a":"m"},"values":[[1,"1"]],"histograms":[[2,{"sum":"}"}]]}]`),
			[]row{{`{a="m"}`, []string{"1000 1"}}},
		},
		"one series in parts": {
			answer("matrix", `[{"metric":{"a":"b"},"values":[[3,"3"],[4,"4"]]},{"metric":{"a":"c"},"values":[[1,"1"]]},{"metric":{"a":"b"},"values":[[2,"2"],[3,"9"]]}]`),
			[]row{{`{a="b"}`, []string{"2000 2", "3000 3", "4000 4"}}, {`{a="c"}`, []string{"1000 1"}}},
		},
		"out of order": {
			answer("matrix", `[{"metric":{"a":"b"},"values":[[3,"3"],[1,"1"],[2,"2"],[1,"7"]]}]`),
			[]row{{`{a="b"}`, []string{"1000 1", "2000 2", "3000 3"}}},
		},
		"before the epoch": {answer("vector", `[{"metric":{},"value":[-1.25,"1"]}]`), []row{{`{}`, []string{"-1250 1"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			d, r, err := decodeText(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, show(d.cache.in, r))
			require.Equal(t, "success", d.status)

			// Bytes may trickle in, and nothing changes when all is known already.
			require.NoError(t, d.decode(iotest.OneByteReader(strings.NewReader(c.text)), r))
			require.Equal(t, c.want, show(d.cache.in, r))
		})
	}
}

func TestDecodeEnvelope(t *testing.T) {
	d, r, err := decodeText(`{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[],"stats":{"timings":{"x":1},"samples":{"totalQueryableSamples":7,"peakSamples":3}}},"warnings":["w1","w\n2"],"infos":["i"]}`)
	require.NoError(t, err)
	require.True(t, r.Partial)
	require.Equal(t, []string{"w1", "w\n2"}, r.Warnings)
	require.Equal(t, []string{"i"}, r.Infos)
	require.EqualValues(t, 7, d.stats.Samples.Total)

	d, _, err = decodeText(`{"status":"error","errorType":"execution","error":"` + strings.Repeat("x", 5000) + `","data":null}`)
	require.NoError(t, err)
	require.Equal(t, "error", d.status)
	require.Equal(t, "execution", d.errorType)
	require.Less(t, len(d.errorText), 1100, "texts of a server are clipped")

	_, r, err = decodeText(`{"status":"success","warnings":[` + strings.Repeat(`"w",`, 500) + `"w"]}`)
	require.NoError(t, err)
	require.Len(t, r.Warnings, maxWarnings+1)
	require.Equal(t, "and 481 more", r.Warnings[maxWarnings])
}

func TestDecodeCounts(t *testing.T) {
	d, _, err := decodeText(answer("matrix", `[{"metric":{},"values":[[1,"1"]],"histograms":[[2,{}]]},{"metric":{},"values":[[2,"1"]]}]`))
	require.NoError(t, err)
	require.Equal(t, 1, d.histograms)
	require.Equal(t, 1, d.duplicates)
}

func TestDecodeRefuses(t *testing.T) {
	var syntax *syntaxError
	for name, c := range map[string]struct {
		text string
		as   func(error) bool
	}{
		"HTML":               {"<html><body>login</body></html>", func(err error) bool { return errors.As(err, &syntax) }},
		"array":              {"[]", func(err error) bool { return errors.As(err, &syntax) }},
		"no status":          {"{}", func(err error) bool { return errors.As(err, &syntax) }},
		"text behind":        {answer("vector", "[]") + "x", func(err error) bool { return errors.As(err, &syntax) }},
		"label not a string": {answer("vector", `[{"metric":{"a":1},"value":[1,"1"]}]`), func(err error) bool { return errors.As(err, &syntax) }},
		"nested labels":      {answer("vector", `[{"metric":{"a":{"b":"}"},"value":[1,"1"]}]`), func(err error) bool { return errors.As(err, &syntax) }},
		"control character":  {answer("vector", "[{\"metric\":{\"a\":\"\n\"},\"value\":[1,\"1\"]}]"), func(err error) bool { return errors.As(err, &syntax) }},
		"string":             {answer("string", `[1,"text"]`), func(err error) bool { return errors.Is(err, errStringResult) }},
		"value too large":    {answer("vector", `[{"metric":{},"value":[1,"1e999"]}]`), func(err error) bool { return errors.Is(err, errStringResult) }},
		"time too large":     {answer("vector", `[{"metric":{},"value":[1e300,"1"]}]`), func(err error) bool { return errors.As(err, &syntax) }},
		"time NaN":           {answer("vector", `[{"metric":{},"value":[NaN,"1"]}]`), func(err error) bool { return errors.As(err, &syntax) }},
		"label set too long": {answer("vector", `[{"metric":{"a":"`+strings.Repeat("x", maxToken)+`"},"value":[1,"1"]}]`), func(err error) bool { return errors.Is(err, errTokenTooLong) }},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := decodeText(c.text)
			require.Error(t, err)
			require.True(t, c.as(err), "%v", err)
		})
	}
}

func TestDecodeNoticesEachCut(t *testing.T) {
	whole := answer("matrix", `[{"metric":{"a":"b\"}"},"values":[[1,"1"],[2,"2"]],"histograms":[[1,{"a":"b"}]]},{"value":[1,"1"],"metric":{"c":"d"}}]`)
	for n := range len(whole) {
		_, _, err := decodeText(whole[:n])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut to %q", whole[:n])
	}
	broken := errors.New("connection reset")
	d := newDecoder(newRefCache(NewInterner()))
	for n := range len(whole) + 1 {
		err := d.decode(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(broken)), new(Result))
		require.ErrorIs(t, err, broken)
	}
}
