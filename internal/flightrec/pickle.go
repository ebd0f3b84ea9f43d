package flightrec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Bounds of a dump. A recorder keeps 2000 entries by default; a dump of a rank
// in many groups with stacks is a few MB.
const (
	maxBytes = 256 << 20
	maxNodes = 5_000_000
	maxDepth = 200
	maxMemo  = 5_000_000
)

var errTruncated = errors.New("pickle ends in the middle")

// value is a decoded object: map[string]any is written as *dict to keep
// identity while it is built.
type (
	dict struct{ m map[any]any }
	list struct{ items []any }
	mark struct{}
)

// decoder is the stack machine of the pickle protocol, without everything that
// could import or call.
type decoder struct {
	in    []byte
	at    int
	stack []any
	memo  map[uint32]any
	nodes int
}

// decodePickle returns the object in b as nested map[any]any, []any, string,
// []byte, int64, float64, bool and nil.
func decodePickle(b []byte) (any, error) {
	if len(b) > maxBytes {
		return nil, fmt.Errorf("pickle of %d bytes is larger than the limit of %d", len(b), maxBytes)
	}
	d := &decoder{in: b, memo: map[uint32]any{}}
	for {
		op, err := d.byte()
		if err != nil {
			return nil, err
		}
		if op == '.' {
			v, err := d.pop()
			if err != nil {
				return nil, err
			}
			return plain(v, 0, &d.nodes)
		}
		if err := d.step(op); err != nil {
			return nil, fmt.Errorf("at byte %d, opcode %#x: %w", d.at-1, op, err)
		}
		if d.nodes > maxNodes {
			return nil, fmt.Errorf("pickle has more than %d objects", maxNodes)
		}
	}
}

// plain turns dicts and lists into maps and slices. A pickle can share and
// nest objects so that a few bytes unfold into very much: depth and number are
// bounded.
func plain(v any, depth int, nodes *int) (any, error) {
	*nodes++
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if *nodes > maxNodes {
		return nil, fmt.Errorf("more than %d objects", maxNodes)
	}
	switch x := v.(type) {
	case *dict:
		out := make(map[string]any, len(x.m))
		for k, item := range x.m {
			p, err := plain(item, depth+1, nodes)
			if err != nil {
				return nil, err
			}
			out[keyText(k)] = p
		}
		return out, nil
	case *list:
		return plainList(x.items, depth, nodes)
	case []any:
		return plainList(x, depth, nodes)
	case mark:
		return nil, errors.New("a mark is left on the stack")
	}
	return v, nil
}

func plainList(items []any, depth int, nodes *int) (any, error) {
	out := make([]any, 0, len(items))
	for _, item := range items {
		p, err := plain(item, depth+1, nodes)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// keyText is a dict key as JSON would have it.
func keyText(k any) string {
	switch x := k.(type) {
	case string:
		return x
	case int64:
		return strconv.FormatInt(x, 10)
	}
	return fmt.Sprint(k)
}

func (d *decoder) byte() (byte, error) {
	if d.at >= len(d.in) {
		return 0, errTruncated
	}
	b := d.in[d.at]
	d.at++
	return b, nil
}

func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.in)-d.at) {
		return nil, errTruncated
	}
	b := d.in[d.at : d.at+int(n)]
	d.at += int(n)
	return b, nil
}

func (d *decoder) line() (string, error) {
	for i := d.at; i < len(d.in); i++ {
		if d.in[i] == '\n' {
			s := string(d.in[d.at:i])
			d.at = i + 1
			return s, nil
		}
	}
	return "", errTruncated
}

func (d *decoder) push(v any) { d.nodes++; d.stack = append(d.stack, v) }

func (d *decoder) pop() (any, error) {
	if len(d.stack) == 0 {
		return nil, errors.New("the stack is empty")
	}
	v := d.stack[len(d.stack)-1]
	d.stack = d.stack[:len(d.stack)-1]
	return v, nil
}

// popMark returns what lies above the topmost mark and removes both.
func (d *decoder) popMark() ([]any, error) {
	for i, v := range slices.Backward(d.stack) {
		if _, ok := v.(mark); ok {
			items := append([]any(nil), d.stack[i+1:]...)
			d.stack = d.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("no mark on the stack")
}

func little(b []byte) uint64 {
	var x [8]byte
	copy(x[:], b)
	return binary.LittleEndian.Uint64(x[:])
}

// long reads a two's complement integer of up to 8 bytes. Larger ones do not
// occur in a dump and become a float.
func long(b []byte) any {
	if len(b) == 0 {
		return int64(0)
	}
	if len(b) > 8 {
		f := 0.0
		for _, v := range slices.Backward(b) {
			f = f*256 + float64(v)
		}
		if b[len(b)-1]&0x80 != 0 {
			f -= math.Pow(256, float64(len(b)))
		}
		return f
	}
	u := little(b)
	if b[len(b)-1]&0x80 != 0 && len(b) < 8 {
		u |= ^uint64(0) << (8 * len(b))
	}
	return int64(u)
}
