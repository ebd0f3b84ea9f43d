package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Options are the settings of a Store.
type Options struct {
	Dir string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger takes one line per change of state; nil is silent.
	Logger *slog.Logger
	// Registerer takes the metrics; nil keeps them unregistered.
	Registerer prometheus.Registerer
}

// Store is a folder of state files that this process owns.
type Store struct {
	dir     string
	lock    *os.File
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics
	failing map[string]bool // files whose last save failed
	// write stores data in an open file; tests let it fail.
	write func(w io.Writer, data []byte) error
}

// maxFile bounds what is read into memory.
const maxFile = 512 << 20

// Open makes the folder if need be and locks it. A second process gets an error
// that names the first.
func Open(o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	l, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: o.Dir, lock: l, now: o.Now, log: o.Logger, metrics: newMetrics(o.Registerer), failing: map[string]bool{}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.write = func(w io.Writer, data []byte) error { _, err := w.Write(data); return err }
	return s, nil
}

// Close gives the folder back.
func (s *Store) Close() error { return s.lock.Close() }

// Save replaces a file. On an error the former generation is untouched and the
// caller tries again with its next save. It is not safe for concurrent use
// with itself.
func (s *Store) Save(name string, schema int, data []byte) error {
	start := s.now()
	err := s.save(name, schema, data)
	s.metrics.saved(name, start, s.now(), err)
	switch {
	case err != nil && !s.failing[name]:
		s.log.Error("state cannot be saved, it is kept in memory and tried again", "file", name, "err", err)
	case err == nil && s.failing[name]:
		s.log.Info("state is saved again", "file", name)
	}
	s.failing[name] = err != nil
	return err
}

func (s *Store) save(name string, schema int, data []byte) error {
	file, err := seal(name, schema, data, s.now())
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	path := s.path(name)
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(s.dir), renameio.WithPermissions(0o640))
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	defer pending.Cleanup() //nolint:errcheck // after a replace there is nothing left
	if err := s.write(pending, file); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	if err := pending.Sync(); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	if err := s.keepPrevious(path); err != nil {
		return fmt.Errorf("save %s: previous generation: %w", name, err)
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return syncDir(s.dir)
}

// keepPrevious gives the present file its second name. At no moment is there no
// file under the first one.
func (s *Store) keepPrevious(path string) error {
	next := path + ".1.new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(path, next); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.Rename(next, path+".1")
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Outcome says where loaded state came from.
type Outcome string

// The outcomes of Load.
const (
	Restored Outcome = "restored" // the newest generation
	Previous Outcome = "previous" // the one before: the newest was unreadable
	Empty    Outcome = "empty"    // there was none
	Lost     Outcome = "lost"     // there was, and none could be read
)

// Load hands the newest readable generation of a file to use, which must leave
// nothing behind when it fails. What cannot be read, is from a newer version or
// is refused by use is moved aside under a name that ends in ".bad-" and a time.
func (s *Store) Load(name string, schema int, use func(schema int, data []byte) error) Outcome {
	outcome := Empty
	for i, path := range []string{s.path(name), s.path(name) + ".1"} {
		err := s.loadOne(path, name, schema, use)
		if err == nil {
			outcome = [...]Outcome{Restored, Previous}[i]
			break
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		outcome = Lost
		s.moveAside(path, name, err)
	}
	if outcome == Lost {
		s.log.Warn("no state could be restored, starting empty", "file", name)
	}
	s.metrics.restored(name, outcome)
	return outcome
}

func (s *Store) loadOne(path, name string, schema int, use func(int, []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(file) > maxFile {
		return fmt.Errorf("larger than %d bytes", maxFile)
	}
	found, data, err := unseal(name, schema, file)
	if err != nil {
		return err
	}
	return use(found, data)
}

// keptBad is the number of unreadable files kept for people, per file.
const keptBad = 5

func (s *Store) moveAside(path, name string, cause error) {
	aside := path + ".bad-" + s.now().UTC().Format("20060102T150405.000000000")
	if err := os.Rename(path, aside); err != nil {
		s.log.Error("unreadable state cannot be moved aside", "file", path, "err", err, "cause", cause)
		return
	}
	s.log.Error("unreadable state moved aside", "file", path, "to", aside, "cause", cause)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	var bad []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(s.path(name))) && strings.Contains(e.Name(), ".bad-") {
			bad = append(bad, e.Name())
		}
	}
	slices.SortFunc(bad, func(a, b string) int {
		_, ta, _ := strings.Cut(a, ".bad-")
		_, tb, _ := strings.Cut(b, ".bad-")
		return strings.Compare(ta, tb)
	})
	for len(bad) > keptBad {
		_ = os.Remove(filepath.Join(s.dir, bad[0])) // next time then
		bad = bad[1:]
	}
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name+".state") }
