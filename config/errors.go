package config

import (
	"fmt"
	"sort"
	"strings"
)

// Error is one mistake in a configuration.
type Error struct {
	// File is the name of the file, Line and Column count from 1; they are 0
	// where the mistake has no place in the file, such as a missing table.
	File         string
	Line, Column int
	// Table names the table: "detectors.ewma" or `source "main"`. It is empty
	// for mistakes of syntax and at the top level.
	Table string
	// Key is the key in the table; it may be empty.
	Key string
	// Msg says what is wrong and what to do.
	Msg string
}

// Error implements error: "file:line:column: table: key message".
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Line > 0 && e.Column > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	case e.File != "":
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Table != "" {
		b.WriteString(e.Table + ": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + " ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errors are all mistakes in a configuration, in the order of the file; those
// without a place come last.
type Errors []*Error

// Error implements error, one mistake a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single mistakes.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

func (es Errors) sort() {
	sort.SliceStable(es, func(i, j int) bool {
		a, b := es[i], es[j]
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line == 0
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
}

// report collects mistakes and knows where keys stand in the file.
type report struct {
	file  string
	where map[string]position
	// names has what a list's element is called in messages, by its path.
	names map[string]string
	// failed are the paths that could not be read; what they hold is a default
	// and must not be judged.
	failed map[string]bool
	// told are the paths of the mistakes so far: a value that could not be read
	// is one mistake, whatever else its default would be.
	told map[string]bool
	errs Errors
}

func newReport(file string, where map[string]position) *report {
	return &report{file: file, where: where, names: map[string]string{}, failed: map[string]bool{}, told: map[string]bool{}}
}

// add reports a mistake at a path such as "source[0].limits.slice".
func (r *report) add(path, format string, args ...any) {
	table, key := cutLast(path)
	r.addAt(path, r.display(table), key, format, args...)
}

// addTable reports a mistake about a table as a whole.
func (r *report) addTable(path, msg string) {
	r.addAt(path, r.display(path), "", "%s", msg)
}

func (r *report) addAt(path, table, key, format string, args ...any) {
	if r.failed[path] && r.told[path] {
		return
	}
	r.told[path] = true
	pos := r.find(path)
	r.errs = append(r.errs, &Error{
		File: r.file, Line: pos.line, Column: pos.column,
		Table: table, Key: key, Msg: fmt.Sprintf(format, args...),
	})
}

// find returns the place of a path, or of the nearest table around it.
func (r *report) find(path string) position {
	for path != "" {
		if pos, ok := r.where[path]; ok {
			return pos
		}
		path, _ = cutLast(path)
	}
	return position{}
}

// display writes a table's path for people: `source "main"`.
func (r *report) display(path string) string {
	for prefix, rest := path, ""; prefix != ""; {
		if name, ok := r.names[prefix]; ok {
			return name + rest
		}
		var last string
		prefix, last = cutLast(prefix)
		rest = "." + last + rest
	}
	return path
}

// cutLast splits off the last key of a path. An index belongs to its key:
// "source[0]" is one.
func cutLast(path string) (head, last string) {
	depth := 0
	for i := len(path) - 1; i >= 0; i-- {
		switch path[i] {
		case ']':
			depth++
		case '[':
			depth--
		case '.':
			if depth == 0 {
				return path[:i], path[i+1:]
			}
		}
	}
	return "", path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
