package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// TestRunbookLinks: the address of the configuration leads to the page of the
// class, with the class as the last part or where {class} stands.
func TestRunbookLinks(t *testing.T) {
	for given, want := range map[string]string{
		"https://wiki.example/runbooks":                "https://wiki.example/runbooks/nic_degraded",
		"https://wiki.example/runbooks/":               "https://wiki.example/runbooks/nic_degraded",
		"https://git.example/docs/runbooks/{class}.md": "https://git.example/docs/runbooks/nic_degraded.md",
	} {
		cfg, err := config.Parse("test.toml", []byte("[[source]]\nurl = \"http://prometheus.example:9090\"\n[incidents]\nrunbook_url = \""+given+"\"\n"),
			config.WithWords(words()))
		require.NoError(t, err)
		r := renderer(cfg)
		inc := incidents.Incident{ID: "1", Verdict: diagnosis.Verdict{Class: diagnosis.NICDegraded}}
		require.Equal(t, want, r.Annotations(&inc)["runbook_url"])
	}
}
