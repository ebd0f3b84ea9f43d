package packaging

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/cleanroot"
	"github.com/collwatch/collwatch/internal/realserver"
)

// TestInstallTheExporter is the life of the other package on a clean Debian:
// installed, started, seen by jobs, upgraded, removed, purged.
func TestInstallTheExporter(t *testing.T) {
	old, upgraded := file(t, first.dist(t, version), "collwatch-exporter_*.deb"), file(t, upgrade.dist(t, next), "collwatch-exporter_*.deb")
	m := cleanroot.Boot(t)
	address := "127.0.0.1:" + realserver.FreePort(t)
	show := func(property string) string {
		return m.Run("systemctl", "show", "--property="+property, "--value", "collwatch-exporter")
	}
	metrics := func() string {
		resp, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(body)
	}
	serves := func(line string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(metrics(), line) }, 30*time.Second, 200*time.Millisecond, "%s in %s", line, metrics())
	}

	m.Run("dpkg", "--install", m.Copy(old, "/root"))
	require.Contains(t, m.Run("getent", "passwd", "collwatch-exporter"), "/nologin")
	require.NotContains(t, m.Run("systemd-analyze", "verify", "--man=no", "collwatch-exporter.service"), "collwatch")
	m.Write("/etc/default/collwatch-exporter", `COLLWATCH_EXPORTER_OPTS="--web.listen-address=`+address+`"`)
	m.Run("systemctl", "enable", "collwatch-exporter")
	m.Run("systemctl", "restart", "collwatch-exporter")
	serves("collwatch_exporter_folder_readable 1")
	require.Equal(t, "active", show("ActiveState"))
	require.Equal(t, "collwatch-exporter", m.Run("stat", "--format=%U", "/proc/"+show("MainPID")))
	// Any user's job may write there, and reads nobody else's file.
	require.Equal(t, "3773 collwatch-exporter", m.Run("stat", "--format=%a %U", "/dev/shm/collwatch"))
	m.Run("setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", "umask 027; echo nonsense > /dev/shm/collwatch/1-0.cw")
	require.Equal(t, "640 collwatch-exporter", m.Run("stat", "--format=%a %G", "/dev/shm/collwatch/1-0.cw"))
	_, err := m.Try("setpriv", "--reuid=65533", "--clear-groups", "ls", "/dev/shm/collwatch")
	require.Error(t, err)
	// A file that is none of the plugin's takes nothing down.
	serves("collwatch_exporter_folder_readable 1")
	require.FileExists(t, filepath.Join(m.Root, "usr/lib/collwatch/libnccl-profiler-collwatch.so"))

	pid := show("MainPID")
	m.Run("sh", "-c", "kill -KILL "+pid)
	require.Eventually(t, func() bool { return show("ActiveState") == "active" && show("MainPID") != pid }, time.Minute, 200*time.Millisecond)

	pid = show("MainPID")
	m.Run("dpkg", "--force-confold", "--install", m.Copy(upgraded, "/root"))
	require.Contains(t, m.Run("collwatch-exporter", "--version"), next)
	require.NotEqual(t, pid, show("MainPID"), "the new binary runs")
	require.Equal(t, "enabled", m.Run("systemctl", "is-enabled", "collwatch-exporter"))
	serves("collwatch_exporter_build_info")

	m.Run("dpkg", "--remove", "collwatch-exporter")
	require.Empty(t, metrics(), "it has ended")
	require.NoFileExists(t, filepath.Join(m.Root, "usr/lib/systemd/system/collwatch-exporter.service"))
	require.NoFileExists(t, filepath.Join(m.Root, "etc/systemd/system/multi-user.target.wants/collwatch-exporter.service"))
	m.Run("dpkg", "--purge", "collwatch-exporter")
	require.NoFileExists(t, filepath.Join(m.Root, "etc/default/collwatch-exporter"))
}
