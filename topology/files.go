package topology

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/topology/parse"
)

// File is a source of topology on disk.
type File struct {
	// Kind is one of parse.Kinds.
	Kind string
	// Path, or a pattern of which the part that the star stands for is the
	// host that a dump was taken on.
	Path string
	// Host that a dump was taken on, where the path does not tell.
	Host string
}

// FileReport says what became of a file.
type FileReport struct {
	Kind, Path string
	// Err is why nothing of it could be used; what was read before is kept.
	Err  error
	Kept bool
	// Facts counts what is used, Dropped what could not be.
	Facts, Dropped int
	// Problems are the first few parts that could not be used, with lines.
	Problems []parse.Problem
}

// maxFiles bounds the files of one pattern: a dump of each of 100,000 hosts.
const maxFiles = 100_000

// fileSet reads the files of the configuration. A file that breaks keeps what it
// said before.
type fileSet struct {
	files    []File
	labels   map[string][]string
	observer Observer
	known    map[fileKey]*fileState
	failed   map[string]string // pattern or file to the message told last
}

type fileKey struct {
	order int
	path  string
}

type fileState struct {
	kind  parse.Kind
	sum   [sha256.Size]byte
	stamp fileStamp
	time  time.Time
	facts *parse.Facts // nil until it could be read
}

// fileStamp spares the reading of files that nobody wrote to.
type fileStamp struct {
	size int64
	mod  time.Time
}

func newFileSet(files []File, labels map[string][]string) *fileSet {
	return &fileSet{files: files, labels: labels, known: map[fileKey]*fileState{}, failed: map[string]string{}}
}

// reload reads what changed and says whether anything did.
func (fs *fileSet) reload() (changed bool) {
	found := map[fileKey]bool{}
	for order, f := range fs.files {
		kind, err := parse.KindOf(f.Kind)
		if err != nil {
			fs.fail(FileReport{Kind: f.Kind, Path: f.Path, Err: err})
			continue
		}
		paths := []string{f.Path}
		if strings.ContainsAny(f.Path, "*?[") {
			paths, err = filepath.Glob(f.Path)
			if err == nil && len(paths) == 0 {
				err = errors.New("the pattern matches no file")
			}
			if len(paths) > maxFiles {
				fs.fail(FileReport{Kind: f.Kind, Path: f.Path, Err: fmt.Errorf("the pattern matches more than %d files; the rest is left out", maxFiles)})
				paths = paths[:maxFiles]
			}
			if err != nil {
				fs.fail(FileReport{Kind: f.Kind, Path: f.Path, Err: err})
				continue
			}
		}
		for _, path := range paths {
			key := fileKey{order, path}
			found[key] = true
			if fs.read(key, kind, hostOf(f, path)) {
				changed = true
			}
		}
	}
	for key, st := range fs.known {
		// A dump that is deleted is withdrawn; a path that vanished may be
		// about to be written anew.
		if !found[key] && strings.ContainsAny(fs.files[key.order].Path, "*?[") {
			changed = changed || st.facts != nil
			delete(fs.known, key)
			delete(fs.failed, key.path)
		}
	}
	return changed
}

func (fs *fileSet) read(key fileKey, kind parse.Kind, host string) (changed bool) {
	st := fs.known[key]
	if st == nil {
		st = &fileState{kind: kind}
		fs.known[key] = st
	}
	report := FileReport{Kind: kind.Name, Path: key.path, Kept: st.facts != nil}
	info, err := os.Stat(key.path)
	if err == nil && info.IsDir() {
		err = errors.New("is a folder")
	}
	if err != nil {
		st.stamp, report.Err = fileStamp{}, err
		fs.fail(report)
		return false
	}
	stamp := fileStamp{info.Size(), info.ModTime()}
	if st.stamp == stamp {
		return false
	}
	text, err := os.Open(key.path)
	if err != nil {
		report.Err = err
		fs.fail(report)
		return false
	}
	defer text.Close()
	sum := sha256.New()
	facts, err := kind.Parse(parse.Source{Name: key.path, Host: host, Text: io.TeeReader(text, sum), Labels: fs.labels})
	st.stamp = stamp
	if err != nil {
		report.Err = err
		if facts != nil {
			report.Dropped, report.Problems = facts.Dropped, facts.Problems
		}
		fs.fail(report)
		return false
	}
	var s [sha256.Size]byte
	sum.Sum(s[:0])
	delete(fs.failed, key.path)
	if st.facts != nil && st.sum == s {
		return false
	}
	st.sum, st.facts, st.time = s, facts, info.ModTime()
	report.Facts = len(facts.Places) + len(facts.Links) + len(facts.Trunks) + len(facts.NICs) + len(facts.Near) + len(facts.Graphs)
	report.Dropped, report.Problems, report.Kept = facts.Dropped, facts.Problems, false
	if fs.observer != nil {
		fs.observer.FileRead(report)
	}
	return true
}

// fail tells of a failure once, until it is another one.
func (fs *fileSet) fail(r FileReport) {
	msg := r.Err.Error()
	if fs.failed[r.Path] == msg {
		return
	}
	fs.failed[r.Path] = msg
	if fs.observer != nil {
		fs.observer.FileRead(r)
	}
}

// facts lists what is known, in the order of the configuration.
func (fs *fileSet) facts() []sourceFacts {
	var out []sourceFacts
	for _, key := range fs.keys() {
		if st := fs.known[key]; st.facts != nil {
			out = append(out, sourceFacts{name: st.kind.Name + " " + key.path, trust: st.kind.Trust, order: key.order, time: st.time, facts: st.facts})
		}
	}
	return out
}

// notes are what sources say about themselves that is odd.
func (fs *fileSet) notes() []Disagreement {
	var out []Disagreement
	for _, key := range fs.keys() {
		if st := fs.known[key]; st.facts != nil {
			for _, n := range st.facts.Notes {
				out = append(out, Disagreement{About: "note", Text: n.String()})
			}
		}
	}
	return out
}

func (fs *fileSet) keys() []fileKey {
	keys := make([]fileKey, 0, len(fs.known))
	for k := range fs.known {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b fileKey) int {
		if a.order != b.order {
			return a.order - b.order
		}
		return natural(a.path, b.path)
	})
	return keys
}

// hostOf is the host of a dump: as configured, else what the star of the pattern
// stands for, in the name of the file or of a folder above it.
func hostOf(f File, path string) string {
	if f.Host != "" {
		return f.Host
	}
	before, after, ok := strings.Cut(f.Path, "*")
	if !ok {
		return ""
	}
	if strings.ContainsAny(before+after, "*?[") {
		return ""
	}
	if !strings.HasPrefix(path, before) || !strings.HasSuffix(path, after) || len(path) < len(before)+len(after) {
		return ""
	}
	return path[len(before) : len(path)-len(after)]
}
