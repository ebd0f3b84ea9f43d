package realserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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
	// Module is the path of the module, where its go.mod replaces others: "go
	// install" refuses those, so it is built as a dependency, with the same
	// replacements.
	Module string
}

// The pinned servers. Prometheus is built without service discovery of clouds,
// which would take most of its build time. Alertmanager is the newest release
// whose module the Go tool can install. Thanos is the newest that the Go release of
// this module compiles.
var (
	prometheusProgram   = Program{"github.com/prometheus/prometheus/cmd/prometheus", "v0.316.0", "remove_all_sd", ""}
	alertmanagerProgram = Program{"github.com/prometheus/alertmanager/cmd/alertmanager", "v0.31.1", "", ""}
	nodeExporterProgram = Program{"github.com/prometheus/node_exporter", "v1.12.1", "", ""}

	// Of the same release as vmalert, so that they share most of the build.
	victoriaMetricsProgram = Program{Package: "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics", Version: vmalertProgram.Version}
	thanosProgram          = Program{
		Package: "github.com/thanos-io/thanos/cmd/thanos", Version: "v0.42.4", Tags: "slicelabels",
		Module: "github.com/thanos-io/thanos",
	}
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
	work := t.TempDir() // outside of any module
	golang := func(args ...string) []byte {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), "go %s:\n%s", strings.Join(args, " "), &stderr)
		return stdout.Bytes()
	}
	tags := "-tags=" + p.Tags
	if p.Module == "" {
		golang("install", tags, p.Package+"@"+p.Version)
		return
	}
	golang("mod", "init", "collwatch.invalid/server")
	golang("get", p.Module+"@"+p.Version)
	for _, r := range replacements(t, golang("mod", "download", "-json", p.Module+"@"+p.Version), golang) {
		golang("mod", "edit", "-replace="+r)
	}
	golang("build", "-mod=mod", "-trimpath", tags, "-o", dir, p.Package)
}

// replacements returns those that a downloaded module's go.mod asks for, as
// flags of "go mod edit". Folders of its own are no part of a download.
func replacements(t testing.TB, download []byte, golang func(...string) []byte) (out []string) {
	t.Helper()
	var of struct{ GoMod string }
	require.NoError(t, json.Unmarshal(download, &of))
	type module struct{ Path, Version string }
	var file struct{ Replace []struct{ Old, New module } }
	require.NoError(t, json.Unmarshal(golang("mod", "edit", "-json", of.GoMod), &file))
	at := func(m module) string {
		if m.Version == "" {
			return m.Path
		}
		return m.Path + "@" + m.Version
	}
	for _, r := range file.Replace {
		if r.New.Version != "" {
			out = append(out, at(r.Old)+"="+at(r.New))
		}
	}
	return out
}
