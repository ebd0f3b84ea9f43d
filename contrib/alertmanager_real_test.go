package contrib

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
)

// TestExampleInRealAlertmanager loads the example in the real thing, which is
// the judge of its syntax, and looks at one route and one inhibition.
func TestExampleInRealAlertmanager(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real server")
	}
	text, err := os.ReadFile("alertmanager/alertmanager.yml")
	require.NoError(t, err)
	am := realserver.StartAlertmanager(t, string(text))
	raw := with(nicAlert, "alertname", "CollwatchRuleNicRate", "source", "collwatch-rules")
	body, err := json.Marshal([]map[string]any{{"labels": nicAlert}, {"labels": raw}})
	require.NoError(t, err)
	resp, err := http.Post(am.URL+"/api/v2/alerts", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)

	type got struct {
		Labels    map[string]string   `json:"labels"`
		Receivers []map[string]string `json:"receivers"`
		Status    struct {
			InhibitedBy []string `json:"inhibitedBy"`
		} `json:"status"`
	}
	var alerts map[string]got
	read := func() bool {
		resp, err := http.Get(am.URL + "/api/v2/alerts")
		require.NoError(t, err)
		defer resp.Body.Close()
		var list []got
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
		alerts = map[string]got{}
		for _, a := range list {
			alerts[a.Labels["source"]] = a
		}
		return len(alerts["collwatch-rules"].Status.InhibitedBy) == 1
	}
	require.Eventually(t, read, time.Minute, 100*time.Millisecond, "the raw alert is inhibited")
	require.Empty(t, alerts["collwatch"].Status.InhibitedBy)
	require.Equal(t, []map[string]string{{"name": "on-call"}}, alerts["collwatch"].Receivers)
}
