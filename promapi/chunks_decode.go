package promapi

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const (
	// maxFrame bounds a frame; a server sends a megabyte and a chunk at most,
	// unless told otherwise.
	maxFrame = 16 << 20
	// chunkHeader is the smallest size of a chunk that holds anything.
	chunkHeader = 4
)

var errNoChunks = errors.New("not an answer of the remote read API")

// chunkDecoder reads streamed chunks into a Result: those samples in (from, to]
// that a range selector would give.
type chunkDecoder struct {
	in       *Interner
	extern   []prompb.Label // taken off each series
	from, to int64
	most     int64 // samples
	dst      *Result

	last       []prompb.Label // of the series at hand
	open       bool           // there is one
	seen       map[Ref]bool
	disorder   bool
	histograms int
	frame      []byte
	labels     Labels
	iterator   chunkenc.Iterator
}

// decode reads the whole of r. Frames follow each other: the length as a varint, the
// Castagnoli checksum, and a message with chunks of one series.
//
// The reader that Prometheus has for this takes an answer that is cut behind a length
// for one that is complete.
func (d *chunkDecoder) decode(r io.Reader) error {
	d.dst.Reset()
	d.last, d.open, d.seen, d.disorder = nil, false, map[Ref]bool{}, false
	b := bufio.NewReaderSize(r, scanBuffer)
	table := crc32.MakeTable(crc32.Castagnoli)
	var msg prompb.ChunkedReadResponse
	for {
		size, err := binary.ReadUvarint(b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if size > maxFrame {
			return fmt.Errorf("%w: a frame of %d bytes", errNoChunks, size)
		}
		d.frame = slices.Grow(d.frame[:0], int(size)+crc32.Size)[:int(size)+crc32.Size]
		if _, err := io.ReadFull(b, d.frame); err != nil {
			return noEOF(err)
		}
		sum, body := binary.BigEndian.Uint32(d.frame), d.frame[crc32.Size:]
		if crc32.Checksum(body, table) != sum {
			return fmt.Errorf("%w: wrong checksum", errNoChunks)
		}
		msg.Reset()
		if err := msg.Unmarshal(body); err != nil {
			return fmt.Errorf("%w: %w", errNoChunks, err)
		}
		for _, s := range msg.ChunkedSeries {
			if err := d.series(s); err != nil {
				return err
			}
		}
	}
	d.close()
	if d.disorder {
		d.dst.mend()
	}
	return nil
}

func sameLabel(a, b prompb.Label) bool { return a.Name == b.Name && a.Value == b.Value }

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// series reads chunks of a series, which may be the one of the frame before.
func (d *chunkDecoder) series(s *prompb.ChunkedSeries) error {
	if !d.open || !slices.EqualFunc(s.Labels, d.last, sameLabel) {
		d.close()
		d.last, d.open = s.Labels, true
		d.labels = d.labels[:0]
		for _, l := range s.Labels {
			if !slices.ContainsFunc(d.extern, func(e prompb.Label) bool { return sameLabel(e, l) }) {
				d.labels = append(d.labels, Label{Name: l.Name, Value: l.Value})
			}
		}
		d.dst.Begin(d.in.Intern(d.labels))
	}
	for i := range s.Chunks {
		if err := d.chunk(&s.Chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *chunkDecoder) chunk(c *prompb.Chunk) error {
	switch c.Type {
	case prompb.Chunk_XOR, prompb.Chunk_XOR2:
	case prompb.Chunk_HISTOGRAM, prompb.Chunk_FLOAT_HISTOGRAM, prompb.Chunk_HISTOGRAM_ST, prompb.Chunk_FLOAT_HISTOGRAM_ST:
		d.histograms++
		return nil
	default:
		return fmt.Errorf("%w: chunks of kind %d", errNoChunks, c.Type)
	}
	if len(c.Data) < chunkHeader {
		return fmt.Errorf("%w: a chunk of %d bytes", errNoChunks, len(c.Data))
	}
	x, err := chunkenc.FromData(chunkenc.Encoding(c.Type), c.Data)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoChunks, err)
	}
	d.iterator = x.Iterator(d.iterator)
	dst := d.dst
	first := int(dst.Offsets[len(dst.Offsets)-2])
	for d.iterator.Next() == chunkenc.ValFloat {
		t, v := d.iterator.At()
		if t <= d.from || t > d.to || value.IsStaleNaN(v) {
			continue
		}
		if n := len(dst.Samples); n > first && dst.Samples[n-1].T >= t {
			d.disorder = true
		}
		dst.Samples = append(dst.Samples, Sample{T: t, V: v})
	}
	dst.Offsets[len(dst.Offsets)-1] = int32(len(dst.Samples))
	if int64(len(dst.Samples)) > d.most {
		return errTooManySamples
	}
	if err := d.iterator.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNoChunks, err)
	}
	return nil
}

// close drops the series at hand if it has no sample in the window.
func (d *chunkDecoder) close() {
	if !d.open {
		return
	}
	dst, at := d.dst, d.dst.Len()-1
	if len(dst.Samples) == int(dst.Offsets[at]) {
		dst.Refs, dst.Offsets = dst.Refs[:at], dst.Offsets[:at+1]
		return
	}
	if d.seen[dst.Refs[at]] {
		d.disorder = true // its parts have to be joined
	}
	d.seen[dst.Refs[at]] = true
}
