package slack

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Why Slack is out of reach is said, and never the address of a webhook.
func TestNoAnswerSaysWhy(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct{ name, url, want string }{
		{"unknown name", "http://slack.invalid", "no answer: lookup slack.invalid"},
		{"nobody listens", gone.URL, "connection refused"},
		{"a proxy's certificate", secure.URL, "no answer: tls: failed to verify certificate"},
		{"no such scheme", "htp://slack.invalid", "no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
			defer transport.CloseIdleConnections()
			h := &hook{url: func(bool) (string, error) { return c.url + "/services/T0/B0/secret", nil }, http: &http.Client{Transport: transport}}
			_, _, first := h.PostMessage(t.Context(), "", &Message{Text: "x"})
			require.ErrorContains(t, first, c.want)
			require.NotContains(t, first.Error(), "secret")
			require.NotContains(t, first.Error(), "services")
			_, _, second := h.PostMessage(t.Context(), "", &Message{Text: "x"})
			require.Equal(t, first.Error(), second.Error(), "the same trouble reads the same, or each try is logged")
			require.NotContains(t, first.Error(), "\n")
		})
	}
}
