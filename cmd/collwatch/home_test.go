package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
)

func TestLinksLeadToWhereTheDaemonListens(t *testing.T) {
	name, err := os.Hostname()
	require.NoError(t, err)
	tls := filepath.Join(t.TempDir(), "web.yml")
	require.NoError(t, os.WriteFile(tls, []byte("tls_server_config: {cert_file: a, key_file: b}\n"), 0o600))
	plain := filepath.Join(t.TempDir(), "web.yml")
	require.NoError(t, os.WriteFile(plain, []byte("basic_auth_users: {a: b}\n"), 0o600))
	for _, c := range []struct {
		name, file string
		systemd    bool
		addresses  []string
		want       string
	}{
		{"default", "", false, []string{defaultAddress}, "http://" + name + ":9876"},
		{"all of IPv4", "", false, []string{"0.0.0.0:80"}, "http://" + name + ":80"},
		{"all of IPv6", "", false, []string{"[::]:80"}, "http://" + name + ":80"},
		{"one address", "", false, []string{"127.0.0.1:19876", ":9876"}, "http://127.0.0.1:19876"},
		{"one name", "", false, []string{"monitor.example.org:443"}, "http://monitor.example.org:443"},
		{"one address of IPv6", "", false, []string{"[fd00::1]:9876"}, "http://[fd00::1]:9876"},
		{"TLS", tls, false, []string{":9876"}, "https://" + name + ":9876"},
		{"login only", plain, false, []string{":9876"}, "http://" + name + ":9876"},
		{"no such file", "/does/not/exist", false, []string{":9876"}, "http://" + name + ":9876"},
		{"sockets of systemd", "", true, []string{":9876"}, ""},
		{"vsock", "", false, []string{"vsock://:9876"}, ""},
		{"no address", "", false, []string{"nonsense"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, home(&web.FlagConfig{
				WebListenAddresses: &c.addresses, WebSystemdSocket: &c.systemd, WebConfigFile: &c.file,
			}))
		})
	}
}

func TestLinksSurviveAReload(t *testing.T) {
	d := idleDaemon(t, "", nil)
	cfg := d.current.Load().cfg
	d.listenAt("http://monitor:19876")
	require.Equal(t, "http://monitor:19876", d.current.Load().asm.opts.renderer.ExternalURL)
	next, err := d.newGeneration(cfg)
	require.NoError(t, err)
	require.Equal(t, "http://monitor:19876", next.asm.opts.renderer.ExternalURL)
	cfg.Global.ExternalURL, err = config.ParseURL("https://monitoring.example.org/collwatch")
	require.NoError(t, err)
	next, err = d.newGeneration(cfg)
	require.NoError(t, err)
	require.Equal(t, "https://monitoring.example.org/collwatch", next.asm.opts.renderer.ExternalURL, "the configuration knows better")
}
