package plugin

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

// needTool skips without the tool, except in CI, where a missing tool is a mistake of the CI's set-up.
func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is needed in CI: %v", name, err)
		}
		t.Skipf("%s is not installed", name)
	}
}

func build(t *testing.T, args ...string) string {
	t.Helper()
	needTool(t, "make")
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "make", append([]string{"-s", "BUILD=" + dir}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

func runHarness(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "harness"), args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "ASAN_OPTIONS=detect_leaks=1", "TSAN_OPTIONS=halt_on_error=1",
		"UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1", "NCCL_PROFILER_PLUGIN=collwatch")
	out, err := cmd.CombinedOutput()
	if err != nil {
		var failed []string
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, "ok ") {
				failed = append(failed, line)
			}
		}
		require.NoError(t, err, "%s", strings.Join(failed, ""))
	}
}

// TestScenarios plays NCCL in every ABI version, plain and under the sanitizers.
func TestScenarios(t *testing.T) {
	for name, flags := range map[string][]string{
		"plain":             {"CC=gcc"},
		"address undefined": {"CC=gcc", "SAN=address,undefined"},
		"thread":            {"CC=gcc", "SAN=thread"},
		"clang":             {"CC=clang"},
	} {
		t.Run(name, func(t *testing.T) {
			needTool(t, strings.TrimPrefix(flags[0], "CC="))
			if name == "plain" {
				t.Setenv("HARNESS_SLOW", "1") // what waits for the plugin's own patience, once
			}
			runHarness(t, build(t, append(flags, "harness")...))
		})
	}
}

// TestLibraryNeedsNothing wants libc and the loader and nobody else, and no exported name besides the tables.
func TestLibraryNeedsNothing(t *testing.T) {
	needTool(t, "gcc")
	needTool(t, "ldd")
	lib := filepath.Join(build(t, "lib"), "libnccl-profiler-collwatch.so")
	out, err := exec.CommandContext(t.Context(), "ldd", lib).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		name := strings.Fields(line)[0]
		require.True(t, strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "linux-vdso") || strings.Contains(name, "ld-linux"),
			"the library needs %s", name)
	}
	out, err = exec.CommandContext(t.Context(), "nm", "-D", "--defined-only", lib).Output()
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(string(out)) {
		names = append(names, strings.Fields(line)[2])
	}
	require.ElementsMatch(t, []string{
		"ncclProfiler_v2", "ncclProfiler_v3", "ncclProfiler_v4", "ncclProfiler_v5",
		"ncclProfiler_v6", "ncclProfiler_v7",
	}, names)
}

// TestLoadsOnOldSystems: built here, the library must load in containers with glibc as old as 2.17.
func TestLoadsOnOldSystems(t *testing.T) {
	needTool(t, "objdump")
	out, err := exec.CommandContext(t.Context(), "objdump", "-T", filepath.Join(build(t, "lib"), "libnccl-profiler-collwatch.so")).Output()
	require.NoError(t, err)
	found := regexp.MustCompile(`GLIBC_2\.(\d+)`).FindAllStringSubmatch(string(out), -1)
	require.NotEmpty(t, found)
	for _, m := range found {
		minor, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		require.LessOrEqual(t, minor, 17, "it needs %s", m[0])
	}
}

// TestCompilesForGrace checks the layout on aarch64 without running anything.
func TestCompilesForGrace(t *testing.T) {
	needTool(t, "aarch64-linux-gnu-gcc")
	build(t, "cross")
}
