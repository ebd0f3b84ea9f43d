package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/cleanroot"
)

// host is a clean machine on which collwatch is installed.
type host struct {
	*cleanroot.Machine
	*world
}

func (h *host) eventually(what string, within time.Duration, ok func() bool) {
	h.t.Helper()
	require.Eventually(h.t, ok, within, 200*time.Millisecond, what)
}

func (h *host) show(property string) string {
	return h.Run("systemctl", "show", "--property="+property, "--value", "collwatch")
}

// install installs a deb as dpkg does, from a file.
func (h *host) install(deb string) {
	h.t.Helper()
	h.Run("dpkg", "--install", h.Copy(deb, "/root"))
}

// TestInstallTheDaemon is the life of the package on a clean Debian with its
// own systemd: installed, configured, started, reloaded, upgraded, removed,
// purged. Each step is a subtest of the same machine.
func TestInstallTheDaemon(t *testing.T) {
	old, upgraded := file(t, first.dist(t, version), "collwatch_*.deb"), file(t, upgrade.dist(t, next), "collwatch_*.deb")
	h := &host{Machine: cleanroot.Boot(t), world: startWorld(t)}
	steps := []struct {
		name string
		do   func(t *testing.T, h *host)
	}{
		{"installation starts nothing", func(_ *testing.T, h *host) { h.install(old) }},
		{"files and user", installed},
		{"a wrong configuration does not start", wrongConfiguration},
		{"configure, check, coverage", configured},
		{"start", started},
		{"the alert is there", alerted},
		{"reload", reloaded},
		{"a crash is restarted", crashed},
		{"upgrade keeps configuration, state and alert", func(t *testing.T, h *host) { upgradedTo(t, h, upgraded) }},
		{"stop resolves nothing", stopped},
		{"removal leaves no service", removed},
		{"purge removes the state", purged},
	}
	for _, s := range steps {
		ok := t.Run(s.name, func(t *testing.T) {
			of := *h.world
			of.t = t
			s.do(t, &host{Machine: h.In(t), world: &of})
		})
		if !ok {
			t.Logf("journal:\n%s", h.journal())
			break // the next ones stand on this one
		}
	}
}

func (h *host) journal() string {
	text, _ := h.Try("journalctl", "--no-pager", "--unit=collwatch", "--lines=80")
	return text
}

func installed(t *testing.T, h *host) {
	require.Equal(t, "inactive", h.show("ActiveState"), "the operator names a server first")
	require.Contains(t, h.Run("getent", "passwd", "collwatch"), ":/var/lib/collwatch:/usr/sbin/nologin")
	require.Equal(t, "750 root collwatch", h.Run("stat", "--format=%a %U %G", "/etc/collwatch"))
	require.Equal(t, "640 root collwatch", h.Run("stat", "--format=%a %U %G", "/etc/collwatch/config.toml"))
	require.Equal(t, "755 root root", h.Run("stat", "--format=%a %U %G", "/usr/bin/collwatch"))
	require.Contains(t, h.Run("collwatch", "version"), version)
	// The shipped configuration is right as it is, but for its servers.
	h.Run("collwatch", "check-config", "--config", "/etc/collwatch/config.toml")
	// What systemd of this machine thinks of the unit, with everything in place.
	complaints := h.Run("systemd-analyze", "verify", "--man=no", "collwatch.service")
	require.NotContains(t, complaints, "collwatch")
}

func wrongConfiguration(t *testing.T, h *host) {
	shipped, err := os.ReadFile(filepath.Join(h.Root, "etc/collwatch/config.toml"))
	require.NoError(t, err)
	h.rewrite("[global]\nintervall = \"15s\"\n")
	out, err := h.Try("systemctl", "start", "collwatch")
	require.Error(t, err, out)
	h.eventually("the journal says which key", 10*time.Second, func() bool { return strings.Contains(h.journal(), "intervall") })
	h.Run("systemctl", "stop", "collwatch")
	_, _ = h.Try("systemctl", "reset-failed", "collwatch") // fails where the stop has forgotten the unit already
	h.rewrite(string(shipped))
}

// rewrite changes the configuration in place, as an editor does.
func (h *host) rewrite(text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.Root, "etc/collwatch/config.toml"), []byte(text), 0o640))
}

func configured(t *testing.T, h *host) {
	h.rewrite(h.config())
	h.Write("/etc/default/collwatch", `COLLWATCH_OPTS="--web.listen-address=127.0.0.1:`+h.port+`"`)
	h.Write("/etc/credstore/collwatch.prometheus-token", token)
	h.Write("/etc/systemd/system/collwatch.service.d/credentials.conf",
		"[Service]\nLoadCredential=prometheus-token:/etc/credstore/collwatch.prometheus-token\n")
	h.Run("systemctl", "daemon-reload")
	h.Run("collwatch", "check-config", "--skip-files", "--config", "/etc/collwatch/config.toml")
	// By hand a folder with files of the credentials' names stands in for systemd's.
	h.Write("/root/creds/prometheus-token", token)
	byHand := []string{"env", "CREDENTIALS_DIRECTORY=/root/creds"}
	h.Run(append(byHand, "collwatch", "check-config", "--config", "/etc/collwatch/config.toml")...)
	report := h.Run("env", "CREDENTIALS_DIRECTORY=/root/creds", "collwatch", "coverage", "--config", "/etc/collwatch/config.toml")
	require.Contains(t, report, "nic_rate")
	require.Contains(t, report, "coll_exec_time")
}

func started(t *testing.T, h *host) {
	h.Run("systemctl", "enable", "--now", "collwatch") // returns with READY
	require.Equal(t, "active", h.show("ActiveState"))
	code, text := h.answers("/-/ready")
	require.Equal(t, 200, code, "READY comes after the first full cycle: %s", text)
	require.Regexp(t, `\d+ series, \d+ open incidents`, h.show("StatusText"))
	require.Equal(t, "collwatch", h.Run("stat", "--format=%U", "/proc/"+h.show("MainPID")))
	require.Equal(t, "750 collwatch collwatch", h.Run("stat", "--format=%a %U %G", "/var/lib/collwatch"))
	require.NotContains(t, h.journal(), token)
}

func alerted(t *testing.T, h *host) {
	h.eventually("the sick NIC is an alert", 2*time.Minute, func() bool { return len(h.alerts()) == 1 })
	labels := h.alerts()[0].Labels
	require.Equal(t, "gpu-003/mlx5_5", labels["suspect_node"]+"/"+labels["suspect_device"])
	require.Contains(t, h.Run("ls", "/var/lib/collwatch"), "incidents")
	// People in the group may ask; so may root.
	require.Contains(t, h.Run("collwatch", "explain", "--config", "/etc/collwatch/config.toml"), "gpu-003")
}

func reloaded(t *testing.T, h *host) {
	pid := h.show("MainPID")
	h.rewrite(h.config() + "\n[nonsense]\n")
	h.Run("systemctl", "reload", "collwatch")
	h.eventually("the metric says no", 10*time.Second, func() bool { return h.metric("collwatch_config_last_reload_successful") == 0 })
	require.Equal(t, "active", h.show("ActiveState"))
	h.rewrite(h.config())
	h.Run("systemctl", "reload", "collwatch")
	h.eventually("the metric says yes", 10*time.Second, func() bool { return h.metric("collwatch_config_last_reload_successful") == 1 })
	require.Equal(t, pid, h.show("MainPID"), "it is the same process")
}

func crashed(t *testing.T, h *host) {
	before := h.alerts()
	pid := h.show("MainPID")
	h.Run("sh", "-c", "kill -KILL "+pid)
	h.eventually("systemd starts it again", time.Minute, func() bool {
		return h.show("ActiveState") == "active" && h.show("MainPID") != pid
	})
	require.Equal(t, before, h.alerts(), "neither resolved nor doubled")
}

func upgradedTo(t *testing.T, h *host, deb string) {
	before, pid := h.alerts(), h.show("MainPID")
	h.install(deb)
	require.Contains(t, h.Run("collwatch", "version"), next)
	kept, err := os.ReadFile(filepath.Join(h.Root, "etc/collwatch/config.toml"))
	require.NoError(t, err)
	require.Equal(t, h.config(), string(kept))
	require.Equal(t, "active", h.show("ActiveState"))
	require.NotEqual(t, pid, h.show("MainPID"), "the new binary runs")
	require.Equal(t, "enabled", h.Run("systemctl", "is-enabled", "collwatch"))
	require.Contains(t, h.Run("collwatch", "explain", "--config", "/etc/collwatch/config.toml"), "gpu-003")
	evaluations := h.metric("collwatch_evaluations_total")
	h.eventually("two more evaluations", time.Minute, func() bool { return h.metric("collwatch_evaluations_total") >= evaluations+2 })
	require.Equal(t, before, h.alerts(), "same labels, same start")
}

func stopped(t *testing.T, h *host) {
	before := h.alerts()
	h.Run("systemctl", "stop", "collwatch")
	require.Equal(t, "success", h.show("Result"))
	require.Equal(t, before, h.alerts())
	h.Run("systemctl", "start", "collwatch")
}

func removed(t *testing.T, h *host) {
	h.Run("dpkg", "--remove", "collwatch")
	require.True(t, h.closed(), "the daemon has ended")
	units, _ := h.Try("systemctl", "list-units", "--all", "--plain", "--no-legend", "collwatch*")
	require.NotContains(t, units, "loaded active")
	require.NoFileExists(t, filepath.Join(h.Root, "etc/systemd/system/multi-user.target.wants/collwatch.service"))
	require.NoFileExists(t, filepath.Join(h.Root, "usr/lib/systemd/system/collwatch.service"))
	require.NoFileExists(t, filepath.Join(h.Root, "usr/bin/collwatch"))
	require.FileExists(t, filepath.Join(h.Root, "etc/collwatch/config.toml"), "a removal is no purge")
	require.DirExists(t, filepath.Join(h.Root, "var/lib/collwatch"))
}

func purged(t *testing.T, h *host) {
	h.Run("dpkg", "--purge", "collwatch")
	for _, path := range []string{"etc/collwatch", "var/lib/collwatch", "etc/default/collwatch"} {
		require.NoFileExists(t, filepath.Join(h.Root, path))
		require.NoDirExists(t, filepath.Join(h.Root, path))
	}
	require.NotContains(t, strings.Fields(h.Run("dpkg-query", "--show", "--showformat=${Package} ")), "collwatch")
}
