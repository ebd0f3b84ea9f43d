package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
)

// TestSourcesInTheLog: one line for each change, none while it lasts.
func TestSourcesInTheLog(t *testing.T) {
	gap := func(reason string, class promapi.Class, msg string) []signals.Gap {
		return []signals.Gap{{Source: "p", Reason: reason, Err: &promapi.Error{Class: class, Source: "p", Msg: msg}}}
	}
	down := gap("source_down", promapi.ClassTransport, "refused")
	for _, tc := range []struct {
		name  string
		ticks [][]signals.Gap
		want  []string
	}{
		{"all is well", [][]signals.Gap{nil, nil}, nil},
		{"an outage", [][]signals.Gap{nil, down, gap("source_down", promapi.ClassTransport, "not asked"), nil, nil}, []string{
			`level=WARN msg="source fails; incidents keep their state" source=p what="does not answer" class=transport err="source \"p\": transport: refused"`,
			`level=INFO msg="source answers again" source=p after="30 s"`,
		}},
		{"the cause changes", [][]signals.Gap{down, gap("source_down", promapi.ClassNotJSON, "a login page"), nil}, []string{
			"class=transport", "class=not_json", `msg="source answers again" source=p after="30 s"`,
		}},
		{"in part", [][]signals.Gap{gap("incomplete", promapi.ClassIncomplete, "store-3 is unreachable"), nil}, []string{
			`msg="source fails; incidents keep their state" source=p what="answers in part only" class=incomplete err="source \"p\": incomplete: store-3 is unreachable"`,
			"answers again",
		}},
		{"one query in part, one not at all", [][]signals.Gap{append(down[:1:1], gap("incomplete", promapi.ClassIncomplete, "x")...)}, []string{"class=transport"}},
		{"nothing new", [][]signals.Gap{{{Source: "p", Reason: "source_down"}}}, []string{`source=p what="has nothing new"`}},
		{"an exporter", [][]signals.Gap{{{Host: "gpu-001", Source: "node", Reason: "exporter_down"}}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log strings.Builder
			l := newSourceLog(slog.New(slog.NewTextHandler(&log, nil)))
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, gaps := range tc.ticks {
				l.observe(&engine.Tick{At: at, Snapshot: &signals.Snapshot{Gaps: gaps}})
				at = at.Add(15 * time.Second)
			}
			lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
			if log.Len() == 0 {
				lines = nil
			}
			require.Len(t, lines, len(tc.want), log.String())
			for i, want := range tc.want {
				require.Contains(t, lines[i], want)
			}
		})
	}
}

// TestTheDaemonLogsItsSources: the log of a daemon whose source nobody answers at.
func TestTheDaemonLogsItsSources(t *testing.T) {
	var log strings.Builder
	d := idleDaemon(t, "", slog.NewTextHandler(&log, nil))
	at := time.Now().Truncate(15 * time.Second)
	for i := range 3 {
		d.afterTick(d.current.Load().asm.engine.Tick(t.Context(), at.Add(time.Duration(i)*15*time.Second)), 0)
	}
	require.Equal(t, 1, strings.Count(log.String(), "source fails"), log.String())
	require.Contains(t, log.String(), `source=127.0.0.1:1 what="does not answer" class=transport`)
	require.Contains(t, log.String(), "connection refused")
}

// TestHistoryThatCannotBeRead is no history that was read.
func TestHistoryThatCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct{ source, want, never string }{
		"nobody answers": {"http://127.0.0.1:1", `msg="history cannot be read; baselines form from live samples" err="source`, "baselines are warm"},
		"a Prometheus":   {simulated(t, time.Now().Add(-10*time.Minute), 2, 9*time.Minute), `msg="baselines are warm"`, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			d := idleDaemon(t, fmt.Sprintf("[[source]]\nurl = %q\n", tc.source), slog.NewTextHandler(&log, nil))
			d.current.Load().warmUp(t.Context(), 5*time.Minute)
			require.Contains(t, log.String(), tc.want)
			require.NotContains(t, log.String(), tc.never)
		})
	}
}
