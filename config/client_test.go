package config

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"
)

// get sends one request with the source's settings and returns what the server
// saw.
func get(t *testing.T, cfg promconfig.HTTPClientConfig, url string) {
	t.Helper()
	require.NoError(t, cfg.Validate())
	client, err := promconfig.NewClientFromConfig(cfg, "test")
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.Get(url)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}

func TestClientSendsWhatIsConfigured(t *testing.T) {
	var seen http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Clone() }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	require.NoError(t, os.WriteFile(token, []byte("first\n"), 0o600))

	load := func(table string) Source {
		t.Helper()
		cfg, err := Parse("c.toml", []byte("[[source]]\nurl = \""+server.URL+"\"\n"+table))
		require.NoError(t, err)
		return cfg.Sources[0]
	}

	get(t, load("basic_auth = { username = 'u', password = 'p' }\nheaders = { X-A = 'b' }").Client(), server.URL)
	require.Equal(t, "Basic dTpw", seen.Get("Authorization"))
	require.Equal(t, "b", seen.Get("X-A"))

	rotating := load("header_files = { X-Key = '" + token + "' }\nauthorization = { credentials_file = '" + token + "' }").Client()
	client, err := promconfig.NewClientFromConfig(rotating, "test")
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	for _, secret := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(token, []byte(secret+"\n"), 0o600))
		resp, err := client.Get(server.URL)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "Bearer "+secret, seen.Get("Authorization"))
		require.Equal(t, secret, seen.Get("X-Key"))
	}
}

func TestClientTrustsThePrivateAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(block), 0o600))

	h := HTTPClient{TLS: TLS{CAFile: ca, MinVersion: "TLS13"}}
	get(t, h.Client(), server.URL)

	client, err := promconfig.NewClientFromConfig(HTTPClient{}.Client(), "test")
	require.NoError(t, err)
	_, err = client.Get(server.URL) //nolint:bodyclose // it fails
	require.ErrorContains(t, err, "certificate")
}

func TestClientLogsInByOAuth2(t *testing.T) {
	var seen, scope, extra string
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		scope, extra = r.FormValue("scope"), r.FormValue("audience")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"given","token_type":"bearer","expires_in":3600}`))
	})
	mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Authorization") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	tokenURL, err := ParseURL(server.URL + "/token")
	require.NoError(t, err)

	h := HTTPClient{OAuth2: OAuth2{
		ClientID: "me", ClientSecret: "s", TokenURL: tokenURL, Scopes: []string{"read"},
		EndpointParams: map[string]Secret{"audience": "prom"},
	}}
	get(t, h.Client(), server.URL)
	require.Equal(t, "Bearer given", seen)
	require.Equal(t, "read", scope)
	require.Equal(t, "prom", extra)
}

func TestClientUsesTheProxy(t *testing.T) {
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.URL.String() }))
	t.Cleanup(proxy.Close)
	proxyURL, err := ParseURL(proxy.URL)
	require.NoError(t, err)
	get(t, HTTPClient{ProxyURL: proxyURL}.Client(), "http://prom.example.org/x")
	require.Equal(t, "http://prom.example.org/x", asked)
}
