package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reload over HTTP and profiles are there only where the configuration says so.
func TestServerSwitches(t *testing.T) {
	for name, tc := range map[string]struct {
		web           string
		reload, pprof int
	}{
		"default":  {"", http.StatusOK, http.StatusNotFound},
		"inverted": {"[web]\nreload = false\npprof = true\n", http.StatusForbidden, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "collwatch.toml")
			text := "[global]\nstate_dir = \"" + t.TempDir() + "\"\n[[source]]\nurl = \"http://127.0.0.1:1\"\n" + tc.web
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			cfg, err := loadConfig(path)
			require.NoError(t, err)
			d, err := newDaemon(path, cfg, slog.New(slog.DiscardHandler), nil)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.store.Close()) })
			h := d.server().Handler
			code := func(method, url string) int {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(method, url, nil))
				return w.Code
			}
			require.Equal(t, tc.reload, code(http.MethodPost, "/-/reload"))
			require.Equal(t, http.StatusMethodNotAllowed, code(http.MethodGet, "/-/reload"))
			require.Equal(t, tc.pprof, code(http.MethodGet, "/debug/pprof/goroutine?debug=1"))
			require.Equal(t, tc.pprof, code(http.MethodGet, "/debug/pprof/"))
		})
	}
}
