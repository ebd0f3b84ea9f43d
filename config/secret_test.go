package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/require"
)

// withSecrets has a secret, always "hunter2", in every place that can hold one.
const withSecrets = `
[[source]]
url = "https://user:hunter2@prom.example.org/x?token=hunter2#hunter2"
headers = { X-Token = "hunter2" }
proxy_url = "http://user:hunter2@proxy"

[[source]]
name = "oauth"
url = "https://prom.example.org"
[source.oauth2]
client_id = "me"
client_secret = "hunter2"
token_url = "https://user:hunter2@login.example.org"
endpoint_params = { password = "hunter2" }

[[alertmanager.target]]
name = "basic"
url = "https://am.example.org"
basic_auth = { username = "u", password = "hunter2" }

[[alertmanager.target]]
name = "bearer"
url = "https://am.example.org"
authorization = { credentials = "hunter2" }

[slack]
token = "hunter2"
app_token = "hunter2"
webhook_url = "https://hooks.example.org/hunter2"

[[slack.route]]
name = "all"
channel = "C1"
webhook_url = "https://hooks.example.org/hunter2"
`

// TestSecretsStayInside prints the configuration in every way there is.
func TestSecretsStayInside(t *testing.T) {
	cfg, err := Parse("c.toml", []byte(withSecrets))
	require.NoError(t, err)
	require.Equal(t, "hunter2", cfg.Slack.Token.Reveal())
	require.Equal(t, "https://user:hunter2@prom.example.org/x?token=hunter2#hunter2", cfg.Sources[0].URL.Reveal().String())

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+"\n", *cfg)
		fmt.Fprintf(&out, verb+"\n", cfg.Slack.TokenSource())
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "config", cfg, "slack", cfg.Slack, "token", cfg.Slack.Token, "url", cfg.Sources[0].URL)
	}
	require.NoError(t, json.NewEncoder(&out).Encode(cfg))
	require.NoError(t, toml.NewEncoder(&out).Encode(cfg))
	text, err := cfg.Masked()
	require.NoError(t, err)
	out.WriteString(text)

	require.NotContains(t, out.String(), "hunter2")
	require.NotContains(t, out.String(), fmt.Sprintf("%x", "hunter2"))
	require.Contains(t, text, `token = "<secret>"`)
	require.Contains(t, text, `url = "https://user:xxxxx@prom.example.org/x?xxxxx"`)
}

func TestSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	f := NewSecretFile(path)
	_, err := f.Get()
	require.ErrorIs(t, err, os.ErrNotExist)

	write := func(content string, age time.Duration) {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		stamp := time.Unix(1_700_000_000, 0).Add(-age)
		require.NoError(t, os.Chtimes(path, stamp, stamp))
	}
	write("one\n", time.Hour)
	got, err := f.Get()
	require.NoError(t, err)
	require.Equal(t, "one", got.Reveal())

	write("two\n", time.Minute)
	got, err = f.Get()
	require.NoError(t, err)
	require.Equal(t, "two", got.Reveal(), "a rotated file is read again")

	// A rotation that neither size nor time stamp shows is seen by Reload only.
	write("six\n", time.Minute)
	got, err = f.Get()
	require.NoError(t, err)
	require.Equal(t, "two", got.Reveal())
	got, err = f.Reload()
	require.NoError(t, err)
	require.Equal(t, "six", got.Reveal())

	write("  \n", 0)
	_, err = f.Get()
	require.ErrorContains(t, err, "is empty")

	require.NotContains(t, fmt.Sprintf("%v %+v %#v", f, f, f), "six")
	require.Equal(t, path, f.Path())
}

func TestSecretFileRefusesWhatIsNoSecret(t *testing.T) {
	dir := t.TempDir()
	_, err := NewSecretFile(dir).Get()
	require.ErrorContains(t, err, "is not a regular file")

	big := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(big, make([]byte, maxSecretFile+1), 0o600))
	_, err = NewSecretFile(big).Get()
	require.ErrorContains(t, err, "that is no secret")
	_, err = NewSecretFile(filepath.Join(dir, "none")).Reload()
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWebhookOfARoute(t *testing.T) {
	common := Slack{WebhookURL: "https://common"}
	own := SlackRoute{WebhookURL: "https://own"}
	got, err := common.WebhookSource(own).Get()
	require.NoError(t, err)
	require.Equal(t, "https://own", got.Reveal())
	got, err = common.WebhookSource(SlackRoute{}).Get()
	require.NoError(t, err)
	require.Equal(t, "https://common", got.Reveal())
	require.Nil(t, Slack{}.WebhookSource(SlackRoute{}))
	require.Nil(t, Slack{}.TokenSource())
	require.NotNil(t, Slack{AppTokenFile: "x"}.AppTokenSource())
}
