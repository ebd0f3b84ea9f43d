package exporter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Bounds of a RAS answer. A job of 10,000 ranks in a hundred communicators is about 30 MB of JSON.
const (
	maxRASAnswer = 64 << 20
	rasTimeout   = 10 * time.Second
)

// RAS polls the RAS service of one job (NCCL 2.28.7 or newer) for each rank's count of launched operations: a second
// witness for stalls that needs no plugin. It is evidence and never proof: counts differ for an instant all the time, they
// leave out operations of CUDA graphs, and the service has answered OK while a rank hung (nccl#1730). So the series have
// names of their own and are never mixed with the plugin's.
type RAS struct {
	addr   string
	every  time.Duration
	logger *slog.Logger

	mu     sync.Mutex
	status *rasStatus // nil while the service does not answer
	at     time.Time
	failed string
}

type rasStatus struct {
	Version       string    `json:"nccl_version"`
	Communicators []rasComm `json:"communicators"`
}

type rasComm struct {
	Hash    string       `json:"hash"`
	Size    int64        `json:"size"`
	Ranks   []rasRank    `json:"ranks"`
	Missing []rasMissing `json:"missing_ranks"`
}

type rasRank struct {
	Rank   int64             `json:"rank"`
	Host   string            `json:"host"`
	Counts map[string]uint64 `json:"collective_counts"`
	Status struct {
		AsyncError int64 `json:"async_error"`
		Abort      bool  `json:"abort_flag"`
	} `json:"status"`
}

type rasMissing struct {
	Rank         int64 `json:"rank"`
	Unresponsive bool  `json:"unresponsive"`
	Dead         bool  `json:"considered_dead"`
}

// NewRAS polls the given address at the given interval.
func NewRAS(addr string, every time.Duration, logger *slog.Logger) *RAS {
	return &RAS{addr: addr, every: every, logger: logger}
}

// Run polls until the context ends.
func (r *RAS) Run(ctx context.Context) error {
	t := time.NewTicker(r.every)
	defer t.Stop()
	for {
		r.Poll(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// Poll asks once. Without an answer the last one is dropped: old counts would look like a hang.
func (r *RAS) Poll(ctx context.Context) {
	status, err := r.ask(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	} else {
		r.at = time.Now()
	}
	r.status = status
	if text != r.failed && ctx.Err() == nil {
		r.failed = text
		if err != nil {
			r.logger.Info("RAS does not answer", "addr", r.addr, "err", err)
		} else {
			r.logger.Info("RAS answers", "addr", r.addr, "nccl", status.Version)
		}
	}
}

var errRASFormat = errors.New("the service has no JSON: it needs NCCL 2.28.7 or newer")

func (r *RAS) ask(ctx context.Context) (*rasStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, rasTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, fmt.Errorf("set a deadline: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, "SET FORMAT json\n"); err != nil {
		return nil, fmt.Errorf("ask for JSON: %w", err)
	}
	in := bufio.NewReader(io.LimitReader(conn, maxRASAnswer))
	answer, err := in.ReadString('\n')
	if err != nil || len(answer) > 256 {
		return nil, fmt.Errorf("read the answer to the format: %w", errors.Join(err, errRASFormat))
	}
	if strings.TrimSpace(answer) != "OK" {
		return nil, errRASFormat
	}
	if _, err := io.WriteString(conn, "VERBOSE STATUS\n"); err != nil {
		return nil, fmt.Errorf("ask for the status: %w", err)
	}
	status := &rasStatus{}
	if err := decode(in, status); err != nil {
		return nil, fmt.Errorf("read the status: %w", err)
	}
	return status, nil
}

func decode(in io.Reader, status *rasStatus) error { return json.NewDecoder(in).Decode(status) }

// Collect serves the last answer.
func (r *RAS) Collect(out *Samples) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := out.b
	up := 0.0
	if r.status != nil {
		up = 1
	}
	who := with(nil, "node", b.node, "ras", r.addr)
	b.out.gauge(gaugeFamily("ras_up", "1 if the job's RAS service answered the last poll."), who, up)
	if !r.at.IsZero() {
		b.out.gauge(gaugeFamily("ras_last_poll_timestamp_seconds", "When RAS last answered."), who, float64(r.at.UnixMilli())/1000)
	}
	if r.status == nil {
		return
	}
	for i := range r.status.Communicators {
		r.comm(b, &r.status.Communicators[i])
	}
}

func (r *RAS) comm(b *builder, c *rasComm) {
	id, err := strconv.ParseUint(strings.TrimPrefix(c.Hash, "0x"), 16, 64)
	if err != nil || c.Size < 0 || c.Size > math.MaxInt32 {
		return
	}
	base := []string{"node", b.node, "ras", r.addr, "comm", fmt.Sprintf("%016x", id), "nranks", strconv.FormatInt(c.Size, 10)}
	launched := &family{prefix + "ras_ops_launched_total", "Operations that a rank has launched, by RAS.", dto.MetricType_COUNTER}
	for i := range c.Ranks {
		rank := &c.Ranks[i]
		labels := with(nil, append(base, "rank", strconv.FormatInt(rank.Rank, 10), "host", strings.ToValidUTF8(rank.Host, "\uFFFD"))...)
		if b.out.series+len(rank.Counts)+1 > b.limits.Series {
			b.capped++
			return
		}
		if len(rank.Counts) > 2*funcs || b.take(labels, "ras") {
			continue
		}
		taken := map[string]bool{}
		for _, op := range sortedKeys(rank.Counts) {
			name := known(opNames[:], op, "")
			if name == "" || taken[name] || rank.Counts[op] == 0 {
				continue
			}
			taken[name] = true
			b.out.counter(launched, with(labels, "op", name), float64(rank.Counts[op]))
		}
		if rank.Status.AsyncError != 0 || rank.Status.Abort {
			b.out.gauge(gaugeFamily("ras_rank_error", "1 if RAS says that the rank has an asynchronous error or aborts."), labels, 1)
		}
	}
	missing := gaugeFamily("ras_rank_missing", "1 for a rank that RAS cannot reach.")
	for _, m := range c.Missing {
		state := "missing"
		switch {
		case m.Dead:
			state = "dead"
		case m.Unresponsive:
			state = "unresponsive"
		}
		labels := with(nil, append(base, "rank", strconv.FormatInt(m.Rank, 10), "state", state)...)
		if b.out.series < b.limits.Series && !b.take(labels, "ras missing") {
			b.out.gauge(missing, labels, 1)
		}
	}
}
