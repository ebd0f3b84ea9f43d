package alertmanager

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 35, 0, 0, time.UTC)
	record, err := json.Marshal(map[string]*delivery{
		"old": {At: at.Add(-time.Hour), Version: 1}, "new": {At: at, Version: 2, Resolved: true},
	})
	require.NoError(t, err)
	require.Equal(t, "resolved, acknowledged 2026-01-01 00:35:00 UTC", Describe("alertmanager/am-1", record))
	require.Empty(t, Describe("slack/C1", record))
	require.Empty(t, Describe("alertmanager/am-1", json.RawMessage(`[1`)))
	require.Empty(t, Describe("alertmanager/am-1", json.RawMessage(`{"x":null}`)))
	require.NotEmpty(t, Describe(ackRecord, json.RawMessage(`{}`)))
}
