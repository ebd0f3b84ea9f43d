package packaging

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/cleanroot"
)

var readmeBlock = regexp.MustCompile("(?ms)^ *```(sh|toml)\n(.*?)^ *```")

// TestFiveMinutesWithThePackage does what the README tells somebody who has the
// package, on a clean Debian, against a Prometheus with Inspector and DCGM series:
// its configuration, its commands, nothing else. The first true coverage report has
// to be there within five minutes, and the look at the past finds the sick NIC.
func TestFiveMinutesWithThePackage(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, part, ok := strings.Cut(string(text), "\n## Five minutes against your own Prometheus\n")
	require.True(t, ok)
	part, _, _ = strings.Cut(part, "\n## ")
	deb := file(t, first.dist(t, version), "collwatch_*.deb")
	w := startWorld(t)
	now := time.Now().UTC()
	part = strings.NewReplacer(
		"http://prometheus.example.org:9090", w.open, "prometheus.example.org:9090", strings.TrimPrefix(w.open, "http://"),
		"http://alertmanager.example.org:9093", w.alertmanager.URL,
		"2026-01-01T00:00:00Z", now.Add(-20*time.Minute).Format(time.RFC3339), "2026-01-02T00:00:00Z", now.Format(time.RFC3339),
		"\\\n", " ",
	).Replace(part)
	m := cleanroot.Boot(t)

	began := time.Now()
	m.Run("dpkg", "--install", m.Copy(deb, "/root"))
	said := map[string]string{}
	for _, block := range readmeBlock.FindAllStringSubmatch(part, -1) {
		if block[1] == "toml" {
			m.Write("/root/collwatch.toml", block[2])
			continue
		}
		for line := range strings.Lines(block[2]) {
			command, ok := strings.CutPrefix(strings.TrimSpace(line), "bin/")
			if !ok {
				continue // make, which is what the package saves
			}
			name := strings.Fields(command)[1]
			if name == "run" {
				command = "timeout 20 " + command + " --web.listen-address=127.0.0.1:" + w.port + " || [ $? = 124 ]"
			}
			said[name] = m.Run("sh", "-c", "cd /root && "+command)
			if name == "coverage" {
				require.Less(t, time.Since(began), 5*time.Minute)
			}
		}
	}
	require.Contains(t, said, "check-config")
	for _, line := range []string{`(?m)^coll_exec_time +inspector-g2 +64 of 64`, `(?m)^gpu_sm_clock +dcgm +64 of 64`, `(?m)^nic_degraded +full`, `(?m)^collective_stall +full`} {
		require.Regexp(t, line, said["coverage"])
	}
	require.Contains(t, said["replay"], "gpu-003")
	require.Contains(t, said["run"], "msg=ready")
}
