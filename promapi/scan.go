package promapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	scanBuffer = 64 << 10
	// maxToken bounds a single label set or string.
	maxToken = 1 << 20
	// ahead is how much of the input is in the buffer when a series begins, so
	// that nearly all series are read without looking at the end of it.
	ahead = 4 << 10
)

var errTokenTooLong = fmt.Errorf("a label set or string is longer than %d bytes", maxToken)

// syntaxError is an answer that is not what a Prometheus API sends.
type syntaxError struct {
	offset int64
	want   string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("not an answer of a Prometheus API: expected %s at byte %d", e.want, e.offset)
}

// scanner reads JSON from a stream through a buffer of fixed size. Only what
// has to be looked at as a whole, a label set or a string, has to fit.
type scanner struct {
	r   io.Reader
	buf []byte // what was read; buf[pos:] is still to be scanned
	pos int
	off int64 // bytes of the stream before buf
	err error // why r gave no more, io.EOF at its end
}

func (s *scanner) reset(r io.Reader) {
	if cap(s.buf) == 0 {
		s.buf = make([]byte, 0, scanBuffer)
	}
	s.r, s.buf, s.pos, s.off, s.err = r, s.buf[:0], 0, 0, nil
}

// more moves the rest to the front of the buffer, so that pos becomes 0, and
// fills the buffer. It says whether anything was added.
func (s *scanner) more() bool {
	if s.err != nil {
		return false
	}
	rest := copy(s.buf, s.buf[s.pos:])
	s.off += int64(s.pos)
	s.buf, s.pos = s.buf[:rest], 0
	if rest == cap(s.buf) {
		if rest >= maxToken {
			s.err = errTokenTooLong
			return false
		}
		s.buf = append(make([]byte, 0, 2*rest), s.buf...)
	}
	for idle := 0; len(s.buf) < cap(s.buf) && s.err == nil; {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf, s.err = s.buf[:len(s.buf)+n], err
		if n > 0 {
			idle = 0
		} else if idle++; idle == 100 && err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return len(s.buf) > rest
}

// need tries to have n bytes in the buffer.
func (s *scanner) need(n int) {
	if len(s.buf)-s.pos < n {
		s.more()
	}
}

// fail explains why the input is not what was wanted: the stream broke off, or
// it holds something else.
func (s *scanner) fail(want string) error {
	if s.pos >= len(s.buf) && s.err != nil {
		if errors.Is(s.err, io.EOF) {
			return fmt.Errorf("the answer breaks off after %d bytes: %w", s.off+int64(len(s.buf)), io.ErrUnexpectedEOF)
		}
		return s.err
	}
	return &syntaxError{offset: s.off + int64(s.pos), want: want}
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *scanner) peek() byte {
	for {
		for ; s.pos < len(s.buf); s.pos++ {
			switch c := s.buf[s.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c
			}
		}
		if !s.more() {
			return 0
		}
	}
}

// take steps over c, which must be next.
func (s *scanner) take(c byte) error {
	if s.peek() != c {
		return s.fail(string(c))
	}
	s.pos++
	return nil
}

// has steps over text if it is next, as it is, with no white space.
func (s *scanner) has(text string) bool {
	if len(s.buf)-s.pos < len(text) || string(s.buf[s.pos:s.pos+len(text)]) != text {
		return false
	}
	s.pos += len(text)
	return true
}

// str reads a string and returns what is between the quotes, escapes as they
// are. It is valid until the next read.
func (s *scanner) str() ([]byte, error) {
	if err := s.take('"'); err != nil {
		return nil, err
	}
	for n := 0; ; {
		for s.pos+n < len(s.buf) {
			c := s.buf[s.pos+n]
			if c == '"' {
				text := s.buf[s.pos : s.pos+n]
				s.pos += n + 1
				return text, nil
			}
			if c == '\\' {
				if s.pos+n+1 == len(s.buf) {
					break // its second byte is not in the buffer yet
				}
				n++
			}
			n++
		}
		if !s.more() {
			s.pos = len(s.buf)
			return nil, s.fail("the end of a string")
		}
	}
}

// object returns the raw text of a flat object from brace to brace. It is valid
// until the next read.
func (s *scanner) object() ([]byte, error) {
	if s.peek() != '{' {
		return nil, s.fail("{")
	}
	n, inString := 1, false
	for {
		for s.pos+n < len(s.buf) {
			c := s.buf[s.pos+n]
			if c == '\\' && inString {
				if s.pos+n+1 == len(s.buf) {
					break // its second byte is not in the buffer yet
				}
				n++
			} else if c == '"' {
				inString = !inString
			} else if c == '}' && !inString {
				raw := s.buf[s.pos : s.pos+n+1]
				s.pos += n + 1
				return raw, nil
			}
			n++
		}
		if !s.more() {
			s.pos = len(s.buf)
			return nil, s.fail("}")
		}
	}
}

// number returns the text of a number. It is valid until the next read.
func (s *scanner) number() ([]byte, error) {
	s.peek()
	s.need(128)
	i := s.pos
	for i < len(s.buf) && (s.buf[i]-'0' <= 9 || bytes.IndexByte([]byte("+-.eE"), s.buf[i]) >= 0) {
		i++
	}
	if i == s.pos || i == len(s.buf) {
		if i == len(s.buf) {
			s.pos = i
		}
		return nil, s.fail("a number")
	}
	text := s.buf[s.pos:i]
	s.pos = i
	return text, nil
}

// skip steps over any value. It needs no memory, however deep and long.
func (s *scanner) skip() error {
	for depth := 0; ; {
		switch c := s.peek(); c {
		case 0:
			return s.fail("a value")
		case '"':
			if err := s.skipString(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			if depth == 0 {
				return s.fail("a value")
			}
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				return s.fail("a value")
			}
			s.pos++
			continue
		default:
			if !s.skipWord() {
				return s.fail("a value")
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

// skipWord steps over a number, true, false or null.
func (s *scanner) skipWord() bool {
	found := false
	for {
		for ; s.pos < len(s.buf); s.pos++ {
			switch c := s.buf[s.pos]; {
			case c-'0' <= 9, c|0x20 >= 'a' && c|0x20 <= 'z', c == '+', c == '-', c == '.':
				found = true
			default:
				return found
			}
		}
		if !s.more() {
			return found
		}
	}
}

func (s *scanner) skipString() error {
	s.pos++
	for escaped := false; ; {
		for ; s.pos < len(s.buf); s.pos++ {
			switch c := s.buf[s.pos]; {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				s.pos++
				return nil
			}
		}
		if !s.more() {
			return s.fail("the end of a string")
		}
	}
}
