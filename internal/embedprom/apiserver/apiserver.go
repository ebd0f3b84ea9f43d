package apiserver

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage"
	apiv1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/collwatch/collwatch/internal/embedprom"
)

// Handler serves the API below /api/v1. The end points for queries, series and
// labels answer; those about scraping, rules and administration answer 501.
func Handler(db *embedprom.DB) http.Handler {
	engine, parser := db.Engine()
	api := apiv1.NewAPI(
		engine, onlySamples{Queryable: db.Storage()}, nil, nil,
		nil, nil, nil,
		func() config.Config { return config.Config{} },
		nil, apiv1.GlobalURLOptions{},
		func(h http.HandlerFunc) http.HandlerFunc { return h },
		nil, "", false, false, 0, promslog.NewNopLogger(), nil, 0, 0, 0, false, nil, nil, nil, nil, nil, nil, nil, nil,
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
	case "query", "query_range", "series", "labels", "format_query", "parse_query":
		return true
	}
	return strings.HasPrefix(path, "label/")
}

// onlySamples has no chunks, which only remote read asks for.
type onlySamples struct {
	storage.Queryable
}

// ChunkQuerier implements storage.ChunkQueryable.
func (onlySamples) ChunkQuerier(_, _ int64) (storage.ChunkQuerier, error) {
	return storage.NoopChunkedQuerier(), nil
}
