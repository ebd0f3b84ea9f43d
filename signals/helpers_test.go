package signals_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/testdata"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// load puts OpenMetrics text into an embedded Prometheus.
func load(t testing.TB, text string) *embedprom.DB {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	if !strings.HasSuffix(text, "# EOF\n") {
		text += "# EOF\n"
	}
	_, err = db.LoadOpenMetrics(t.Context(), strings.NewReader(text), nil)
	require.NoError(t, err)
	return db
}

// loadFile does the same with a recorded file.
func loadFile(t testing.TB, elem ...string) *embedprom.DB {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	f, err := os.Open(filepath.Join(append([]string{testdata.Dir(t)}, elem...)...))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	_, err = db.LoadOpenMetrics(t.Context(), f, nil)
	require.NoError(t, err)
	return db
}

func reader(t testing.TB, db *embedprom.DB, o signals.Options) *signals.Reader {
	t.Helper()
	r, err := signals.NewReader(o, map[string]promapi.Querier{"prom": db.Querier()})
	require.NoError(t, err)
	return r
}

func unix(s int64) time.Time { return time.Unix(s, 0) }
