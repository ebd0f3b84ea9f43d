package cleanroot

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// suite is the oldest Debian that is supported: its systemd (252) knows no
// notify-reload.
const suite = "bookworm"

// Path returns the folder of a clean Debian with systemd, the test's own. The
// test is skipped where none can be made: without root, debootstrap or a mirror.
func Path(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a clean root is left out of short tests")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make and boot a clean Debian: the packages are not installed and started here")
	}
	cached := bootstrap(t)
	root := filepath.Join(t.TempDir(), "root")
	out, err := exec.CommandContext(t.Context(), "cp", "-a", "--reflink=auto", cached, root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return root
}

// bootstrap returns the cached root, which is made first if it is not there.
func bootstrap(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	dir := filepath.Join(cache, "collwatch", "roots")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))

	root := filepath.Join(dir, suite)
	if _, err := os.Stat(root); err == nil {
		return root
	}
	tool, err := exec.LookPath("debootstrap")
	if err != nil {
		t.Skip("debootstrap is not installed (apt install debootstrap): the packages are not installed and started on a clean Debian here")
	}
	// One that was interrupted never becomes the cached one.
	unfinished := root + ".unfinished"
	require.NoError(t, os.RemoveAll(unfinished))
	t.Logf("making a clean %s", suite)
	out, err := exec.CommandContext(t.Context(), tool, "--variant=minbase", "--include=systemd,ca-certificates", suite, unfinished).CombinedOutput()
	if err != nil {
		t.Skipf("debootstrap could make no clean Debian, so the packages are not installed and started here: %v: %s", err, tail(out))
	}
	require.NoError(t, os.Rename(unfinished, root))
	return root
}

// tail is the end of what a tool printed.
func tail(out []byte) []byte {
	const most = 2000
	return out[max(0, len(out)-most):]
}
