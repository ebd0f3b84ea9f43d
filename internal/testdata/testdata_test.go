package testdata

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	want := filepath.Join(root, "shared", "data")
	deep := filepath.Join(root, "repo", "detectors")
	require.NoError(t, os.MkdirAll(deep, 0o755))

	_, ok := find(deep)
	require.False(t, ok, "nothing there yet")

	require.NoError(t, os.MkdirAll(want, 0o755))
	got, ok := find(deep)
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestDirFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	require.Equal(t, dir, Dir(t))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "trace.csv"), nil, 0o600))
	require.Equal(t, filepath.Join(dir, "trace.csv"), Path(t, "trace.csv"))
}
