package main

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"
)

// home is the address of the pages for links, as far as the flags tell it: the
// host's name, or the address that alone is listened on, with the first port.
// It is "" where sockets come from systemd or no host is known.
func home(listen *web.FlagConfig) string {
	if listen.WebSystemdSocket != nil && *listen.WebSystemdSocket || len(*listen.WebListenAddresses) == 0 {
		return ""
	}
	host, port, err := net.SplitHostPort((*listen.WebListenAddresses)[0])
	if err != nil || strings.Contains(host, "/") { // vsock://
		return ""
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if servesTLS(*listen.WebConfigFile) {
		u.Scheme = "https"
	}
	return u.String()
}

// servesTLS looks into the toolkit's file; whether that is valid is the
// toolkit's to say.
func servesTLS(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var file struct {
		TLS map[string]any `yaml:"tls_server_config"`
	}
	return yaml.Unmarshal(text, &file) == nil && len(file.TLS) > 0
}
