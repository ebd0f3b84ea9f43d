package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDuration(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
		err  string
	}{
		{in: "90s", want: 90 * time.Second},
		{in: "1h30m", want: 90 * time.Minute},
		{in: "7d", want: 7 * 24 * time.Hour},
		{in: "1.5s", want: 1500 * time.Millisecond},
		{in: "0s", want: 0},
		{in: "-5s", want: -5 * time.Second},
		{in: "-1d", want: -24 * time.Hour},
		{in: "5", err: `duration "5" has no unit: write "5s" or "5m"`},
		{in: "0", err: `duration "0" has no unit: write "0s" or "0m"`},
		{in: "1e3", err: `duration "1e3" has no unit: write "1e3s" or "1e3m"`},
		{in: "", err: `"" is not a duration: write a number with a unit, such as "90s", "5m" or "1h30m"`},
		{in: "5 minutes", err: `"5 minutes" is not a duration: write a number with a unit, such as "90s", "5m" or "1h30m"`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			var d Duration
			err := d.UnmarshalText([]byte(tt.in))
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, d.Std())
		})
	}
}

func TestValuesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(-1<<55, 1<<55).Draw(t, "nanoseconds"))
		var back Duration
		require.NoError(t, back.UnmarshalText([]byte(d.String())), d.String())
		require.Equal(t, d, back)

		s := Size(rapid.Int64Range(0, 1<<52).Draw(t, "bytes"))
		var size Size
		require.NoError(t, size.UnmarshalText([]byte(s.String())), s.String())
		require.Equal(t, s, size)

		n := rapid.IntRange(1, 1000).Draw(t, "shards")
		shard := Shard{Index: rapid.IntRange(1, n).Draw(t, "shard"), Count: n}
		var part Shard
		require.NoError(t, part.UnmarshalText([]byte(shard.String())))
		require.Equal(t, shard, part)
	})
}

func TestSize(t *testing.T) {
	tests := []struct {
		in   string
		want int64
		ok   bool
	}{
		{in: "256MB", want: 256_000_000, ok: true},
		{in: "64KiB", want: 65_536, ok: true},
		{in: "1.5 GiB", want: 3 << 29, ok: true},
		{in: "10B", want: 10, ok: true},
		{in: "256"},
		{in: "MB"},
		{in: "1e30TiB"},
		{in: "NaNB"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			var s Size
			err := s.UnmarshalText([]byte(tt.in))
			if !tt.ok {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, s.Bytes())
		})
	}
}

func TestNearest(t *testing.T) {
	words := []string{"interval", "query_offset", "state_dir", "url"}
	require.Equal(t, "interval", nearest("intervall", words))
	require.Equal(t, "interval", nearest("Interval", words))
	require.Equal(t, "query_offset", nearest("queryoffset", words))
	require.Equal(t, "url", nearest("ulr", words))
	require.Empty(t, nearest("password", words))
	require.Empty(t, nearest("", words))
}

func TestLocate(t *testing.T) {
	text := "# a comment with [x] = 1\n" +
		"top = 1\n" +
		"[a]\n" +
		"text = \"\"\"\n[not.a.table]\nkey = 1\"\"\"\n" +
		"list = [\n  'x', # with = and ]\n  \"]\",\n]\n" +
		"\"quoted key\" = { inner = 1, deep.er = [ { z = 1 } ] }\n" +
		"[[b]]\n" +
		"k = 1\n" +
		"  [[b.c]]\n" +
		"  k = 2\n" +
		"[[b]]\n" +
		"[b.d]\n" +
		"é = 'x' # after two bytes\n" +
		"k = 3\r\n"
	want := map[string]position{
		"top":                       {2, 1},
		"a":                         {3, 1},
		"a.text":                    {4, 1},
		"a.list":                    {7, 1},
		"a.list[0]":                 {8, 3},
		"a.list[1]":                 {9, 3},
		"a.quoted key":              {11, 1},
		"a.quoted key.inner":        {11, 18},
		"a.quoted key.deep.er":      {11, 29},
		"a.quoted key.deep.er[0]":   {11, 41},
		"a.quoted key.deep.er[0].z": {11, 43},
		"b[0]":                      {12, 1},
		"b[0].k":                    {13, 1},
		"b[0].c[0]":                 {14, 3},
		"b[0].c[0].k":               {15, 3},
		"b[1]":                      {16, 1},
		"b[1].d":                    {17, 1},
		"b[1].d.é":                  {18, 1},
		"b[1].d.k":                  {19, 1},
	}
	require.Equal(t, want, locate(text))
}
