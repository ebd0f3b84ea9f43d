package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/sim"
)

const (
	// soakStep is the time between two evaluations and between two scrapes.
	soakStep = 30 * time.Second
	soakJobs = 5
	// soakAhead is the time that is simulated at once, and soakKeep what the
	// server remembers: a little more than a daemon reads when it starts.
	soakAhead = 10 * time.Minute
	soakKeep  = 50 * time.Minute
)

// soakCluster is a Prometheus whose targets are simulated hosts. Its API is the
// real one; only wide range selectors, which are nearly all that a daemon asks,
// go a shorter way, since the real one spends most of its time in writing labels.
type soakCluster struct {
	t   testing.TB
	db  *embedprom.DB
	api http.Handler
	*sim.Cluster

	// turn is held by who answers. It is a channel, since the storage sleeps while
	// it deletes, and simulated time stands still while somebody waits for a mutex.
	turn   chan struct{}
	sink   *embedprom.Sink
	until  time.Duration // simulated so far
	parser parser.Parser
	heads  [][]byte // beginning of each series in an answer, by its Ref
	res    promapi.Result
}

func newSoakCluster(t testing.TB, start time.Time, hosts int) *soakCluster {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	shape := sim.R16(hosts)
	shape.GPUs, shape.NICs, shape.Storage, shape.HostsPerLeaf = 2, sim.Devices("mlx5_", 2), "", 20
	each := hosts / soakJobs
	var jobs []sim.JobSpec
	add := func(id string, part int, from, to, init float64) {
		s := sim.TensorData(id, each, shape.GPUs)
		s.Hosts = make([]int, each)
		for i := range s.Hosts {
			s.Hosts[i] = part*each + i
		}
		s.StartAt, s.EndAt, s.InitFor = from, to, init
		jobs = append(jobs, s)
	}
	for j := range soakJobs {
		end := 0.0
		if j == soakJobs-1 { // one job is over at noon, another takes its hosts
			end = (12 * time.Hour).Seconds()
			add("60000", j, end+600, 0, 60)
		}
		add(strconv.Itoa(50000+j), j, 0, end, 0)
	}
	sink := db.Appender()
	dialect := sim.Dialect{Inspector: "G2", HostLabel: "Hostname", NodeExporter: true, JobMap: true, Reasons: true, ZeroXid: true, PCIeLink: true}
	c, err := sim.New(sim.Options{
		Seed: 8, Start: start, Shape: shape, Jobs: jobs, Dialect: dialect, Noise: sim.DefaultNoise(), NodeScrape: soakStep, GPUScrape: soakStep,
	}, sink)
	require.NoError(t, err)
	_, p := db.Engine()
	return &soakCluster{t: t, db: db, turn: make(chan struct{}, 1), api: apiserver.Handler(db), Cluster: c, sink: sink, parser: p}
}

// ServeHTTP is the server's API, at the present time.
func (c *soakCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.advance()
	if r.URL.Path != "/api/v1/query" || r.ParseForm() != nil || !c.instant(w, r) {
		c.api.ServeHTTP(w, r)
	}
}

// advance simulates what is to come. Nobody sees it before its time: every
// question has a time, and so has every sample.
func (c *soakCluster) advance() {
	now := time.Since(c.Start())
	if now < c.until {
		return
	}
	c.until = now + soakAhead
	require.NoError(c.t, c.Run(context.WithoutCancel(c.t.Context()), c.until)) // also while the test ends
	require.NoError(c.t, c.sink.Commit())
	if now > soakKeep {
		require.NoError(c.t, c.db.Truncate(time.Now().Add(-soakKeep)))
	}
}

// instant answers a range selector; false is for the real API.
func (c *soakCluster) instant(w http.ResponseWriter, r *http.Request) bool {
	expr := r.Form.Get("query")
	parsed, err := c.parser.ParseExpr(expr)
	if err != nil || parsed.Type() != parser.ValueTypeMatrix || r.Form.Get("stats") != "" {
		return false
	}
	at, err := strconv.ParseFloat(r.Form.Get("time"), 64)
	if err != nil {
		return false
	}
	q := c.db.Querier()
	if err := q.Instant(r.Context(), expr, time.UnixMilli(int64(at*1000+0.5)), &c.res); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return true
	}
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
	var num []byte
	for i := range c.res.Len() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(c.head(q, c.res.Refs[i]))
		for k, s := range c.res.Of(i) {
			if k > 0 {
				b.WriteByte(',')
			}
			num = append(num[:0], '[')
			num = strconv.AppendFloat(num, float64(s.T)/1000, 'f', 3, 64)
			num = append(num, `,"`...)
			num = strconv.AppendFloat(num, s.V, 'f', -1, 64)
			b.Write(append(num, `"]`...))
		}
		b.WriteString("]}")
	}
	b.WriteString("]}}")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes())
	return true
}

// head is the beginning of a series in an answer.
func (c *soakCluster) head(q promapi.Querier, ref promapi.Ref) []byte {
	for int(ref) >= len(c.heads) {
		c.heads = append(c.heads, nil)
	}
	if c.heads[ref] == nil {
		b := []byte(`{"metric":{`)
		for i, l := range q.Interner().Labels(ref) {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, "%q:%q", l.Name, l.Value)
		}
		c.heads[ref] = append(b, `},"values":[`...)
	}
	return c.heads[ref]
}
