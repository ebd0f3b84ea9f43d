package realserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Program is a server that the Go tool can build.
type Program struct {
	Package string
	Version string
	Tags    string
}

// The pinned servers. Prometheus is built without service discovery of clouds,
// which would take most of its build time. Alertmanager is the newest release
// whose module the Go tool can install.
var (
	prometheusProgram   = Program{"github.com/prometheus/prometheus/cmd/prometheus", "v0.316.0", "remove_all_sd"}
	alertmanagerProgram = Program{"github.com/prometheus/alertmanager/cmd/alertmanager", "v0.31.1", ""}
	nodeExporterProgram = Program{"github.com/prometheus/node_exporter", "v1.12.1", ""}
)

const buildTimeout = 30 * time.Minute

// Binary returns the path of the built program, which is built first if it is
// not in the cache. The first build of all takes some minutes and the network.
func Binary(t testing.TB, p Program) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers are left out of short tests")
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err, "the servers are kept in the cache folder of the user")
	name := filepath.Base(p.Package)
	dir := filepath.Join(cache, "collwatch", "servers", fmt.Sprintf("%s-%s-%s", name, p.Version, runtime.Version()))
	bin := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(dir, 0o755))

	unlock := lock(t, filepath.Join(dir, ".lock"))
	defer unlock()
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	build(t, p, dir)
	require.FileExists(t, bin)
	return bin
}

// lock makes test binaries that run at the same time wait for one build.
func lock(t testing.TB, path string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { _ = f.Close() }
}

func build(t testing.TB, p Program, dir string) {
	t.Helper()
	t.Logf("building %s %s", p.Package, p.Version)
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	args := []string{"install"}
	if p.Tags != "" {
		args = append(args, "-tags", p.Tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.Package+"@"+p.Version)...)
	cmd.Dir = t.TempDir() // outside of any module
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "build %s@%s:\n%s", p.Package, p.Version, &out)
}
