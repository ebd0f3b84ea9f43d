package flightrec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodePickle(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want any
	}{
		"protocol 2": {
			"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01K\x05X\x01\x00\x00\x00bq\x02]q\x03(K\x01\x88Neu.",
			map[string]any{"a": int64(5), "b": []any{int64(1), true, nil}},
		},
		"protocol 4":               {"\x80\x04\x95\x0e\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01k\x94\x8c\x01v\x94s.", map[string]any{"k": "v"}},
		"text protocol":            {"(dp0\nS'a'\np1\nI7\nsS'b'\nL12L\ns.", map[string]any{"a": int64(7), "b": int64(12)}},
		"tuple":                    {"\x80\x02K\x01K\x02\x86.", []any{int64(1), int64(2)}},
		"number as key":            {"\x80\x02}K\x07\x89s.", map[string]any{"7": false}},
		"time above 2^53":          {"\x80\x02\x8a\x08\x81\xb7\x05\xd9\xa6\xc1\x67\x18.", int64(0x1867c1a6d905b781)},
		"negative":                 {"\x80\x02\x8a\x01\xff.", int64(-1)},
		"float":                    {"\x80\x02G?\xf8\x00\x00\x00\x00\x00\x00.", 1.5},
		"the same object in twice": {"\x80\x02]q\x00(]q\x01h\x01e.", []any{[]any{}, []any{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decodePickle([]byte(tc.in))
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestDecodePickleRefuses(t *testing.T) {
	nested := "\x80\x02" + strings.Repeat("]", 1) + "q\x00h\x00a."
	for name, tc := range map[string]struct{ in, want string }{
		"a call":               {"cos\nsystem\n(S'true'\ntR.", "not allowed"},
		"a global by stack":    {"\x80\x04\x8c\x02os\x8c\x06system\x93.", "not allowed"},
		"a persistent id":      {"Pid\n.", "not allowed"},
		"a cut file":           {"\x80\x02X\xff\xff\x00\x00ab", "in the middle"},
		"nothing":              {"", "in the middle"},
		"an empty stack":       {"\x80\x02.", "empty"},
		"a missing mark":       {"\x80\x02K\x01t.", "no mark"},
		"an unknown memo":      {"\x80\x02h\x05.", "nothing is stored"},
		"a list as key":        {"\x80\x02}]K\x01s.", "cannot be a key"},
		"a list in itself":     {nested, "nested deeper"},
		"a key without value":  {"\x80\x02}(K\x01u.", "without a value"},
		"a mark left behind":   {"\x80\x02(.", "mark"},
		"a newer protocol":     {"\x80\x09N.", "protocol 9"},
		"a length of 2^63":     {"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa.", "in the middle"},
		"an object of a class": {"\x80\x02cx\ny\n)\x81.", "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decodePickle([]byte(tc.in))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// A few bytes that share one list at every level unfold into 10^n objects.
func TestDecodePickleBoundsWhatUnfolds(t *testing.T) {
	var b strings.Builder
	b.WriteString("\x80\x02]q\x00")
	for range 20 {
		b.WriteString("]q\x01(")
		b.WriteString(strings.Repeat("h\x00", 10))
		b.WriteString("eq\x00")
	}
	b.WriteString("h\x00.")
	_, err := decodePickle([]byte(b.String()))
	require.ErrorContains(t, err, "objects")
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x80\x02}q\x00(X\x07\x00\x00\x00entriesq\x01]X\x09\x00\x00\x00pg_statusq\x02}u."))
	f.Add([]byte(`{"entries":[{"pg_id":1,"process_group":["7","x"],"collective_seq_id":3}],"pg_config":{"7":{"ranks":"[0, 1]"}},"pg_status":{"1":{"last_enqueued_collective":3}}}`))
	f.Add([]byte("(dp0\nS'a'\np1\nI7\ns."))
	f.Add([]byte("\x80\x02]q\x00h\x00a."))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Decode(b)
		if err != nil {
			return
		}
		d.Rank = 0
		r, err := Analyse([]*Dump{d})
		require.NoError(t, err)
		require.Empty(t, r.Roots, "a single rank waits for nobody known")
	})
}
