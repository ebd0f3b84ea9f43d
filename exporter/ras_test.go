package exporter

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rasServer answers as NCCL's RAS thread does: commands by line, the status once, then it closes.
func rasServer(t *testing.T, format, status string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewScanner(conn)
			for in.Scan() {
				if strings.HasPrefix(in.Text(), "SET FORMAT") {
					_, _ = io.WriteString(conn, format)
					continue
				}
				_, _ = io.WriteString(conn, status)
				break
			}
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

const rasJSON = `{"nccl_version":"2.28.9","communicators_count":1,"communicators":[{"hash":"0x00ad56c683b0c4ef","secondary_hash":"0x0:0x1","size":4,
"ranks":[{"rank":0,"host":"10.0.0.1","pid":100,"cuda_dev":0,"nvml_dev":0,"status":{"init_state":0,"async_error":0,"finalize_called":false,"destroy_flag":false,"abort_flag":false},"collective_counts":{"AllReduce":101,"Broadcast":0,"Strange":7}},
{"rank":1,"host":"10.0.0.2","pid":101,"status":{"async_error":3},"collective_counts":{"AllReduce":100}}],
"missing_ranks":[{"rank":2,"unresponsive":true},{"rank":3,"considered_dead":true,"unresponsive":true}]}]}`

func rasView(t *testing.T, r *RAS) view {
	t.Helper()
	b := newBuilder(newMetrics(), DefaultLimits(), "gpu-014")
	r.Collect(&Samples{b: b})
	requireValid(t, b)
	return parseView(t, string(expose(t, b.out.list())))
}

func TestRASCounts(t *testing.T) {
	r := NewRAS(rasServer(t, "OK\n", rasJSON), time.Second, slog.New(slog.DiscardHandler))
	r.Poll(t.Context())
	v := rasView(t, r)
	require.InDelta(t, 1, v.get(t, "ras_up"), 0)
	require.InDelta(t, 101, v.get(t, "ras_ops_launched_total", "comm=00ad56c683b0c4ef", "rank=0", "op=AllReduce", "host=10.0.0.1", "nranks=4"), 0)
	require.InDelta(t, 100, v.get(t, "ras_ops_launched_total", "rank=1", "op=AllReduce"), 0)
	_, n := v.sum("ras_ops_launched_total")
	require.Equal(t, 2, n, "no zeros, no operations that NCCL does not have")
	require.InDelta(t, 1, v.get(t, "ras_rank_missing", "rank=2", "state=unresponsive"), 0)
	require.InDelta(t, 1, v.get(t, "ras_rank_missing", "rank=3", "state=dead"), 0)
	require.InDelta(t, 1, v.get(t, "ras_rank_error", "rank=1"), 0)
}

func TestRASThatCannot(t *testing.T) {
	for name, tc := range map[string]struct{ format, status, err string }{
		"an old NCCL":         {"ERROR: Unknown command\n", "", "2.28.7"},
		"text instead":        {"OK\n", "NCCL version 2.27\n", "read the status"},
		"half an answer":      {"OK\n", rasJSON[:200], "read the status"},
		"nothing":             {"", "", "format"},
		"a flood of one line": {strings.Repeat("x", 10000) + "\n", "", "format"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRAS(rasServer(t, tc.format, tc.status), time.Second, slog.New(slog.DiscardHandler))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := r.ask(ctx)
			require.ErrorContains(t, err, tc.err)
		})
	}
}

// TestRASGone: old counts must not stand still and look like a hang.
func TestRASGone(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := NewRAS(l.Addr().String(), time.Second, slog.New(slog.DiscardHandler))
	require.NoError(t, l.Close())
	r.status, r.at = &rasStatus{Communicators: []rasComm{{Hash: "0x1", Size: 1, Ranks: []rasRank{{Counts: map[string]uint64{"AllReduce": 5}}}}}}, time.Now()
	r.Poll(t.Context())
	v := rasView(t, r)
	require.Zero(t, v.get(t, "ras_up"))
	_, n := v.sum("ras_ops_launched_total")
	require.Zero(t, n)
	require.Positive(t, v.get(t, "ras_last_poll_timestamp_seconds"))
}

func FuzzRASAnswer(f *testing.F) {
	f.Add(rasJSON)
	f.Add(`{"communicators":[{"hash":"0xffffffffffffffff","size":-1,"ranks":[{"rank":-5,"host":"\u0000"}]}]}`)
	f.Fuzz(func(t *testing.T, answer string) {
		r := NewRAS("x", time.Second, slog.New(slog.DiscardHandler))
		status := &rasStatus{}
		if decode(strings.NewReader(answer), status) != nil {
			return
		}
		r.status = status
		rasView(t, r)
	})
}
