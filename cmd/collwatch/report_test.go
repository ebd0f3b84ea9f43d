package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/sim"
)

// pastCluster is a storage with a cluster that ran until lately, and what happened.
func pastCluster(t testing.TB, o sim.Options, length time.Duration, faults ...sim.Fault) *embedprom.DB {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	sink := db.Appender()
	o.Start = time.Now().Add(-length - time.Hour)
	c, err := sim.New(o, sink)
	require.NoError(t, err)
	for _, f := range faults {
		c.Inject(f)
	}
	require.NoError(t, c.Run(t.Context(), length))
	require.NoError(t, sink.Commit())
	return db
}

// pageOf runs the report command against a server.
func pageOf(t testing.TB, server http.Handler, job string, more ...string) string {
	t.Helper()
	srv := httptest.NewServer(server)
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "collwatch.toml")
	require.NoError(t, os.WriteFile(file, []byte("[[source]]\nname = \"p\"\nurl = \""+srv.URL+"\"\n"), 0o600))
	page := filepath.Join(t.TempDir(), "report.html")
	var log bytes.Buffer
	args := append([]string{"report", "--config", file, "--job", job, "--out", page}, more...)
	require.Equal(t, exitOK, run(t.Context(), args, io.Discard, &log), log.String())
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	return string(text)
}

// TestThePageIsTheSameFromChunks: how history is read changes no byte of the page.
func TestThePageIsTheSameFromChunks(t *testing.T) {
	shape := sim.R16(4)
	db := pastCluster(t, sim.Options{Seed: 3, Shape: shape, Dialect: sim.Full(), Noise: sim.DefaultNoise()}, 3*time.Hour,
		sim.Starve(2, 0.4, 200, 1.5, 3600, 5400), sim.Downtrain(1, 3, 0.25, 7200, 9000))
	api := apiserver.Handler(db, "region", "eu")
	var reads atomic.Int32
	chunks := pageOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/read") {
			reads.Add(1)
		}
		api.ServeHTTP(w, r)
	}), shape.Jobs[0].ID)
	plain := pageOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/read") {
			http.NotFound(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), shape.Jobs[0].ID)
	require.Equal(t, plain, chunks)
	require.Greater(t, reads.Load(), int32(5))
	require.Contains(t, chunks, "nic_degraded", "something happened")
}
