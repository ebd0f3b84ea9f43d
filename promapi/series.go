package promapi

import (
	"bytes"
	"errors"
)

// errStringResult is the answer to an expression such as "text".
var errStringResult = errors.New("the expression gives a string, not series")

// result reads the value of "result": an array of series, or one sample if the
// expression is a scalar.
func (d *decoder) result() error {
	if d.peek() != '[' {
		return d.skip() // null: no series
	}
	d.pos++
	switch d.peek() {
	case ']':
		d.pos++
		return nil
	case '{':
	default:
		return d.scalar()
	}
	for {
		if err := d.series(); err != nil {
			return err
		}
		// Nearly always the two bytes ,{ are in the buffer.
		if d.has(",{") {
			d.pos--
			continue
		}
		if done, err := d.next(']'); done || err != nil {
			return err
		}
	}
}

func (d *decoder) scalar() error {
	d.dst.Begin(d.ref([]byte("{}")))
	return d.sample()
}

// series reads one element of a vector or matrix.
func (d *decoder) series() error {
	d.need(ahead)
	if err := d.take('{'); err != nil {
		return err
	}
	at, named := d.dst.Len(), false
	d.dst.Begin(0)
	for {
		var err error
		switch {
		case d.has(`"metric":`):
			named = true
			err = d.metric(at)
		case d.has(`"value":[`):
			err = d.sample()
		case d.has(`"values":`):
			err = d.samples()
		case d.peek() == '}' && !named:
			d.pos++
			return d.close(at, named)
		default:
			err = d.otherMember(at, &named)
		}
		if err != nil {
			return err
		}
		if d.pos < len(d.buf) && d.buf[d.pos] == ',' {
			d.pos++
			continue
		}
		if done, err := d.next('}'); err != nil {
			return err
		} else if done {
			return d.close(at, named)
		}
	}
}

// otherMember reads a member that is not written as servers write it, and
// those that do not interest us.
func (d *decoder) otherMember(at int, named *bool) error {
	name, err := d.str()
	if err != nil {
		return err
	}
	var buf [16]byte
	key := append(buf[:0], name[:min(len(name), len(buf))]...)
	if err := d.take(':'); err != nil {
		return err
	}
	switch string(key) {
	case "metric":
		*named = true
		return d.metric(at)
	case "value":
		if err := d.take('['); err != nil {
			return err
		}
		return d.sample()
	case "values":
		return d.samples()
	case "histogram", "histograms":
		d.histograms++
	}
	return d.skip()
}

// metric reads a label set.
func (d *decoder) metric(at int) error {
	raw, ok := d.quickObject()
	if !ok {
		var err error
		if raw, err = d.object(); err != nil {
			return err
		}
	}
	offset := d.off + int64(d.pos)
	k := d.cache.key(raw)
	ref, entry, ok := d.table.get(k, d.guess)
	if !ok {
		ls, good := d.parser.parse(raw)
		if !good {
			return &syntaxError{offset: offset, want: "a label set"}
		}
		ref, entry = d.cache.add(k, ls)
		d.table = d.cache.table.Load()
	}
	d.guess = entry + 1
	d.dst.Refs[at] = ref
	return nil
}

// quickObject finds the end of a label set without looking at each byte. The
// text },"value can stand nowhere inside of it: in a string the quote would be
// escaped, and a quote that ends a string is not followed by a letter. A brace
// followed by anything else may be inside or the end; object knows.
func (d *decoder) quickObject() ([]byte, bool) {
	const tail = `},"value`
	b := d.buf[d.pos:]
	if len(b) == 0 || b[0] != '{' {
		return nil, false
	}
	end := bytes.IndexByte(b, '}')
	if end < 0 || len(b) < end+len(tail) || string(b[end:end+len(tail)]) != tail {
		return nil, false
	}
	d.pos += end + 1
	return b[:end+1], true
}

func (d *decoder) ref(raw []byte) Ref {
	k := d.cache.key(raw)
	ref, _, ok := d.table.get(k, 0)
	if !ok {
		ls, _ := d.parser.parse(raw)
		ref, _ = d.cache.add(k, ls)
	}
	return ref
}

// close ends a series: it is dropped if it has no samples, and noted if it came
// before.
func (d *decoder) close(at int, named bool) error {
	dst := d.dst
	if len(dst.Samples) == int(dst.Offsets[at]) {
		dst.Refs, dst.Offsets = dst.Refs[:at], dst.Offsets[:at+1]
		return nil
	}
	if !named {
		dst.Refs[at] = d.ref([]byte("{}"))
	}
	ref := dst.Refs[at]
	word, bit := int(ref/64), uint64(1)<<(ref%64)
	if word >= len(d.seen) {
		d.seen = append(d.seen, make([]uint64, max(d.cache.in.Len()/64, word)+1-len(d.seen))...)
	}
	if d.seen[word]&bit != 0 {
		d.duplicates++
		d.disorder = true
	}
	d.seen[word] |= bit
	return nil
}

// samples reads an array of pairs.
func (d *decoder) samples() error {
	if d.peek() != '[' {
		return d.skip()
	}
	d.pos++
	if d.peek() == ']' {
		d.pos++
		return nil
	}
	for {
		if !d.has("[") {
			if err := d.take('['); err != nil {
				return err
			}
		}
		if err := d.sample(); err != nil {
			return err
		}
		if d.pos < len(d.buf) && d.buf[d.pos] == ',' {
			d.pos++
			continue
		}
		if done, err := d.next(']'); done || err != nil {
			return err
		}
	}
}

// sample reads what follows the opening bracket of [1435781451.781,"1"].
func (d *decoder) sample() error {
	d.need(128)
	t, v, n := quickSample(d.buf[d.pos:])
	if n == 0 {
		var err error
		if t, v, err = d.slowSample(); err != nil {
			return err
		}
	}
	d.pos += n
	s := d.dst.Samples
	if first := int(d.dst.Offsets[len(d.dst.Offsets)-2]); len(s) > first && s[len(s)-1].T >= t {
		d.disorder = true
	}
	d.dst.Add(t, v)
	return nil
}

// quickSample reads the rest of a pair without white space and returns its
// length, 0 if it is written in another way.
func quickSample(b []byte) (t int64, v float64, n int) {
	const longest = 48 // a float64 has at most 24 characters
	comma := bytes.IndexByte(b[:min(len(b), longest)], ',')
	if comma < 0 || len(b) < comma+2 || b[comma+1] != '"' {
		return 0, 0, 0
	}
	t, ok := parseTime(b[:comma])
	if !ok {
		return 0, 0, 0
	}
	rest := b[comma+2:]
	quote := bytes.IndexByte(rest[:min(len(rest), longest)], '"')
	if quote < 0 || len(rest) < quote+2 || rest[quote+1] != ']' {
		return 0, 0, 0
	}
	if v, ok = parseValue(rest[:quote]); !ok {
		return 0, 0, 0
	}
	return t, v, comma + 2 + quote + 2
}

func (d *decoder) slowSample() (t int64, v float64, err error) {
	num, err := d.number()
	if err != nil {
		return 0, 0, err
	}
	t, ok := parseTime(num)
	if !ok {
		return 0, 0, d.fail("a timestamp")
	}
	if err := d.take(','); err != nil {
		return 0, 0, err
	}
	text, err := d.str()
	if err != nil {
		return 0, 0, err
	}
	if v, ok = parseValue(text); !ok {
		return 0, 0, errStringResult
	}
	return t, v, d.take(']')
}
