package exporter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// maxRequest bounds a change of mode; the plugin bounds it as well.
const maxRequest = time.Hour

// Control asks the training processes of the node for another mode for a while, through a small file that they map
// read-only. The file is written in place and never replaced or shortened: processes hold it for their whole life.
type Control struct {
	f     *os.File
	clock clock
}

// OpenControl makes or opens the control file in the data folder. The plugin obeys it only if it belongs to root or to
// the folder's owner and nobody else can write to it.
func OpenControl(dir string) (*Control, error) {
	path := filepath.Join(dir, "control")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the control file %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	c := &Control{f: f, clock: hostClock}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the control file %s: %w", path, err), f.Close())
	}
	return c, nil
}

func (c *Control) prepare() error {
	info, err := c.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(c.f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d: no process would obey it", st.Uid)
	}
	if err := c.f.Chmod(0o644); err != nil {
		return err
	}
	switch info.Size() {
	case 0:
		if err := c.f.Truncate(ctlSize); err != nil {
			return err
		}
		return c.put(0, ctlMagic)
	case ctlSize:
		var b [8]byte
		if _, err := c.f.ReadAt(b[:], 0); err != nil {
			return err
		}
		if binary.LittleEndian.Uint64(b[:]) != ctlMagic {
			return c.put(0, ctlMagic)
		}
		return nil
	default:
		return fmt.Errorf("it has %d bytes, want %d: remove it while no job runs", info.Size(), ctlSize)
	}
}

func (c *Control) put(at int64, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	_, err := c.f.WriteAt(b[:], at)
	return err
}

// Request asks for a mode (light, normal, net, deep) for the given time. Processes follow with their next operation and
// return to their own mode by themselves. A time of zero takes a request back.
func (c *Control) Request(mode string, d time.Duration) error {
	number := slices.Index(modeNames, mode)
	if number < 1 {
		return fmt.Errorf("mode %q is none of light, normal, net, deep", mode)
	}
	if d < 0 || d > maxRequest {
		return fmt.Errorf("time %s is not between 0 and %s", d, maxRequest)
	}
	var until uint64
	if d > 0 {
		_, mono := c.clock()
		until = uint64(mono + int64(d))
	}
	var b [8]byte
	if _, err := c.f.ReadAt(b[:], 8); err != nil {
		return fmt.Errorf("read the control file: %w", err)
	}
	sequence := binary.LittleEndian.Uint64(b[:]) | 1
	// Odd while it is written: a process that looks now waits for its next operation.
	return errors.Join(c.put(8, sequence), c.put(16, uint64(number)), c.put(24, until), c.put(8, sequence+1))
}

// Close gives the file back and leaves it in place.
func (c *Control) Close() error { return c.f.Close() }
