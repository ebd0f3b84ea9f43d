package main

import (
	"log/slog"
	"os"
	"strings"
	"testing"

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
