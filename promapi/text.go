package promapi

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// appendText appends the JSON string raw, given without its quotes, to dst with
// its escapes undone. As in encoding/json, bytes that are not UTF-8 and halves
// of surrogate pairs become U+FFFD. ok is false if raw is not a JSON string.
func appendText(dst, raw []byte) (text []byte, ok bool) {
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\':
			var n int
			if dst, n = appendEscape(dst, raw[i:]); n == 0 {
				return dst, false
			}
			i += n
		case c < ' ' || c == '"':
			return dst, false
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst, true
}

// appendEscape undoes the escape at the start of raw and returns its length, 0
// if it is not one.
func appendEscape(dst, raw []byte) ([]byte, int) {
	if len(raw) < 2 {
		return dst, 0
	}
	switch c := raw[1]; c {
	case '"', '\\', '/':
		return append(dst, c), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r, ok := hex4(raw)
		if !ok {
			return dst, 0
		}
		if utf16.IsSurrogate(r) {
			if low, ok := hex4(raw[6:]); ok {
				if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
					return utf8.AppendRune(dst, both), 12
				}
			}
			r = utf8.RuneError
		}
		return utf8.AppendRune(dst, r), 6
	}
	return dst, 0
}

// hex4 reads \uXXXX at the start of raw.
func hex4(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range raw[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// labelParser reads the label set of a series that was not seen before.
type labelParser struct {
	labels Labels
	text   []byte
}

// parse reads a flat JSON object of strings. The result is valid until the next
// call. Of a name that occurs twice the last one counts, as in encoding/json.
func (p *labelParser) parse(raw []byte) (Labels, bool) {
	p.labels = p.labels[:0]
	// The text must not move, since the labels point into it. Undoing escapes
	// makes three bytes of one at most, for an invalid byte.
	if cap(p.text) < 3*len(raw) {
		p.text = make([]byte, 0, 3*len(raw)+1024)
	}
	p.text = p.text[:0]
	s := flat{raw: raw}
	if !s.take('{') {
		return nil, false
	}
	if s.take('}') {
		return p.labels, s.done()
	}
	for {
		name, ok := p.str(&s)
		if !ok || !s.take(':') {
			return nil, false
		}
		value, ok := p.str(&s)
		if !ok {
			return nil, false
		}
		p.labels = append(p.labels, Label{Name: name, Value: value})
		if s.take(',') {
			continue
		}
		return p.sorted(), s.take('}') && s.done()
	}
}

// sorted brings the labels in order and drops all but the last of a name.
func (p *labelParser) sorted() Labels {
	if !slices.IsSortedFunc(p.labels, byName) {
		slices.SortStableFunc(p.labels, byName)
	}
	n := 0
	for i, l := range p.labels {
		if i+1 < len(p.labels) && p.labels[i+1].Name == l.Name {
			continue
		}
		p.labels[n] = l
		n++
	}
	p.labels = p.labels[:n]
	return p.labels
}

func (p *labelParser) str(s *flat) (string, bool) {
	raw, ok := s.str()
	if !ok {
		return "", false
	}
	from := len(p.text)
	p.text, ok = appendText(p.text, raw)
	return bytesAsString(p.text[from:]), ok
}

// flat walks over a small JSON text that is wholly in memory.
type flat struct {
	raw []byte
	pos int
}

func (s *flat) space() {
	for s.pos < len(s.raw) {
		switch s.raw[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *flat) take(c byte) bool {
	s.space()
	if s.pos < len(s.raw) && s.raw[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *flat) done() bool {
	s.space()
	return s.pos == len(s.raw)
}

func (s *flat) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for i := s.pos; i < len(s.raw); i++ {
		switch s.raw[i] {
		case '\\':
			i++
		case '"':
			text := s.raw[s.pos:i]
			s.pos = i + 1
			return text, true
		}
	}
	return nil, false
}
