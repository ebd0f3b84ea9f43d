package main

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/promapi"
)

// frontEnd is a server like Mimir's: TLS by a private authority, a path prefix,
// a tenant in a header, and a bearer token that may change.
type frontEnd struct {
	*httptest.Server
	token atomic.Pointer[string]
	seen  atomic.Int64
}

func startFrontEnd(t *testing.T) *frontEnd {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	require.NoError(t, sink.Append(sink.Series("__name__", "up", "instance", "gpu-001"), time.Now().UnixMilli(), 1))
	require.NoError(t, sink.Commit())
	api := http.StripPrefix("/mimir/prometheus", apiserver.Handler(db))
	f := &frontEnd{}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+*f.token.Load():
			http.Error(w, "unauthorized", http.StatusUnauthorized)
		case r.Header.Get("X-Scope-OrgID") != "team-a":
			http.Error(w, "no org id", http.StatusUnauthorized)
		case !strings.HasPrefix(r.URL.Path, "/mimir/prometheus/api/v1/"):
			http.NotFound(w, r)
		default:
			f.seen.Add(1)
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	return f
}

// TestBehindAFrontEnd: prefix, tenant, private authority and a token that
// rotates while the daemon runs.
func TestBehindAFrontEnd(t *testing.T) {
	f := startFrontEnd(t)
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	rotate := func(token string) {
		f.token.Store(&token)
		put("token", token)
	}
	rotate("the-first-token")
	ca := put("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})))
	path := put("collwatch.toml", fmt.Sprintf(`
[[source]]
name = "mimir"
kind = "mimir"
url = "%s/mimir/prometheus"
tenant = "team-a"
[source.authorization]
credentials_file = "token"
[source.tls]
ca_file = %q
`, f.URL, ca))
	cfg, err := loadConfig(path)
	require.NoError(t, err)
	sources, err := liveSources(cfg, prometheus.NewRegistry())
	require.NoError(t, err)
	client, ok := sources["mimir"].(*promapi.Client)
	require.True(t, ok)
	t.Cleanup(client.Close)
	ask := func() error {
		var r promapi.Result
		err := client.Instant(t.Context(), "up", time.Now(), &r)
		if err == nil {
			require.Equal(t, 1, r.Len())
		}
		return err
	}
	require.NoError(t, ask())
	rotate("the-second-token")
	require.NoError(t, ask(), "the file is read again")
	f.token.Store(new(string)) // now the file is wrong
	err = ask()
	require.Equal(t, promapi.ClassConfig, promapi.ClassOf(err))
	require.NotContains(t, err.Error(), "the-second-token")
	require.EqualValues(t, 2, f.seen.Load())
}

// TestBasicAuthAndPrefix: the same for a name and a password, in a file.
func TestBasicAuthAndPrefix(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "ops" || password != "correct-horse" || !strings.HasPrefix(r.URL.Path, "/metrics-of/cluster-a/api/v1/") {
			http.Error(w, "<html>login</html>", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	}))
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "password"), []byte("correct-horse\n"), 0o600))
	path := filepath.Join(dir, "collwatch.toml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
[[source]]
name = "p"
url = "%s/metrics-of/cluster-a/"
[source.basic_auth]
username = "ops"
password_file = "password"
`, proxy.URL), 0o600))
	cfg, err := loadConfig(path)
	require.NoError(t, err)
	sources, err := liveSources(cfg, prometheus.NewRegistry())
	require.NoError(t, err)
	client, ok := sources["p"].(*promapi.Client)
	require.True(t, ok)
	t.Cleanup(client.Close)
	var r promapi.Result
	require.NoError(t, client.Instant(t.Context(), "up", time.Now(), &r))
}
