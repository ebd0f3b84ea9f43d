package rules

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// position is where a byte of a scalar's value stands in the file, in lines and
// characters from 1. Where that cannot be told it is where the scalar begins.
func (l *linter) position(n *yaml.Node, offset int) (line, column int) {
	if offset <= 0 && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			return n.Line, n.Column + 1
		}
		return n.Line, n.Column
	}
	offset = min(offset, len(n.Value))
	var row, at int
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		row, at = l.inBlock(n, offset)
	} else {
		row, at = l.inFlow(n, offset)
	}
	if at < 0 {
		return n.Line, n.Column
	}
	return row + 1, utf8.RuneCountInString(l.lines[row][:at]) + 1
}

func (l *linter) row(i int) string { return strings.TrimRight(l.lines[i], "\r") }

// inBlock finds a byte of a literal or folded block: the row from 0 and the byte
// in it, or -1. Each row of the file stands in the value without its indentation,
// followed by a line feed or, folded, by a space or nothing but the next row.
func (l *linter) inBlock(n *yaml.Node, offset int) (row, at int) {
	pos := 0
	for i := n.Line; i < len(l.lines); i++ {
		text := strings.TrimLeft(l.row(i), " \t")
		if text == "" {
			continue // line feeds of the value, skipped below
		}
		for pos < len(n.Value) && (n.Value[pos] == '\n' || n.Value[pos] == ' ' || n.Value[pos] == '\t') {
			pos++
		}
		if !strings.HasPrefix(n.Value[pos:], strings.TrimRight(text, " \t")) {
			return 0, -1
		}
		indent := len(l.row(i)) - len(text)
		if offset < pos+len(text) || pos+len(text) >= len(n.Value) {
			return i, indent + max(min(offset-pos, len(text)), 0)
		}
		pos += len(text)
	}
	return 0, -1
}

// inFlow finds a byte of a plain or quoted scalar, which may go over several rows
// and have escapes.
func (l *linter) inFlow(n *yaml.Node, offset int) (row, at int) {
	if n.Line < 1 || n.Line > len(l.lines) {
		return 0, -1
	}
	row = n.Line - 1
	at = byteOf(l.row(row), n.Column-1)
	double, single := n.Style&yaml.DoubleQuotedStyle != 0, n.Style&yaml.SingleQuotedStyle != 0
	if double || single {
		at++
	}
	for pos := 0; pos < offset; {
		text := l.row(row)
		switch {
		case at >= len(text) || strings.TrimSpace(text[at:]) == "":
			blank := 0
			for row++; row < len(l.lines) && strings.TrimSpace(l.row(row)) == ""; row++ {
				blank++
			}
			if row >= len(l.lines) {
				return 0, -1
			}
			at = len(l.row(row)) - len(strings.TrimLeft(l.row(row), " \t"))
			pos += max(blank, 1)
		case double && text[at] == '\\':
			at, pos = min(at+2, len(text)), pos+1
			if at == len(text) { // the row's end is escaped: nothing stands for it
				pos--
			}
		case single && text[at] == '\'':
			at, pos = at+2, pos+1
		default:
			at, pos = at+1, pos+1
		}
	}
	if at > len(l.lines[row]) {
		return 0, -1
	}
	return row, at
}

// byteOf is the byte at which a character of a text begins.
func byteOf(text string, character int) int {
	for i := range text {
		if character == 0 {
			return i
		}
		character--
	}
	return len(text)
}
