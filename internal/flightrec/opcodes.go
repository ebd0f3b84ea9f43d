package flightrec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// step executes one opcode. Opcodes that import, call, build objects or refer
// to something outside the file are errors.
func (d *decoder) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := d.byte()
		if err == nil && v > 5 {
			err = fmt.Errorf("protocol %d is not known", v)
		}
		return err
	case 0x95: // FRAME
		_, err := d.take(8)
		return err
	case '(':
		d.push(mark{})
	case 'N':
		d.push(nil)
	case 0x88, 0x89:
		d.push(op == 0x88)
	case '}':
		d.push(&dict{m: map[any]any{}})
	case ']':
		d.push(&list{})
	case ')':
		d.push([]any{})
	case '0': // POP
		_, err := d.pop()
		return err
	case '1': // POP_MARK
		_, err := d.popMark()
		return err
	case '2': // DUP
		if len(d.stack) == 0 {
			return errors.New("the stack is empty")
		}
		d.push(d.stack[len(d.stack)-1])
	case 'J', 'K', 'M', 'I', 'L', 0x8a, 0x8b, 'G', 'F':
		return d.number(op)
	case 'X', 0x8c, 0x8d, 'V', 'U', 'T', 'S', 'B', 'C', 0x8e:
		return d.text(op)
	case 'q', 'r', 'p', 0x94, 'h', 'j', 'g':
		return d.memory(op)
	case 'a', 'e', 'l', 't', 'd', 's', 'u', 0x85, 0x86, 0x87:
		return d.build(op)
	default:
		return errors.New("not allowed: only plain data is read")
	}
	return nil
}

// number pushes an integer or a float.
func (d *decoder) number(op byte) error {
	sizes := map[byte]uint64{'J': 4, 'K': 1, 'M': 2, 'G': 8}
	if n, ok := sizes[op]; ok {
		b, err := d.take(n)
		if err != nil {
			return err
		}
		switch op {
		case 'J':
			d.push(int64(int32(little(b))))
		case 'G':
			d.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
		default:
			d.push(int64(little(b)))
		}
		return nil
	}
	if op == 0x8a || op == 0x8b {
		n, err := d.take(map[byte]uint64{0x8a: 1, 0x8b: 4}[op])
		if err != nil {
			return err
		}
		b, err := d.take(little(n))
		if err != nil {
			return err
		}
		d.push(long(b))
		return nil
	}
	s, err := d.line()
	if err != nil {
		return err
	}
	return d.decimal(op, strings.TrimSuffix(s, "L"))
}

// decimal pushes a number of the text protocol.
func (d *decoder) decimal(op byte, s string) error {
	switch {
	case op == 'F':
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return err
		}
		d.push(v)
	case op == 'I' && (s == "00" || s == "01"):
		d.push(s == "01")
	default:
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return err
		}
		d.push(v)
	}
	return nil
}

// text pushes a string or bytes.
func (d *decoder) text(op byte) error {
	if op == 'V' || op == 'S' {
		s, err := d.line()
		if err != nil {
			return err
		}
		if op == 'S' && len(s) >= 2 && (s[0] == '\'' || s[0] == '"') {
			s = s[1 : len(s)-1]
		}
		d.push(s)
		return nil
	}
	width := map[byte]uint64{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4, 'B': 4, 'C': 1, 0x8e: 8}[op]
	n, err := d.take(width)
	if err != nil {
		return err
	}
	b, err := d.take(little(n))
	if err != nil {
		return err
	}
	d.push(string(b))
	return nil
}

// memory stores the top of the stack, or brings back what was stored.
func (d *decoder) memory(op byte) error {
	var key uint32
	switch op {
	case 0x94: // MEMOIZE
		key = uint32(len(d.memo))
	case 'p', 'g':
		s, err := d.line()
		if err != nil {
			return err
		}
		v, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return err
		}
		key = uint32(v)
	default:
		b, err := d.take(map[byte]uint64{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op])
		if err != nil {
			return err
		}
		key = uint32(little(b))
	}
	if op == 'h' || op == 'j' || op == 'g' {
		v, ok := d.memo[key]
		if !ok {
			return fmt.Errorf("nothing is stored under %d", key)
		}
		d.push(v)
		return nil
	}
	if len(d.stack) == 0 || len(d.memo) >= maxMemo {
		return errors.New("the stack is empty or the memo is full")
	}
	d.memo[key] = d.stack[len(d.stack)-1]
	return nil
}
