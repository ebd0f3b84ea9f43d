package exporter

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds on what one folder can make the exporter hold. A node runs a few dozen training processes; a user who litters
// the folder must not crowd out the others.
const (
	maxFiles        = 1024
	maxFilesPerUser = 256
	maxNames        = 65536
)

// Observation is a process as seen in one pass, and what is known about it besides its file.
type Observation struct {
	Process
	HostPID uint32 // 0 if the process lives where this exporter cannot see it
	Alive   bool
	// Stopped says that a signal or a debugger keeps it from running; StateKnown that /proc told.
	Stopped, StateKnown bool

	Ended   bool  // it said goodbye: the file's name is gone and its communicators are closed
	NowNs   int64 // host's monotonic clock of the pass; of the moment of death for a dead process
	Started time.Time
}

// Pass is what one look at the folder gave.
type Pass struct {
	Seen     []Observation
	Rejected map[string]int // files refused in this pass, by reason
	Err      error          // the folder itself could not be read
}

// store follows the files of one folder. A file stays open until its grace is over, because a process that ends in good
// order removes the name at once.
type store struct {
	dir    string
	grace  time.Duration
	live   liveness
	reader *reader
	files  map[fileID]*file
	clock  clock
}

// clock is the time of a pass: the wall's and the host's monotonic one, in ns.
type clock func() (wall time.Time, mono int64)

type fileID struct{ dev, ino uint64 }

type file struct {
	name string
	f    *os.File
	id   fileID
	uid  uint32
	pid  uint32
	// searched: /proc was walked through for it, which is dear and done only when something changes.
	alive, searched bool
	// expired: its grace is over but the file could not be removed. It is not open any more.
	expired bool
	gone    time.Time // when it was first seen dead or without its name
	dead    int64     // monotonic time of that
}

func newStore(dir string, grace time.Duration, procfs string, clock clock) *store {
	return &store{dir: dir, grace: grace, live: liveness{procfs}, reader: newReader(), files: map[fileID]*file{}, clock: clock}
}

// pass looks at the folder once.
func (s *store) pass() Pass {
	wall, mono := s.clock()
	p := Pass{Rejected: map[string]int{}}
	named := map[fileID]bool{}
	dir, err := os.OpenFile(s.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		p.Err = err
	} else {
		s.discover(dir, named, &p)
	}
	for id, f := range s.files {
		if f.expired {
			if !named[id] {
				delete(s.files, id)
			} else {
				p.Rejected["not_removable"]++
			}
			continue
		}
		if o, keep := s.observe(f, named[id], wall, mono, &p); keep {
			p.Seen = append(p.Seen, *o)
			continue
		}
		delete(s.files, id)
		_ = f.f.Close()
		if named[id] && !f.gone.IsZero() && !remove(dir, f) {
			f.expired = true
			s.files[id] = f
		}
	}
	if dir != nil {
		_ = dir.Close()
	}
	// The live before the dead, then by name: whoever claims the same labels later loses.
	slices.SortFunc(p.Seen, func(a, b Observation) int {
		if a.Alive != b.Alive {
			if a.Alive {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.StartTicks, b.StartTicks), cmp.Compare(a.PIDNS, b.PIDNS))
	})
	return p
}

// discover opens files that are new and notes which names still exist.
func (s *store) discover(dir *os.File, named map[fileID]bool, p *Pass) {
	perUser := map[uint32]int{}
	for _, f := range s.files {
		perUser[f.uid]++
	}
	names, err := dir.Readdirnames(maxNames)
	if err != nil && len(names) == 0 && !isEOF(err) {
		p.Err = err
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "nccl-") || !strings.HasSuffix(name, ".shm") {
			continue
		}
		f, st, err := openData(dir, name)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				p.Rejected[reason(err)]++
			}
			continue
		}
		id := fileID{st.Dev, st.Ino}
		named[id] = true
		if old := s.files[id]; old != nil && (!old.expired || old.name == name) {
			_ = f.Close()
			continue
		}
		if len(s.files) >= maxFiles || perUser[st.Uid] >= maxFilesPerUser {
			p.Rejected["too_many"]++
			_ = f.Close()
			continue
		}
		perUser[st.Uid]++
		s.files[id] = &file{name: name, f: f, id: id, uid: st.Uid}
	}
}

// observe reads one file. keep is false once its grace is over or if it is no data file.
func (s *store) observe(f *file, named bool, wall time.Time, mono int64, p *Pass) (*Observation, bool) {
	info, err := f.f.Stat()
	if err != nil {
		p.Rejected["unreadable"]++
		return nil, false
	}
	process, err := s.reader.read(f.f, info.Size())
	if err != nil {
		// Nobody's file, or half-written: it is looked at afresh in the next pass, and never removed.
		p.Rejected[reason(err)]++
		return nil, false
	}
	alive, pid := s.live.alive(f.f, process, f.pid, !f.searched)
	if !alive && f.alive && f.searched { // before a death is told, every process is looked at
		alive, pid = s.live.alive(f.f, process, f.pid, true)
	}
	f.alive, f.searched = alive, true
	if pid != 0 {
		f.pid = pid
	}
	o := &Observation{Process: *process, HostPID: f.pid, Alive: alive, Ended: !named, NowNs: mono}
	if alive && f.pid != 0 {
		o.Stopped, o.StateKnown = s.live.stopped(f.pid, process.StartTicks)
	}
	if alive && named {
		f.gone = time.Time{}
	} else {
		if f.gone.IsZero() {
			f.gone, f.dead = wall, mono
		}
		if wall.Sub(f.gone) >= s.grace {
			return nil, false
		}
		if !alive {
			o.NowNs = f.dead
		}
	}
	o.Started = wall.Add(-time.Duration(sinceBoot() - int64(min(process.StartTicks, 1<<39))*(int64(time.Second)/clockTicks)))
	// A communicator that was closed in a process that goes on is shown for the grace time as well.
	o.Comms = slices.DeleteFunc(o.Comms, func(c Comm) bool { return !c.Open && mono-c.ClosedNs > int64(s.grace) })
	return o, true
}

// remove deletes a dead process's file, if the name still means that file. False if it is still there.
func remove(dir *os.File, f *file) bool {
	var st unix.Stat_t
	if dir == nil || unix.Fstatat(int(dir.Fd()), f.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return true
	}
	if (fileID{st.Dev, st.Ino}) != f.id {
		return true
	}
	return unix.Unlinkat(int(dir.Fd()), f.name, 0) == nil
}

func (s *store) close() error {
	var errs []error
	for _, f := range s.files {
		if !f.expired {
			errs = append(errs, f.f.Close())
		}
	}
	clear(s.files)
	return errors.Join(errs...)
}

// reason turns an error into one of a few words for a label.
func reason(err error) string {
	switch {
	case errors.Is(err, errTruncated):
		return "truncated"
	case errors.Is(err, errMagic):
		return "foreign"
	case errors.Is(err, errVersion):
		return "version"
	case errors.Is(err, errLayout):
		return "layout"
	case errors.Is(err, errNotRegular):
		return "not_regular"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	default:
		return "unreadable"
	}
}
