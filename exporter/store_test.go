package exporter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testClock is a clock that the test moves.
type testClock struct{ wall time.Time }

func (c *testClock) now() (time.Time, int64) { return c.wall, c.wall.UnixNano() }

func testStore(t *testing.T) (*store, *testClock) {
	t.Helper()
	c := &testClock{wall: time.Unix(1_767_225_600, 0)}
	s := newStore(t.TempDir(), time.Minute, "/proc", c.now)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	return s, c
}

// sleeper starts a process and returns its pid and start time.
func sleeper(t *testing.T) (*exec.Cmd, uint64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	ticks := liveness{"/proc"}.startedAt(uint32(cmd.Process.Pid))
	require.NotZero(t, ticks)
	return cmd, ticks
}

func imageOf(pid int, ticks uint64) image {
	b := typical(100e9)
	b.u32(headPid, uint32(pid))
	b.u64(headStartTicks, ticks)
	b.u64(headPidNs, liveness{"/proc"}.namespace("self"))
	return b
}

func TestProcessDiesAndIsForgotten(t *testing.T) {
	s, clock := testStore(t)
	cmd, ticks := sleeper(t)
	path := imageOf(cmd.Process.Pid, ticks).write(t, s.dir, "nccl-1.shm")

	p := s.pass()
	require.Len(t, p.Seen, 1)
	require.True(t, p.Seen[0].Alive)
	require.Equal(t, uint32(cmd.Process.Pid), p.Seen[0].HostPID)

	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.True(t, s.pass().Seen[0].Alive, "a stopped process lives")

	// Killed and not yet reaped: a zombie has the pid and the start time still.
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool {
		p := s.pass()
		return len(p.Seen) == 1 && !p.Seen[0].Alive
	}, time.Minute, 10*time.Millisecond)
	died := clock.wall.UnixNano()
	clock.wall = clock.wall.Add(59 * time.Second)
	p = s.pass()
	require.Len(t, p.Seen, 1, "within its grace")
	require.Equal(t, died, p.Seen[0].NowNs, "ages stand still at death")
	clock.wall = clock.wall.Add(2 * time.Second)
	require.Empty(t, s.pass().Seen)
	require.NoFileExists(t, path)
}

func TestReusedPidIsAnotherProcess(t *testing.T) {
	s, _ := testStore(t)
	cmd, ticks := sleeper(t)
	imageOf(cmd.Process.Pid, ticks-1).write(t, s.dir, "nccl-1.shm")
	require.False(t, s.pass().Seen[0].Alive)
}

func TestEndedInGoodOrderIsShownForTheGrace(t *testing.T) {
	s, clock := testStore(t)
	cmd, ticks := sleeper(t)
	path := imageOf(cmd.Process.Pid, ticks).write(t, s.dir, "nccl-1.shm")
	require.Len(t, s.pass().Seen, 1)
	require.NoError(t, os.Remove(path))
	p := s.pass()
	require.Len(t, p.Seen, 1)
	require.True(t, p.Seen[0].Ended)
	clock.wall = clock.wall.Add(2 * time.Minute)
	require.Empty(t, s.pass().Seen)
	require.Empty(t, s.files)
}

// TestLittered: links, folders, pipes, rubbish and a crowd of files are counted and skipped, and the good one is served.
func TestLittered(t *testing.T) {
	s, _ := testStore(t)
	cmd, ticks := sleeper(t)
	imageOf(cmd.Process.Pid, ticks).write(t, s.dir, "nccl-good.shm")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(s.dir, "nccl-link.shm")))
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "nccl-folder.shm"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(s.dir, "nccl-pipe.shm"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "nccl-rubbish.shm"), []byte(strings.Repeat("x", 1<<16)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "nccl-empty.shm"), nil, 0o600))
	huge := filepath.Join(s.dir, "nccl-huge.shm")
	require.NoError(t, os.WriteFile(huge, nil, 0o600))
	require.NoError(t, os.Truncate(huge, 1<<40))
	for range 3 {
		p := s.pass()
		require.NoError(t, p.Err)
		require.Len(t, p.Seen, 1)
		require.Equal(t, 2, p.Rejected["not_regular"])
		require.Equal(t, 2, p.Rejected["foreign"], "rubbish and the huge one: %v", p.Rejected)
		require.Equal(t, 1, p.Rejected["truncated"])
		require.Equal(t, 1, p.Rejected["unreadable"], "the link")
	}
	require.Len(t, s.files, 1, "what was refused is not held")
	require.FileExists(t, huge, "nobody's file is never removed")
}

func TestOneUserCannotCrowdOutOthers(t *testing.T) {
	s, _ := testStore(t)
	cmd, ticks := sleeper(t)
	b := imageOf(cmd.Process.Pid, ticks)
	b.u32(headCommCount, 1)
	for i := range maxFilesPerUser + 10 {
		b[:headSize+commSize].write(t, s.dir, "nccl-"+strconv.Itoa(i)+".shm")
	}
	p := s.pass()
	require.Len(t, p.Seen, maxFilesPerUser)
	require.Equal(t, 10, p.Rejected["too_many"])
}

func TestFolderMissing(t *testing.T) {
	s, _ := testStore(t)
	s.dir = filepath.Join(s.dir, "missing")
	p := s.pass()
	require.Error(t, p.Err)
	require.Empty(t, p.Seen)
}

func TestTruncatedWhileWeHoldIt(t *testing.T) {
	s, _ := testStore(t)
	cmd, ticks := sleeper(t)
	path := imageOf(cmd.Process.Pid, ticks).write(t, s.dir, "nccl-1.shm")
	require.Len(t, s.pass().Seen, 1)
	require.NoError(t, os.Truncate(path, 5000))
	p := s.pass()
	require.Empty(t, p.Seen)
	require.Equal(t, 1, p.Rejected["truncated"])
}
