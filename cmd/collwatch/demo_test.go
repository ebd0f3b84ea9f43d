package main

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/lastmile"
)

// Given an Alertmanager, the demonstration really posts what it shows; and it
// does not say so when nobody is there.
func TestDemoPosts(t *testing.T) {
	server := lastmile.NewStandIn(&lastmile.Pager{}, func(err error) { t.Errorf("refused: %v", err) })
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	demo := func(url string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		code = run(t.Context(), []string{"demo", "--seed", "3", "--alertmanager.url", url}, &out, &errs)
		return code, out.String(), errs.String()
	}

	code, shown, log := demo(listening.URL)
	require.Equal(t, exitOK, code, log)
	require.Contains(t, shown, "Posted to "+listening.URL)
	require.Contains(t, shown, "── the Slack message as text ─")
	_, payload, found := strings.Cut(shown, "POST /api/v2/alerts ")
	require.True(t, found)
	var printed models.PostableAlerts
	require.NoError(t, json.NewDecoder(strings.NewReader(payload[strings.Index(payload, "["):])).Decode(&printed))
	require.Len(t, printed, 1)

	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest("GET", "/api/v2/alerts", nil))
	var there models.GettableAlerts
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &there))
	require.Len(t, there, 1)
	require.Equal(t, printed[0].Labels, there[0].Labels)
	require.Equal(t, printed[0].Annotations, there[0].Annotations)
	require.Equal(t, "gpu-007", there[0].Labels["suspect_node"])

	listening.Close()
	code, shown, log = demo(listening.URL)
	require.Equal(t, exitFailure, code)
	require.NotContains(t, shown, "Posted to")
	require.Contains(t, log, "demo: not delivered to "+listening.URL)
}
