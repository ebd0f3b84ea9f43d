package packaging

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// content is what a package has to hold: path and mode.
var content = map[string]map[string]os.FileMode{
	"collwatch": {
		"usr/bin/collwatch":                                              0o755,
		"etc/collwatch/config.toml":                                      0o640,
		"etc/default/collwatch":                                          0o644,
		"usr/lib/systemd/system/collwatch.service":                       0o644,
		"usr/lib/sysusers.d/collwatch.conf":                              0o644,
		"usr/lib/tmpfiles.d/collwatch.conf":                              0o644,
		"usr/share/man/man1/collwatch.1.gz":                              0o644,
		"usr/share/bash-completion/completions/collwatch":                0o644,
		"usr/share/zsh/vendor-completions/_collwatch":                    0o644,
		"usr/share/doc/collwatch/copyright":                              0o644,
		"usr/share/doc/collwatch/examples/config.example.toml":           0o644,
		"usr/share/doc/collwatch/examples/alertmanager/alertmanager.yml": 0o644,
		"usr/share/doc/collwatch/examples/prometheus/prometheus.yml":     0o644,
		"usr/share/doc/collwatch/examples/grafana/incident.json":         0o644,
	},
	"collwatch-exporter": {
		"usr/bin/collwatch-exporter":                               0o755,
		"etc/default/collwatch-exporter":                           0o644,
		"usr/lib/systemd/system/collwatch-exporter.service":        0o644,
		"usr/lib/sysusers.d/collwatch-exporter.conf":               0o644,
		"usr/lib/tmpfiles.d/collwatch-exporter.conf":               0o644,
		"usr/share/man/man1/collwatch-exporter.1.gz":               0o644,
		"usr/lib/collwatch/libnccl-profiler-collwatch.so":          0,
		"usr/share/bash-completion/completions/collwatch-exporter": 0o644,
		"usr/share/doc/collwatch-exporter/examples/task_prolog.sh": 0o755,
	},
}

// configuration is what an upgrade must leave alone.
var configuration = map[string][]string{
	"collwatch":          {"/etc/collwatch/config.toml", "/etc/default/collwatch"},
	"collwatch-exporter": {"/etc/default/collwatch-exporter"},
}

func TestDebContent(t *testing.T) {
	for name, files := range content {
		t.Run(name, func(t *testing.T) {
			deb := file(t, first.dist(t, version), name+"_*.deb")
			root := t.TempDir()
			output(t, "dpkg-deb", "--extract", deb, root)
			for path, mode := range files {
				info, err := os.Stat(filepath.Join(root, path))
				require.NoError(t, err)
				if mode != 0 {
					require.Equal(t, mode, info.Mode().Perm(), path)
				}
				require.Zero(t, info.Mode().Perm()&0o022, "%s: nobody but root may change it", path)
			}
			control := t.TempDir()
			output(t, "dpkg-deb", "--control", deb, control)
			kept, err := os.ReadFile(filepath.Join(control, "conffiles"))
			require.NoError(t, err)
			got := strings.Fields(string(kept))
			slices.Sort(got)
			require.Equal(t, configuration[name], got)
			require.Contains(t, output(t, "dpkg-deb", "--field", deb), "\nHomepage: ")
		})
	}
}

func TestRPMContent(t *testing.T) {
	for name, files := range content {
		t.Run(name, func(t *testing.T) {
			rpm := file(t, first.dist(t, version), name+"-"+version+"-*.rpm")
			listed := map[string]string{} // path to mode in octal
			for line := range strings.Lines(output(t, "rpm", "-qp", "--queryformat", `[%{FILENAMES} %{FILEMODES:octal}\n]`, rpm)) {
				path, mode, _ := strings.Cut(strings.TrimSpace(line), " ")
				listed[path] = mode
			}
			for path, mode := range files {
				require.Contains(t, listed, "/"+path)
				if mode != 0 {
					require.True(t, strings.HasSuffix(listed["/"+path], modeText(mode)), "%s has %s", path, listed["/"+path])
				}
			}
			kept := strings.Fields(output(t, "rpm", "-qp", "--configfiles", rpm))
			slices.Sort(kept)
			require.Equal(t, configuration[name], kept)
			require.Contains(t, output(t, "rpm", "-qp", "--scripts", rpm), "systemctl daemon-reload")
		})
	}
}

func modeText(m os.FileMode) string {
	const octal = "01234567"
	return string([]byte{octal[m>>6&7], octal[m>>3&7], octal[m&7]})
}
