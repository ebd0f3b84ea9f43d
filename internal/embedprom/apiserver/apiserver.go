package apiserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/collwatch/collwatch/internal/embedprom"
)

// Handler serves the API below /api/v1. The end points for queries, series, labels
// and remote read answer; those about scraping, rules and administration answer 501.
// external are the labels by which the server is known to others, as name and value
// in turn.
func Handler(db *embedprom.DB, external ...string) http.Handler {
	engine, parser := db.Engine()
	cfg := config.Config{GlobalConfig: config.GlobalConfig{ExternalLabels: labels.FromStrings(external...)}}
	api := apiv1.NewAPI(
		engine, samplesAndChunks{db.Storage(), db.Chunks()}, nil, nil,
		nil, nil, nil,
		func() config.Config { return cfg },
		nil, apiv1.GlobalURLOptions{},
		func(h http.HandlerFunc) http.HandlerFunc { return h },
		nil, "", false, false, 0, promslog.NewNopLogger(), nil, 5e7, 10, 1<<20, false, nil, nil, nil, nil, nil, nil, nil, nil,
		false, nil, false, false, false, 5*time.Minute, false, false, nil, nil,
		apiv1.OpenAPIOptions{}, parser, false, 2*time.Minute,
	)
	r := route.New()
	api.Register(r.WithPrefix("/api/v1"))
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !served(strings.TrimPrefix(req.URL.Path, "/api/v1/")) {
			http.Error(w, "not served by the embedded engine", http.StatusNotImplemented)
			return
		}
		r.ServeHTTP(w, req)
	})
}

func served(path string) bool {
	switch path {
	case "query", "query_range", "read", "series", "labels", "format_query", "parse_query":
		return true
	}
	return strings.HasPrefix(path, "label/")
}

// samplesAndChunks is a storage for queries and for remote read.
type samplesAndChunks struct {
	storage.Queryable
	storage.ChunkQueryable
}
