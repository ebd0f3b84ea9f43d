package main

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A changed file is loaded once; a broken one is refused once and the running
// configuration goes on.
func TestReloadOfAChangedFile(t *testing.T) {
	var log strings.Builder
	d := idleDaemon(t, "", slog.NewTextHandler(&log, nil))
	text, err := os.ReadFile(d.path)
	require.NoError(t, err)
	write := func(text string) {
		require.NoError(t, os.WriteFile(d.path, []byte(text), 0o600))
	}

	require.Empty(t, d.reloadIfChanged(""), "nothing has changed")
	require.Empty(t, d.next)

	write(string(text) + "[web]\nreload = false\n")
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

	require.NoError(t, os.Remove(d.path))
	require.Equal(t, tried, d.reloadIfChanged(tried), "a file that is being exchanged is no change")
}

// The folder of the state is locked from start to end: a reload that names
// another says so. How often it is written is taken over.
func TestReloadOfStateSettings(t *testing.T) {
	var log strings.Builder
	d := idleDaemon(t, "", slog.NewTextHandler(&log, nil))
	text, err := os.ReadFile(d.path)
	require.NoError(t, err)
	reload := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(d.path, []byte(text), 0o600))
		require.NoError(t, d.reload())
		d.use(<-d.next)
	}
	require.Equal(t, 30*time.Second, d.saver.every)

	reload(strings.Replace(string(text), "[global]\n", "[global]\nstate_interval = \"2m\"\n", 1))
	require.Equal(t, 2*time.Minute, d.saver.every)
	require.NotContains(t, log.String(), "restart")

	reload(strings.Replace(string(text), d.stateDir, "/somewhere/else", 1))
	require.Contains(t, log.String(), "global.state_dir changes with a restart only")
	require.Contains(t, log.String(), "configured=/somewhere/else")
}
