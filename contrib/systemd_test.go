package contrib

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxExposure is the score of systemd-analyze security that no daemon of ours
// may exceed: 0 is locked up, 10 may do everything.
const maxExposure = 2.0

// analyze runs systemd-analyze and returns what it prints.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

// installed copies a unit to a folder of its own, with a binary that exists in
// place of those that the packages install.
func installed(t *testing.T, unit string) string {
	t.Helper()
	text, err := os.ReadFile(unit)
	require.NoError(t, err)
	binary := regexp.MustCompile(`/usr/(s?bin|lib/collwatch)/collwatch\S*`)
	require.Regexp(t, binary, string(text), "the unit starts nothing of ours")
	path := filepath.Join(t.TempDir(), filepath.Base(unit))
	require.NoError(t, os.WriteFile(path, binary.ReplaceAll(text, []byte("/bin/true")), 0o600))
	return path
}

func units(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("systemd/*.service")
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

func TestUnitsVerify(t *testing.T) {
	for _, unit := range units(t) {
		t.Run(filepath.Base(unit), func(t *testing.T) {
			out, err := analyze(t, "verify", installed(t, unit))
			require.NoError(t, err, out)
			require.Empty(t, complaints(out), "systemd complains about the unit")
		})
	}
}

// complaints drops what systemd-analyze says about the machine it runs on.
func complaints(out string) string {
	var left []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "collwatch") {
			left = append(left, line)
		}
	}
	return strings.Join(left, "")
}

func TestDaemonIsLockedUp(t *testing.T) {
	out, err := analyze(t, "security", "--offline=true", "--no-pager", installed(t, "systemd/collwatch.service"))
	require.NoError(t, err, out)
	score := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(out)
	require.Len(t, score, 2, out)
	exposure, err := strconv.ParseFloat(score[1], 64)
	require.NoError(t, err)
	require.LessOrEqual(t, exposure, maxExposure, out)
}

func TestUnitNotifiesAndReloads(t *testing.T) {
	text, err := os.ReadFile("systemd/collwatch.service")
	require.NoError(t, err)
	for _, line := range []string{
		"Type=notify", "ExecReload=/bin/sh -c 'kill -HUP $MAINPID'", "WatchdogSec=2min", "StateDirectory=collwatch", "Restart=on-failure",
	} {
		require.Contains(t, strings.Split(string(text), "\n"), line)
	}
}

// TestUserAndFolders lets systemd make the user and the folders in a root of
// their own.
func TestUserAndFolders(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make users and give folders to them")
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "etc"), 0o755))
	run := func(tool, file string, args ...string) {
		t.Helper()
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("%s is not installed", tool)
		}
		file, err = filepath.Abs(file)
		require.NoError(t, err)
		out, err := exec.CommandContext(t.Context(), path, append(args, "--root="+root, file)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for _, tt := range []struct {
		name, folder string
		mode         os.FileMode
	}{
		{"collwatch", "etc/collwatch", os.ModeDir | 0o750},
		{"collwatch-exporter", "dev/shm/collwatch", os.ModeDir | os.ModeSticky | os.ModeSetgid | 0o773},
	} {
		run("systemd-sysusers", "systemd/sysusers.d/"+tt.name+".conf")
		users, err := os.ReadFile(filepath.Join(root, "etc/passwd"))
		require.NoError(t, err)
		require.Contains(t, "\n"+string(users), "\n"+tt.name+":x:")

		run("systemd-tmpfiles", "systemd/tmpfiles.d/"+tt.name+".conf", "--create")
		info, err := os.Stat(filepath.Join(root, tt.folder))
		require.NoError(t, err)
		require.Equal(t, tt.mode, info.Mode())
	}
}
