package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Difference is a file on disk that is not what would be generated.
type Difference struct {
	File string
	// Why is "missing", "differs", "edited by hand" or "no longer generated".
	Why string
}

// ErrEdited says that a file would be overwritten that Generate did not write,
// or that somebody has changed since.
var ErrEdited = errors.New("was edited by hand")

// Compare says how a folder differs from the output.
func Compare(out *Output, dir string) ([]Difference, error) {
	var diffs []Difference
	wanted := map[string]bool{}
	for _, f := range out.Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		wanted[path] = true
		have, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			diffs = append(diffs, Difference{path, "missing"})
		case err != nil:
			return nil, fmt.Errorf("compare rules: %w", err)
		case bytes.Equal(have, f.Data):
		case Edited(have):
			diffs = append(diffs, Difference{path, "edited by hand"})
		default:
			diffs = append(diffs, Difference{path, "differs"})
		}
	}
	stale, err := leftovers(dir, wanted)
	if err != nil {
		return nil, err
	}
	for _, path := range stale {
		diffs = append(diffs, Difference{path, "no longer generated"})
	}
	return diffs, nil
}

// leftovers are files that an earlier run wrote, untouched since, which are not
// generated any more.
func leftovers(dir string, wanted map[string]bool) ([]string, error) {
	var out []string
	for _, pattern := range []string{"collwatch-*.yaml", "tests/*_test.yaml"} {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, fmt.Errorf("look for rule files in %q: %w", dir, err)
		}
		for _, path := range found {
			if wanted[path] {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("look for rule files: %w", err)
			}
			if !Edited(data) {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// Write brings a folder to the output: nothing is written if one file was
// edited by hand, unless force is set. Each file replaces its predecessor in
// one step; files that are no longer generated go.
func Write(out *Output, dir string, force bool) error {
	diffs, err := Compare(out, dir)
	if err != nil {
		return err
	}
	var edited []string
	for _, d := range diffs {
		if d.Why == "edited by hand" {
			edited = append(edited, d.File)
		}
	}
	if len(edited) > 0 && !force {
		return fmt.Errorf("%s %w: nothing was written; use --force to overwrite, or another --out", strings.Join(edited, ", "), ErrEdited)
	}
	for _, f := range out.Files {
		if err := replace(filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data); err != nil {
			return err
		}
	}
	for _, d := range diffs {
		if d.Why == "no longer generated" {
			if err := os.Remove(d.File); err != nil {
				return fmt.Errorf("remove a rule file that is no longer generated: %w", err)
			}
		}
	}
	return nil
}

// replace writes a file beside its place and renames it. A file that is equal
// already keeps its time, so that nothing is reloaded for nothing.
func replace(path string, data []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // Prometheus runs as another user and has to read it
		return fmt.Errorf("folder for rules: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".collwatch-*")
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}
