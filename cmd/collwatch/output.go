package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// output writes to a file if one is named, else to standard output. Nothing is
// written if the text cannot be made.
func output(e *env, file string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if file == "" {
		_, err := e.stdout.Write(b.Bytes())
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644) //nolint:gosec // a report to be read by others
}

// checkOut says before the work, which may take minutes, that its result could
// not be written. It touches nothing: a file that is there may be a good one,
// and one that is not there should not be if the work fails. No file is standard
// output.
func checkOut(file string) error {
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mayWrite(filepath.Dir(file), unix.W_OK|unix.X_OK, file)
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case info.IsDir():
		return fmt.Errorf("--out %s is a folder: name a file in it", file)
	}
	return mayWrite(file, unix.W_OK, file)
}

// checkOutDir is checkOut for a folder that is made if it is not there: the
// nearest one that is there decides.
func checkOutDir(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			continue
		case err != nil:
			return fmt.Errorf("--out: %w", err)
		case !info.IsDir():
			return fmt.Errorf("--out %s: %s is no folder", dir, at)
		}
		return mayWrite(at, unix.W_OK|unix.X_OK, dir)
	}
}

// mayWrite asks the system, which knows of permissions, of file systems that are
// read-only, and of who this process acts for.
func mayWrite(path string, mode uint32, named string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("--out %s cannot be written: %s: %w", named, path, err)
	}
	return nil
}
