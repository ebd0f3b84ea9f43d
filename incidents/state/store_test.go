package state

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
)

const schema = 2

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func load(s *Store) (string, Outcome) {
	var got string
	o := s.Load("incidents", schema, func(_ int, data []byte) error { got = string(data); return nil })
	return got, o
}

func bad(t *testing.T, dir string) []string {
	t.Helper()
	m, err := filepath.Glob(filepath.Join(dir, "*.bad-*"))
	require.NoError(t, err)
	return m
}

func TestSaveAndLoad(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "new", "folder"))
	got, outcome := load(s)
	require.Equal(t, Empty, outcome)
	require.Empty(t, got)
	require.NoError(t, s.Save("incidents", schema, []byte("one\n")))
	require.NoError(t, s.Save("incidents", schema, []byte("two\n")))
	require.NoError(t, s.Save("baselines", schema, []byte{0, 1, '\n', 255}))
	got, outcome = load(s)
	require.Equal(t, Restored, outcome)
	require.Equal(t, "two\n", got)
	// People of the daemon's group read it with collwatch explain; others never.
	info, err := os.Stat(s.path("incidents"))
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&^0o640, info.Mode())
	entries, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"baselines.state", "incidents.state", "incidents.state.1", "lock"}, names)
}

// A crash may leave any prefix of the newest file, if the disk lied about
// fsync: the generation before is taken.
func TestHalfWrittenFallsBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, s.Save("incidents", schema, []byte("first\n")))
	require.NoError(t, s.Save("incidents", schema, []byte("second\nwith two lines\n")))
	path := s.path("incidents")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	previous, err := os.ReadFile(path + ".1")
	require.NoError(t, err)
	for n := range len(whole) {
		require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
		require.NoError(t, os.WriteFile(path+".1", previous, 0o600))
		got, outcome := load(s)
		require.Equal(t, Previous, outcome, "cut at %d", n)
		require.Equal(t, "first\n", got)
	}
	require.Len(t, bad(t, dir), keptBad)
}

func TestUnreadableIsMovedAside(t *testing.T) {
	good, err := seal("incidents", schema, []byte("x\n"), time.Unix(0, 0))
	require.NoError(t, err)
	newer, err := seal("incidents", schema+1, []byte("x\n"), time.Unix(0, 0))
	require.NoError(t, err)
	other, err := seal("baselines", schema, []byte("x\n"), time.Unix(0, 0))
	require.NoError(t, err)
	for name, file := range map[string]string{
		"empty":            "",
		"text":             "hello",
		"html":             "<html>\n</html>\n",
		"newer schema":     string(newer),
		"another file":     string(other),
		"one byte flipped": strings.Replace(string(good), "x\n", "y\n", 1),
		"appended":         string(good) + "x",
		"zeroes":           strings.Repeat("\x00", 5000),
		"negative schema":  strings.Replace(string(good), `"schema":2`, `"schema":-2`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			require.NoError(t, os.WriteFile(s.path("incidents"), []byte(file), 0o600))
			_, outcome := load(s)
			require.Equal(t, Lost, outcome)
			require.Len(t, bad(t, dir), 1)
			kept, err := os.ReadFile(bad(t, dir)[0])
			require.NoError(t, err)
			require.Equal(t, file, string(kept))
			_, outcome = load(s)
			require.Equal(t, Empty, outcome, "no crash loop")
		})
	}
}

func TestRefusedByTheReader(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	require.NoError(t, s.Save("incidents", schema, []byte("good")))
	require.NoError(t, s.Save("incidents", schema, []byte("nonsense")))
	var got string
	o := s.Load("incidents", schema, func(_ int, data []byte) error {
		if string(data) != "good" {
			return errors.New("nonsense")
		}
		got = string(data)
		return nil
	})
	require.Equal(t, Previous, o)
	require.Equal(t, "good", got)
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	reg := prometheus.NewRegistry()
	s, err := Open(Options{Dir: dir, Registerer: reg})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Save("incidents", schema, []byte("old")))
	whole := s.write
	for n := range 200 {
		s.write = func(w io.Writer, data []byte) error {
			if n < len(data) {
				data = data[:n]
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
			return syscall.ENOSPC
		}
		require.ErrorIs(t, s.Save("incidents", schema, []byte("new")), syscall.ENOSPC)
		got, outcome := load(s)
		require.Equal(t, Restored, outcome)
		require.Equal(t, "old", got)
	}
	require.Equal(t, 200.0, testutil.ToFloat64(s.metrics.failures.WithLabelValues("incidents")))
	s.write = whole
	require.NoError(t, s.Save("incidents", schema, []byte("new")), "room again")
	got, _ := load(s)
	require.Equal(t, "new", got)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "no temporary files stay")
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestFolderThatVanishes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	require.NoError(t, os.RemoveAll(dir))
	require.Error(t, s.Save("incidents", schema, []byte("x")))
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, s.Save("incidents", schema, []byte("x")))
}

func TestSecondInstanceFailsClearly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	_, err := Open(Options{Dir: dir})
	require.ErrorContains(t, err, "in use by process")
	require.NoError(t, s.Close())
	again, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// TestKilled kills a process that saves without pause, at random moments, and
// finds a whole file each time.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("COLLWATCH_TEST_SAVE_DIR"); dir != "" {
		s, err := Open(Options{Dir: dir})
		require.NoError(t, err)
		for i := 0; ; i++ {
			require.NoError(t, s.Save("incidents", schema, []byte(strings.Repeat("line\n", i%5000))))
			if i == 3 {
				os.Stdout.WriteString("saving\n")
			}
		}
	}
	dir := t.TempDir()
	for range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), "COLLWATCH_TEST_SAVE_DIR="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		buf := make([]byte, 64)
		_, err = out.Read(buf)
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		s, err := Open(Options{Dir: dir})
		require.NoError(t, err, "the kernel gave the lock back")
		_, outcome := load(s)
		require.Equal(t, Restored, outcome)
		require.NoError(t, s.Close())
	}
	require.Empty(t, bad(t, dir))
}

func FuzzUnseal(f *testing.F) {
	good, err := seal("incidents", schema, []byte("data\n"), time.Unix(0, 0))
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"collwatch":"incidents","schema":9}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		version, data, err := unseal("incidents", schema, file)
		if err != nil {
			return
		}
		require.LessOrEqual(t, version, schema)
		require.True(t, strings.HasSuffix(string(file), string(data)))
	})
}
