package contrib

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/ruletest"
	"github.com/collwatch/collwatch/rules"
)

// selfFiles are the rules about the daemon and their unit tests, by the place
// where they lie.
func selfFiles(t *testing.T) map[string]string {
	t.Helper()
	o := rules.Default()
	o.Version = "example"
	out, err := rules.Generate(o)
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range out.Files {
		if f.Name == "collwatch-self.yaml" || f.Name == "tests/self_test.yaml" {
			files[filepath.Join("prometheus", filepath.FromSlash(f.Name))] = string(f.Data)
		}
	}
	require.Len(t, files, 2)
	return files
}

// TestSelfRulesAreCurrent: the example is what is generated, its unit tests
// pass, and each alert is on metrics that the daemon or its exporter has.
func TestSelfRulesAreCurrent(t *testing.T) {
	for path, want := range selfFiles(t) {
		if *updateCounters {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		}
		have, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(have), "go test ./contrib -run SelfRules -update")
	}
	n, failures, err := ruletest.Run(t.Context(), filepath.FromSlash("prometheus/tests/self_test.yaml"))
	require.NoError(t, err)
	require.Empty(t, failures)
	require.Greater(t, n, 30)
}
