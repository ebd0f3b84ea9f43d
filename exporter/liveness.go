package exporter

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// liveness tells whether the process that made a file still exists. A pid alone does not tell: it is reused, and the same
// number means another process in another container.
type liveness struct {
	procfs string // where the host's /proc is mounted
}

// alive asks /proc by pid and start time, and the record lock, which the kernel drops with the process and which holds
// across pid namespaces. pid is the process's number on this host where it could be found, else 0. search allows a walk
// through all of /proc for a process of another pid namespace.
func (l liveness) alive(f *os.File, p *Process, known uint32, search bool) (alive bool, pid uint32) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0}
	locked := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock) == nil && lock.Type != unix.F_UNLCK
	if p.StartTicks == 0 {
		return locked, 0
	}
	own := l.namespace("self")
	for _, pid := range []uint32{known, p.PID} {
		if pid != 0 && l.is(pid, p, own, locked) {
			return true, pid
		}
	}
	if !search || own == p.PIDNS {
		return locked, 0
	}
	entries, err := os.ReadDir(l.procfs)
	if err != nil {
		return locked, 0
	}
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 32)
		if err == nil && l.is(uint32(n), p, own, locked) {
			return true, uint32(n)
		}
	}
	return locked, 0
}

// is says whether a process of this host is the one that made the file. Two containers may well have begun in the same
// hundredth of a second with the same number, so the namespace must fit too. Who may not look at another user's namespace
// takes the lock's word that the process lives.
func (l liveness) is(pid uint32, p *Process, own uint64, locked bool) bool {
	if l.startedAt(pid) != p.StartTicks || !l.hasNumber(pid, p.PID) {
		return false
	}
	if ns := l.namespace(strconv.FormatUint(uint64(pid), 10)); ns != 0 && p.PIDNS != 0 {
		return ns == p.PIDNS
	}
	return locked || own == p.PIDNS || p.PIDNS == 0
}

// namespace returns the inode of a process's pid namespace, 0 if it may not be seen.
func (l liveness) namespace(process string) uint64 {
	var st unix.Stat_t
	if unix.Stat(filepath.Join(l.procfs, process, "ns/pid"), &st) != nil {
		return 0
	}
	return st.Ino
}

// startedAt returns field 22 of /proc/PID/stat, 0 for a process that is gone or only waits to be reaped.
func (l liveness) startedAt(pid uint32) uint64 {
	state, ticks := l.stat(pid)
	if state == "Z" || state == "X" {
		return 0
	}
	return ticks
}

// stopped says whether a process is stopped by a signal or a debugger. known is false if it is not the one that began
// at the given time, or may not be looked at.
func (l liveness) stopped(pid uint32, began uint64) (stopped, known bool) {
	state, ticks := l.stat(pid)
	return state == "T" || state == "t", state != "" && ticks == began
}

// stat returns state and start time, fields 3 and 22 of /proc/PID/stat; "" if they cannot be read.
func (l liveness) stat(pid uint32) (state string, ticks uint64) {
	b, err := os.ReadFile(filepath.Join(l.procfs, strconv.FormatUint(uint64(pid), 10), "stat"))
	if err != nil {
		return "", 0
	}
	// The second field may hold spaces and brackets: go on from the last one.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return "", 0
	}
	fields := strings.Fields(string(b[i+1:]))
	if len(fields) < 20 {
		return "", 0
	}
	if ticks, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return "", 0
	}
	return fields[0], ticks
}

// hasNumber says whether the process has the given pid in its innermost namespace.
func (l liveness) hasNumber(pid, inner uint32) bool {
	b, err := os.ReadFile(filepath.Join(l.procfs, strconv.FormatUint(uint64(pid), 10), "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(rest)
			return len(fields) > 0 && fields[len(fields)-1] == strconv.FormatUint(uint64(inner), 10)
		}
	}
	return pid == inner // kernels before 4.1
}

var errNotRegular = errors.New("not a regular file")

// openData opens a file of the folder without following links and without waiting for a pipe.
func openData(dir *os.File, name string) (*os.File, unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, st, fmt.Errorf("open %s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, st, errors.Join(fmt.Errorf("stat %s: %w", name, err), f.Close())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, st, errors.Join(fmt.Errorf("%s: %w", name, errNotRegular), f.Close())
	}
	return f, st, nil
}
