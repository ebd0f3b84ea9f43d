package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// position is a place in a file, counted from 1; the zero value is unknown.
type position struct{ line, column int }

// locate finds where each key of a TOML text stands. Paths are written as
// "source[0].limits.slice". The text has been parsed before, so that locate
// need not detect mistakes; on a text that is no TOML it returns what it found.
//
// The TOML library keeps positions to itself, and without them a message about
// the fifth of ten tables does not help anybody.
func locate(text string) map[string]position {
	l := &locator{text: text, found: map[string]position{}, counts: map[string]int{}}
	l.statements()
	return l.found
}

type locator struct {
	text   string
	at     int
	found  map[string]position
	counts map[string]int // elements seen of each array of tables

	// Where line and column were counted last, so that counting is linear.
	counted   int
	line      int
	lineStart int
}

func (l *locator) statements() {
	table := ""
	for {
		l.skip(" \t\r\n")
		switch {
		case l.at >= len(l.text):
			return
		case strings.HasPrefix(l.text[l.at:], "[["):
			table = l.header(2)
		case l.text[l.at] == '[':
			table = l.header(1)
		default:
			before := l.at
			l.keyValue(table)
			if l.at == before {
				return // no TOML
			}
		}
	}
}

// header reads "[a.b]" (brackets 1) or "[[a.b]]" (2) and returns its path.
func (l *locator) header(brackets int) string {
	pos := l.position()
	l.at += brackets
	parts := l.key()
	path := ""
	for i, part := range parts {
		path = join(path, part)
		if i == len(parts)-1 && brackets == 2 {
			l.counts[path]++
		}
		if n := l.counts[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
		}
	}
	l.found[path] = pos
	l.skip(" \t")
	for n := 0; n < brackets && l.at < len(l.text) && l.text[l.at] == ']'; n++ {
		l.at++
	}
	return path
}

func (l *locator) keyValue(table string) {
	pos := l.position()
	path := table
	for _, part := range l.key() {
		path = join(path, part)
	}
	if _, ok := l.found[path]; !ok {
		l.found[path] = pos
	}
	l.skip(" \t")
	if l.at < len(l.text) && l.text[l.at] == '=' {
		l.at++
		l.value(path)
	}
}

// key reads a dotted key.
func (l *locator) key() []string {
	var parts []string
	for {
		l.skip(" \t")
		if l.at >= len(l.text) {
			return parts
		}
		switch c := l.text[l.at]; c {
		case '"', '\'':
			start := l.at
			l.str()
			parts = append(parts, strings.Trim(l.text[start:l.at], string(c)))
		default:
			start := l.at
			for l.at < len(l.text) && !strings.ContainsRune(" \t\r\n.=]#", rune(l.text[l.at])) {
				l.at++
			}
			parts = append(parts, l.text[start:l.at])
		}
		l.skip(" \t")
		if l.at >= len(l.text) || l.text[l.at] != '.' {
			return parts
		}
		l.at++
	}
}

// value passes over a value and notes the keys of inline tables in it.
func (l *locator) value(path string) {
	l.skip(" \t")
	if l.at >= len(l.text) {
		return
	}
	switch l.text[l.at] {
	case '"', '\'':
		l.str()
	case '[':
		l.at++
		for i := 0; l.more(']'); i++ {
			element := fmt.Sprintf("%s[%d]", path, i)
			l.found[element] = l.position()
			l.value(element)
		}
	case '{':
		l.at++
		for l.more('}') {
			l.keyValue(path)
		}
	default:
		for l.at < len(l.text) && !strings.ContainsRune(",]}#\r\n", rune(l.text[l.at])) {
			l.at++
		}
	}
}

// more passes over what separates elements and says whether another follows;
// it passes over the closing bracket too.
func (l *locator) more(closing byte) bool {
	before := l.at
	l.skip(" \t\r\n,")
	if l.at >= len(l.text) {
		return false
	}
	if l.text[l.at] == closing {
		l.at++
		return false
	}
	// A stray bracket would be passed by nobody.
	if c := l.text[l.at]; c == ']' || c == '}' || (c == '=' && before == l.at) {
		l.at = len(l.text)
		return false
	}
	return true
}

// str passes over a string of any of the four kinds.
func (l *locator) str() {
	quote := l.text[l.at : l.at+1]
	escapes := quote == `"`
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.text[l.at:], triple) {
		quote = triple
	}
	l.at += len(quote)
	for l.at < len(l.text) {
		switch {
		case escapes && l.text[l.at] == '\\':
			l.at += 2
		case strings.HasPrefix(l.text[l.at:], quote):
			l.at += len(quote)
			// Up to two more quotes belong to the text of a triple string.
			for len(quote) == 3 && l.at < len(l.text) && l.text[l.at] == quote[0] {
				l.at++
			}
			return
		default:
			l.at++
		}
	}
	l.at = len(l.text)
}

// skip passes over the given bytes and over comments.
func (l *locator) skip(space string) {
	newlines := strings.Contains(space, "\n")
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case strings.IndexByte(space, c) >= 0:
			l.at++
		case c == '#' && newlines:
			end := strings.IndexByte(l.text[l.at:], '\n')
			if end < 0 {
				l.at = len(l.text)
				return
			}
			l.at += end
		default:
			return
		}
	}
}

// position is where the locator stands.
func (l *locator) position() position {
	for l.counted < l.at && l.counted < len(l.text) {
		if l.text[l.counted] == '\n' {
			l.line++
			l.lineStart = l.counted + 1
		}
		l.counted++
	}
	return position{line: l.line + 1, column: utf8.RuneCountInString(l.text[l.lineStart:l.at]) + 1}
}
