package cleanroot

import (
	"bytes"
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

const (
	bootTimeout = time.Minute
	pollEvery   = 100 * time.Millisecond
)

// Machine is a clean root with a systemd of its own as process 1. It shares the
// network with the test, so servers of the test answer on loopback.
type Machine struct {
	// Root is the folder of its file system, as the test sees it.
	Root string

	t      testing.TB
	leader string // process id of its process 1
}

// Boot starts systemd in a clean root until it runs. The test ends it.
func Boot(t testing.TB) *Machine {
	t.Helper()
	for _, tool := range []string{"systemd-nspawn", "nsenter", "pgrep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (apt install systemd-container util-linux procps): no clean Debian can be booted here", tool)
		}
	}
	m := &Machine{Root: Path(t), t: t}
	// Registering would need a systemd on the machine itself.
	nspawn := exec.Command("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=pipe", "--directory="+m.Root, "--boot")
	var console bytes.Buffer
	nspawn.Stdout, nspawn.Stderr = &console, &console
	require.NoError(t, nspawn.Start())
	ended := make(chan struct{})
	go func() {
		_ = nspawn.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		// Twice: the first asks the system to stop, the second ends it.
		for range 2 {
			_ = nspawn.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Second):
			}
		}
		_ = nspawn.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(bootTimeout); ; {
		select {
		case <-ended:
			// Namespaces or control groups are not ours to make here.
			t.Skipf("systemd cannot be booted here: %s", tail(console.Bytes()))
		case <-time.After(pollEvery):
		}
		pids, _ := exec.CommandContext(t.Context(), "pgrep", "--parent", strconv.Itoa(nspawn.Process.Pid)).Output()
		if first, _, ok := strings.Cut(string(pids), "\n"); ok {
			m.leader = first
			if state, _ := m.Try("systemctl", "is-system-running"); state == "running" || state == "degraded" {
				return m
			}
		}
		if time.Now().After(deadline) {
			t.Skipf("systemd did not come up within %s", bootTimeout)
		}
	}
}

// In is the same machine for a subtest, which fails in its place.
func (m *Machine) In(t testing.TB) *Machine {
	sub := *m
	sub.t = t
	return &sub
}

// Try runs a command in the machine and returns what it printed.
func (m *Machine) Try(args ...string) (string, error) {
	cmd := exec.CommandContext(m.t.Context(), "nsenter", append([]string{"--target", m.leader, "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--root", "--wd", "--"}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Run is Try for a command that must succeed.
func (m *Machine) Run(args ...string) string {
	m.t.Helper()
	out, err := m.Try(args...)
	require.NoError(m.t, err, "%s: %s", strings.Join(args, " "), out)
	return out
}

// Write puts a file into the machine.
func (m *Machine) Write(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.Root, path)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o600))
}

// Copy copies a file of the test into a folder of the machine and returns its
// path there.
func (m *Machine) Copy(file, folder string) string {
	m.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(m.t, err)
	to := filepath.Join(folder, filepath.Base(file))
	m.Write(to, string(text))
	return to
}
