package promapi

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// uniqueJSON reads one value with encoding/json. It refuses objects in which a
// name occurs twice, of which readers differ.
func uniqueJSON(dec *json.Decoder) (any, bool) {
	tok, err := dec.Token()
	if err != nil {
		return nil, false
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, ok := uniqueJSON(dec)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err == nil
	case json.Delim('{'):
		object := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, false
			}
			v, ok := uniqueJSON(dec)
			if _, twice := object[name.(string)]; twice || !ok {
				return nil, false
			}
			object[name.(string)] = v
		}
		_, err = dec.Token()
		return object, err == nil
	}
	return tok, true
}

// jsonRows reads an answer by encoding/json, slowly and surely. ok is false if
// it is no answer with series.
func jsonRows(text string) (rows []row, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	whole, ok := uniqueJSON(json.NewDecoder(strings.NewReader(text)))
	top, _ := whole.(map[string]any)
	data, _ := top["data"].(map[string]any)
	result, _ := data["result"].([]any)
	if !ok || top["status"] != "success" {
		return nil, false
	}
	series := make(map[string]map[int64]float64)
	for _, e := range result {
		s, ok := e.(map[string]any)
		if !ok || !jsonSeries(s, series) {
			return nil, false
		}
	}
	for labels, samples := range series {
		r := row{Labels: labels}
		for at, v := range samples {
			r.Samples = append(r.Samples, showSample(at, v))
		}
		slices.Sort(r.Samples)
		rows = append(rows, r)
	}
	slices.SortFunc(rows, byLabels)
	return rows, true
}

func byLabels(a, b row) int { return strings.Compare(a.Labels, b.Labels) }

func jsonSeries(s map[string]any, all map[string]map[int64]float64) bool {
	if _, both := s["value"]; both && s["values"] != nil {
		return false // which of them comes first is lost
	}
	var ls Labels
	metric, ok := s["metric"].(map[string]any)
	if s["metric"] != nil && !ok {
		return false
	}
	for n, v := range metric {
		text, ok := v.(string)
		if !ok {
			return false
		}
		ls = append(ls, Label{n, text})
	}
	slices.SortFunc(ls, byName)
	pairs, ok := s["values"].([]any)
	if s["values"] != nil && !ok {
		return false
	}
	if v, ok := s["value"]; ok {
		pairs = append(pairs, v)
	}
	for _, p := range pairs {
		pair, _ := p.([]any)
		if len(pair) != 2 {
			return false
		}
		at, ok := pair[0].(float64)
		text, ok2 := pair[1].(string)
		v, ok3 := parseValue([]byte(text))
		if !ok || !ok2 || !ok3 || math.Abs(at) >= maxSeconds {
			return false
		}
		key, ms := fmt.Sprintf("%q", ls), int64(math.Round(at*1000))
		if all[key] == nil {
			all[key] = make(map[int64]float64)
		}
		if _, twice := all[key][ms]; !twice {
			all[key][ms] = v
		}
	}
	return true
}

// FuzzDecode compares with encoding/json: what that understands as series has
// to come out alike.
func FuzzDecode(f *testing.F) {
	for _, result := range []string{
		`[{"metric":{"__name__":"up","job":"a"},"value":[1435781451.781,"1"]}]`,
		`[{"metric":{"a":"},\"value\":[1","b":"\u00e9\ud83d\ude00\ud800"},"values":[[1,"1"],[2.5,"NaN"],[0.5,"-Inf"]]}]`,
		`[ { "values" : [ [ 1e1 , "1" ] ] , "metric" : { } } , {"metric":{"value":"}"},"value":[1,"1"]}]`,
		"[{\"metric\":{\"a\":\"\xff\"},\"value\":[1,\"1\"],\"histogram\":[1,{}]}]",
	} {
		f.Add(answer("vector", result))
	}
	f.Add(`{"status":"error","error":"x","warnings":["a",null],"data":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		want, ok := jsonRows(text)
		d := newDecoder(newRefCache(NewInterner()))
		var r Result
		err := d.decode(iotest.HalfReader(strings.NewReader(text)), &r)
		if !ok {
			return
		}
		require.NoError(t, err)
		require.Len(t, r.Offsets, r.Len()+1)
		var got []row
		for i := range r.Refs {
			w := row{Labels: fmt.Sprintf("%q", d.cache.in.Labels(r.Refs[i]))}
			for _, s := range r.Of(i) {
				w.Samples = append(w.Samples, showSample(s.T, s.V))
			}
			slices.Sort(w.Samples)
			got = append(got, w)
		}
		slices.SortFunc(got, byLabels)
		require.Equal(t, want, got)
	})
}
