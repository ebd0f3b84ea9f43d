package parse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line: an explicit list of 100,000 hosts has about 1 MB.
const maxLine = 4 << 20

// lines calls f for each line without its end, numbered from 1. A line that is
// too long is a problem and skipped; the text is cut at the limit of bytes.
func (s *sink) lines(f func(n int, line string)) error {
	rd := bufio.NewReaderSize(s.bounded(), 64<<10)
	var buf []byte
	for n := 1; ; n++ {
		buf = buf[:0]
		long := false
		var err error
		for {
			var part []byte
			part, err = rd.ReadSlice('\n')
			if long = long || len(buf)+len(part) > maxLine; !long {
				buf = append(buf, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if long {
			s.fail(n, "line longer than %d bytes", maxLine)
		} else if len(buf) > 0 {
			end := len(buf)
			for end > 0 && (buf[end-1] == '\n' || buf[end-1] == '\r') {
				end--
			}
			f(n, string(buf[:end]))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// bounded is the text up to the limit of bytes; reading past it is an error.
func (s *sink) bounded() io.Reader {
	return &limited{r: s.src.Text, left: s.lim.Bytes, limit: s.lim.Bytes}
}

type limited struct {
	r           io.Reader
	left, limit int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("longer than %d bytes", l.limit)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}
