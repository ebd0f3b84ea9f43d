package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var commentedKey = regexp.MustCompile(`(?m)^#([a-z\[])`)

// uncommented returns config.example.toml with every key in effect.
func uncommented(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	text := commentedKey.ReplaceAllString(string(data), "$1")
	// The example's Slack route needs a way to Slack.
	return strings.Replace(text, `token_file = ""`, `token_file = "token"`, 1)
}

func TestExampleLoads(t *testing.T) {
	cfg, err := Load(exampleFile)
	require.NoError(t, err)

	want := Default()
	require.Equal(t, want.Detectors, cfg.Detectors)
	require.Equal(t, want.Incidents, cfg.Incidents)
	require.Equal(t, "localhost:9090", cfg.Sources[0].Name)
	require.Equal(t, "localhost:9093", cfg.Alertmanager.Targets[0].Name)
	require.Equal(t, exampleFile, cfg.Path)

	hash, err := HashFile(exampleFile)
	require.NoError(t, err)
	require.Equal(t, hash, cfg.Hash)
}

func TestExampleHasEveryKey(t *testing.T) {
	found := map[string]bool{}
	for path := range locate(uncommented(t)) {
		found[indexes.ReplaceAllString(path, "")] = true
	}
	walkTables("", reflect.TypeFor[Config](), func(path string, typ reflect.Type) {
		fields(reflect.New(typ).Elem(), func(key, _ string, field reflect.Value) {
			at := strings.ReplaceAll(join(path, key), ".NAME", ".link_flap")
			if field.Kind() == reflect.Map && isTable(field.Type().Elem()) {
				at += ".link_flap"
			}
			require.True(t, found[at], "%s is not in %s: run go test ./config -update", at, exampleFile)
		})
	})
}

func TestExampleHasTheDefaults(t *testing.T) {
	cfg, err := Parse("example", []byte(uncommented(t)), SkipFiles())
	require.NoError(t, err)

	// What has no default differs; everything else must not.
	want := Default()
	want.Hash = cfg.Hash
	want.Sources = []Source{withDefault[Source]()}
	want.Sources[0].Name, want.Sources[0].URL = cfg.Sources[0].Name, cfg.Sources[0].URL
	want.Alertmanager.Targets = []Target{withDefault[Target]()}
	want.Alertmanager.Targets[0].Name = cfg.Alertmanager.Targets[0].Name
	want.Alertmanager.Targets[0].URL = cfg.Alertmanager.Targets[0].URL
	want.Topology.Files = cfg.Topology.Files
	want.Signals.Custom = []CustomSignal{withDefault[CustomSignal]()}
	want.Signals.Custom[0].Name, want.Signals.Custom[0].Expr = cfg.Signals.Custom[0].Name, cfg.Signals.Custom[0].Expr
	want.Slack.TokenFile = "token"
	want.Slack.Routes = []SlackRoute{withDefault[SlackRoute]()}
	want.Slack.Routes[0].Name, want.Slack.Routes[0].Channel = cfg.Slack.Routes[0].Name, cfg.Slack.Routes[0].Channel
	want.Incidents.Classes = map[string]ClassSettings{"link_flap": {}}

	wantText, err := want.Masked()
	require.NoError(t, err)
	text, err := cfg.Masked()
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(strings.Split(wantText, "\n"), strings.Split(text, "\n")))
}

func withDefault[T any]() T {
	v := new(T)
	any(v).(defaulter).setDefaults()
	return *v
}

func TestDefaultIsValid(t *testing.T) {
	def := Default()
	require.NoError(t, def.Validate(WithoutSource()))
}
