package state

import (
	"fmt"
	"path/filepath"
)

// Read hands the newest generation of a file to use without taking the folder:
// for a look at the state of a running daemon. It changes nothing, and reads no
// older generation.
func Read(dir, name string, schema int, use func(data []byte) error) error {
	s := &Store{dir: dir}
	err := s.loadOne(s.path(name), name, schema, func(_ int, data []byte) error { return use(data) })
	if err != nil {
		return fmt.Errorf("state %s: %w", filepath.Join(dir, name+".state"), err)
	}
	return nil
}
