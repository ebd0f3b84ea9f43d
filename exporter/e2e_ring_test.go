package exporter

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ring is a job of fakerank processes that do real all-reduces over TCP with the real plugin loaded.
type ring struct {
	t     *testing.T
	dir   string // COLLWATCH_DIR
	ranks []*exec.Cmd
}

// fakerank builds the plugin and the stand-in for a rank, once a test binary.
func fakerank(t *testing.T) string {
	t.Helper()
	needTool(t, "gcc")
	needTool(t, "make")
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("collwatch-fakerank-%d", os.Getpid()))
	if _, err := os.Stat(filepath.Join(dir, "fakerank")); err == nil {
		return dir
	}
	out, err := exec.CommandContext(t.Context(), "make", "-s", "-C", "../plugin", "BUILD="+dir, "fakerank").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(filepath.Join(os.TempDir(), fmt.Sprintf("collwatch-fakerank-%d", os.Getpid())))
	os.Exit(code)
}

// freePort asks the kernel; the small window until it is used again is accepted.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().(*net.TCPAddr).Port
}

// startRing starts n ranks. link puts a relay between a rank and the next one.
func startRing(t *testing.T, n int, link map[int]*relay, env []string, args ...string) *ring {
	t.Helper()
	return startRingIn(t, t.TempDir(), n, link, env, args...)
}

func startRingIn(t *testing.T, dir string, n int, link map[int]*relay, env []string, args ...string) *ring {
	t.Helper()
	build := fakerank(t)
	r := &ring{t: t, dir: dir}
	ports := make([]int, n)
	for i := range ports {
		ports[i] = freePort(t)
	}
	for i := range n {
		next := fmt.Sprintf("127.0.0.1:%d", ports[(i+1)%n])
		if via := link[i]; via != nil {
			via.target.Store(next)
			next = via.l.Addr().String()
		}
		cmd := exec.Command(filepath.Join(build, "fakerank"), append([]string{
			"--rank", strconv.Itoa(i), "--nranks", strconv.Itoa(n), "--port", strconv.Itoa(ports[i]), "--next", next, "--compute-ms", "5",
		}, args...)...)
		cmd.Env = append(os.Environ(), append([]string{
			"LD_LIBRARY_PATH=" + build, "NCCL_PROFILER_PLUGIN=collwatch", "COLLWATCH_DIR=" + r.dir, "COLLWATCH_JOB=e2e",
			"RANK=" + strconv.Itoa(i), "LOCAL_RANK=" + strconv.Itoa(i), "COLLWATCH_MODE=deep",
		}, env...)...)
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		r.ranks = append(r.ranks, cmd)
	}
	t.Cleanup(r.stop)
	return r
}

func (r *ring) signal(rank int, s syscall.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.ranks[rank].Process.Signal(s))
}

// end waits until every rank has left by itself, and kills what has not within a minute, which fails the test.
func (r *ring) end() {
	r.t.Helper()
	for i, cmd := range r.ranks {
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		late.Stop()
		require.NoError(r.t, err, "rank %d", i)
	}
}

func (r *ring) stop() {
	for _, cmd := range r.ranks {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// relay is one network link: it passes bytes on, those of the data direction late.
type relay struct {
	l      net.Listener
	delay  atomic.Int64
	target atomic.Value
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{l: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go r.pass(from)
		}
	}()
	return r
}

func (r *relay) pass(from net.Conn) {
	defer func() { _ = from.Close() }()
	var to net.Conn
	for range 200 {
		var err error
		if to, err = net.DialTimeout("tcp", r.target.Load().(string), time.Second); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond) // the next rank is not there yet
	}
	if to == nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			time.Sleep(time.Duration(r.delay.Load()))
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// view is one scrape, for questions.
type view map[string]map[string]float64 // metric -> label text -> value

func parseView(t testing.TB, text string) view {
	t.Helper()
	v := view{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[i+1:], 64)
		require.NoError(t, err, "%s", line)
		name, labels, _ := strings.Cut(line[:i], "{")
		if v[name] == nil {
			v[name] = map[string]float64{}
		}
		v[name]["{"+labels] = value
	}
	return v
}

// sum adds all samples of a metric whose labels hold every given pair (name=value).
func (v view) sum(name string, pairs ...string) (float64, int) {
	total, n := 0.0, 0
	for labels, value := range v[prefix+name] {
		match := true
		for _, p := range pairs {
			k, val, _ := strings.Cut(p, "=")
			match = match && (strings.Contains(labels, "{"+k+`="`+val+`"`) || strings.Contains(labels, ","+k+`="`+val+`"`))
		}
		if match {
			total += value
			n++
		}
	}
	return total, n
}

func (v view) get(t *testing.T, name string, pairs ...string) float64 {
	t.Helper()
	total, n := v.sum(name, pairs...)
	require.Positive(t, n, "no series %s %v", name, pairs)
	return total
}
