package main

import (
	"net/http"
	"net/http/httptest"
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
			d := idleDaemon(t, tc.web, nil)
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
