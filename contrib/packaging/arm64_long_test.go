//go:build long

package packaging

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLongPackagesOfTheOtherArchitecture: packages for a machine that is not this
// one hold its programs and its plugin, and say so.
func TestLongPackagesOfTheOtherArchitecture(t *testing.T) {
	other, machine, rpmName := "arm64", elf.EM_AARCH64, "aarch64"
	if runtime.GOARCH == "arm64" {
		other, machine, rpmName = "amd64", elf.EM_X86_64, "x86_64"
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "../..", "dist", "VERSION="+version, "ARCHES="+other, "OUT="+dir)
	log, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", log)
	for _, name := range []string{"collwatch", "collwatch-exporter"} {
		deb, rpm := file(t, dir, name+"_*.deb"), file(t, dir, name+"-"+version+"-*.rpm")
		require.Equal(t, other, strings.TrimSpace(output(t, "dpkg-deb", "--field", deb, "Architecture")))
		require.Equal(t, rpmName, output(t, "rpm", "-qp", "--queryformat", "%{ARCH}", rpm))
		fromDeb, fromRPM := t.TempDir(), t.TempDir()
		output(t, "dpkg-deb", "--extract", deb, fromDeb)
		output(t, "sh", "-c", `cd "$0" && rpm2archive - < "$1" | tar -xz`, fromRPM, rpm)
		programs := 0
		for _, root := range []string{fromDeb, fromRPM} {
			require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
				if f, bad := elf.Open(path); bad == nil {
					programs++
					require.Equal(t, machine, f.Machine, path)
					require.NoError(t, f.Close())
				}
				return err
			}))
		}
		want := map[string]int{"collwatch": 2, "collwatch-exporter": 4}[name] // in both, the exporter's with the plugin
		require.Equal(t, want, programs, name)
	}
}
