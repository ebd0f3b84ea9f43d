package score

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Ledger is a file with one record a line, so that a measurement which was cut
// short goes on where it was, and one that is too long for a day is done in
// parts. Records of other code are not taken over.
type Ledger struct {
	file *os.File
	code string
	done map[string]Record
}

// entry is a line of the file.
type entry struct {
	Code   string
	Record Record
}

// OpenLedger reads a file, makes it if there is none, and appends to it from
// then on. code names what is measured, such as a revision.
func OpenLedger(path, code string) (*Ledger, error) {
	l := &Ledger{code: code, done: map[string]Record{}}
	if err := l.load(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("results so far: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	l.file = f
	return l, nil
}

func (l *Ledger) load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // the last line of a run that was killed
		}
		if e.Code == l.code {
			l.done[e.Record.Verdict.Name] = e.Record
		}
	}
	return lines.Err()
}

// Done returns the record of a case, if it is known.
func (l *Ledger) Done(c Case) (Record, bool) {
	r, ok := l.done[c.String()]
	return r, ok
}

// Add appends a record.
func (l *Ledger) Add(r Record) error {
	line, err := json.Marshal(entry{l.code, r})
	if err != nil {
		return fmt.Errorf("result of %s: %w", r.Verdict.Name, err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("result of %s: %w", r.Verdict.Name, err)
	}
	return nil
}

// Close closes the file.
func (l *Ledger) Close() error { return l.file.Close() }
