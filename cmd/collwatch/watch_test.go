package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A changed file is loaded once; a broken one is refused once and the running
// configuration goes on.
func TestReloadOfAChangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "collwatch.toml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	text := "[global]\nstate_dir = \"" + t.TempDir() + "\"\n[[source]]\nurl = \"http://127.0.0.1:1\"\n"
	write(text)
	cfg, err := loadConfig(path)
	require.NoError(t, err)
	var log strings.Builder
	d, err := newDaemon(path, cfg, slog.New(slog.NewTextHandler(&log, nil)), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.store.Close()) })

	require.Empty(t, d.reloadIfChanged(""), "nothing has changed")
	require.Empty(t, d.next)

	write(text + "[web]\nreload = false\n")
	tried := d.reloadIfChanged("")
	require.Len(t, d.next, 1)
	next := <-d.next
	require.False(t, next.cfg.Web.Reload)
	d.use(next)
	require.Equal(t, tried, next.cfg.Hash)

	write("nonsense")
	tried = d.reloadIfChanged(tried)
	require.Empty(t, d.next)
	require.Equal(t, tried, d.reloadIfChanged(tried))
	require.Equal(t, 1, strings.Count(log.String(), "configuration not reloaded"))

	require.NoError(t, os.Remove(path))
	require.Equal(t, tried, d.reloadIfChanged(tried), "a file that is being exchanged is no change")
}
