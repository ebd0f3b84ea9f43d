package testdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Env names the folder with the traces where they do not lie beside the
// repository.
const Env = "COLLWATCH_DATA"

// Dir returns the folder with the recorded traces: the value of COLLWATCH_DATA,
// else the nearest shared/data folder beside the test's working directory or
// one of its parents. It skips the test if there is none, and fails it if
// COLLWATCH_DATA names a folder that does not exist: whoever sets it wants the
// tests to run.
func Dir(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(Env); dir != "" {
		if !isDir(dir) {
			tb.Fatalf("%s=%s is not a folder", Env, dir)
		}
		return dir
	}
	wd, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	if dir, ok := find(wd); ok {
		return dir
	}
	tb.Skipf("no recorded traces: no shared/data folder beside %s or its parents, and %s is not set", wd, Env)
	return ""
}

// Path returns the path of a file or folder in Dir. It skips the test if that
// is absent.
func Path(tb testing.TB, elem ...string) string {
	tb.Helper()
	path := filepath.Join(append([]string{Dir(tb)}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("no recorded trace: %v", err)
	}
	return path
}

// find looks for shared/data in dir and its parents.
// Find returns the folder of the traces, or "" if there is none: for tests that
// decide themselves what to leave out.
func Find() string {
	if dir := os.Getenv(Env); dir != "" {
		return dir
	}
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	dir, _ := find(wd)
	return dir
}

func find(dir string) (string, bool) {
	for {
		candidate := filepath.Join(dir, "shared", "data")
		if isDir(candidate) {
			return candidate, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
