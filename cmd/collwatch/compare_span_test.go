package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
)

// A job of minutes is found in a month, with its own ends, wherever it lies.
func TestShortJobsAreFoundInAMonth(t *testing.T) {
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	sink := db.Appender()
	jobs := map[string]span{}
	add := func(job string, ago, length time.Duration) {
		from := now.Add(-ago)
		jobs[job] = span{from: from, to: from.Add(length)}
		series := sink.Series("__name__", "nccl_algorithm_bandwidth_gbs", "slurm_job_id", job)
		for at := from; !at.After(from.Add(length)); at = at.Add(15 * time.Second) {
			require.NoError(t, sink.Append(series, at.UnixMilli(), 1))
		}
		require.NoError(t, sink.Stale(series, from.Add(length+15*time.Second).UnixMilli()))
	}
	add("old", 29*24*time.Hour, 3*time.Minute)
	add("odd", 20*24*time.Hour+7*time.Minute+13*time.Second, 2*time.Minute)
	add("long", 5*24*time.Hour, 60*time.Hour)
	add("late", 25*time.Minute, 3*time.Minute)
	add("astride", 49*time.Hour, 10*time.Hour)
	require.NoError(t, sink.Commit())

	cfg := config.Default()
	p := &past{sources: map[string]promapi.Querier{"a": db.Querier()}}
	find := newSearch(&cfg, p, 30*24*time.Hour, now)
	for job, want := range jobs {
		t.Run(job, func(t *testing.T) {
			got, err := find.find(t.Context(), p, job)
			require.NoError(t, err)
			require.WithinDuration(t, want.from, got.from, 2*searchFine)
			require.WithinDuration(t, want.to, got.to, 2*searchFine)
			require.True(t, got.starts)
		})
	}
	_, err = find.find(t.Context(), p, "never")
	require.ErrorContains(t, err, `no series of job "never"`)
}
