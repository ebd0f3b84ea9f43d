package promapi

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"
)

// frameOf packs a message as servers stream it.
func frameOf(t testing.TB, msg *prompb.ChunkedReadResponse) []byte {
	t.Helper()
	body, err := msg.Marshal()
	require.NoError(t, err)
	return sealed(body)
}

func sealed(body []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(len(body)))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, body...)
}

func chunkOf(t testing.TB, c chunkenc.Chunk, times ...int64) prompb.Chunk {
	t.Helper()
	a, err := c.Appender()
	require.NoError(t, err)
	for _, at := range times {
		a.Append(0, at, float64(at)/3)
	}
	return prompb.Chunk{MinTimeMs: times[0], MaxTimeMs: times[len(times)-1], Type: prompb.Chunk_Encoding(c.Encoding()), Data: c.Bytes()}
}

// FuzzDecodeChunks: whatever comes, the decoder neither panics nor gives what is out
// of the window, out of order or too much.
func FuzzDecodeChunks(f *testing.F) {
	ls := []prompb.Label{{Name: "__name__", Value: "m"}, {Name: "node", Value: "a"}}
	whole := &prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{{Labels: ls, Chunks: []prompb.Chunk{
		chunkOf(f, chunkenc.NewXORChunk(), 10, 20, 30), chunkOf(f, chunkenc.NewXOR2Chunk(), 25, 40, 60),
	}}}}
	body, err := whole.Marshal()
	require.NoError(f, err)
	f.Add(body)
	f.Add(body[:len(body)-3])
	f.Add([]byte{})
	short, err := (&prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{{Chunks: []prompb.Chunk{{Type: prompb.Chunk_XOR, Data: []byte{255, 255}}}}}}).Marshal()
	require.NoError(f, err)
	f.Add(short)
	f.Fuzz(func(t *testing.T, body []byte) {
		const from, to, most = 10, 50, 200
		var res Result
		d := chunkDecoder{in: NewInterner(), from: from, to: to, most: most, dst: &res}
		// The same message twice: a series may come in parts.
		if err := d.decode(bytes.NewReader(append(sealed(body), sealed(body)...))); err != nil {
			return
		}
		require.LessOrEqual(t, len(res.Samples), most)
		for i := range res.Len() {
			last := int64(from)
			require.NotEmpty(t, res.Of(i))
			for _, s := range res.Of(i) {
				require.Greater(t, s.T, last)
				last = s.T
			}
			require.LessOrEqual(t, last, int64(to))
		}
	})
}

// TestDecodeChunks: chunks that overlap and series in parts come out whole and in
// order; a cut or damaged stream is an error.
func TestDecodeChunks(t *testing.T) {
	a := []prompb.Label{{Name: "__name__", Value: "m"}, {Name: "node", Value: "a"}, {Name: "site", Value: "x"}}
	b := []prompb.Label{{Name: "__name__", Value: "m"}, {Name: "node", Value: "b"}}
	part := func(ls []prompb.Label, c ...prompb.Chunk) []byte {
		return frameOf(t, &prompb.ChunkedReadResponse{ChunkedSeries: []*prompb.ChunkedSeries{{Labels: ls, Chunks: c}}})
	}
	stream := bytes.Join([][]byte{
		part(a, chunkOf(t, chunkenc.NewXORChunk(), 10, 20, 30)),
		part(a, chunkOf(t, chunkenc.NewXOR2Chunk(), 30, 40, 50)),
		part(b, chunkOf(t, chunkenc.NewXORChunk(), 60, 70)),
		part(a, chunkOf(t, chunkenc.NewXORChunk(), 15, 45)),
	}, nil)
	var res Result
	d := chunkDecoder{in: NewInterner(), extern: []prompb.Label{{Name: "site", Value: "x"}}, from: 10, to: 50, most: 100, dst: &res}
	require.NoError(t, d.decode(bytes.NewReader(stream)))
	require.Equal(t, 1, res.Len())
	require.Equal(t, `m{node="a"}`, d.in.Labels(res.Refs[0]).String())
	var times []int64
	for _, s := range res.Of(0) {
		times = append(times, s.T)
	}
	require.Equal(t, []int64{15, 20, 30, 40, 45, 50}, times)

	// A stream that ends between two frames ends well: HTTP says whether it was cut.
	ends := map[int]bool{0: true}
	for n, rest := 0, stream; len(rest) > 0; {
		size, k := binary.Uvarint(rest)
		n += k + 4 + int(size)
		rest = stream[n:]
		ends[n] = true
	}
	for n := range stream {
		err := d.decode(bytes.NewReader(stream[:n]))
		require.Equal(t, ends[n], err == nil, "cut at %d: %v", n, err)
		damaged := bytes.Clone(stream)
		damaged[n] ^= 4
		require.Error(t, d.decode(bytes.NewReader(damaged)), "bit of byte %d", n)
	}
}
