package web_test

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
	"github.com/collwatch/collwatch/web"
)

var update = flag.Bool("update", false, "write golden files")

var t0 = time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update")
	require.Equal(t, string(want), string(got), "run with -update if this is meant")
}

// fixed is a set of incidents that stands still.
type fixed struct{ live, ended, past []incidents.Incident }

func (f *fixed) Live() []incidents.Incident  { return f.live }
func (f *fixed) Ended() []incidents.Incident { return f.ended }
func (f *fixed) Past() []incidents.Incident  { return f.past }
func (f *fixed) Find(id string) (incidents.Incident, bool) {
	for _, list := range [][]incidents.Incident{f.live, f.ended, f.past} {
		for _, inc := range list {
			if inc.ID == id {
				return inc, true
			}
		}
	}
	return incidents.Incident{}, false
}

// rig is a site with everything that can be exchanged.
type rig struct {
	set      web.Settings
	inc      fixed
	state    *web.State
	ticks    []engine.Tick
	config   string
	querier  promapi.Querier
	custom   func(signals.Entity, []string) (signals.Plot, bool)
	suppress string
	now      time.Time
}

func newRig() *rig {
	return &rig{
		inc: fixed{
			live:  []incidents.Incident{open(), tied(), pending()},
			ended: []incidents.Incident{resolved()},
		},
		state: state(),
		ticks: []engine.Tick{
			{At: t0.Add(10 * time.Minute), Took: 85 * time.Millisecond, Query: 60 * time.Millisecond, Series: 4321, Findings: 3, Verdicts: 1},
			{At: t0.Add(9*time.Minute + 45*time.Second), Took: 2 * time.Second, Err: errors.New("tick at 00:39:45Z: panic: runtime error\ngoroutine 1\nsecret stack")},
		},
		config:   "[global]\ninterval = \"15s\"\n[[source]]\npassword = \"<secret>\"\n",
		suppress: "silenced by ann until 2026-01-01 02:00 UTC",
		set:      web.Settings{Title: "alpha", QueryOffset: 30 * time.Second},
		now:      t0.Add(11 * time.Minute),
	}
}

func (r *rig) site() *web.Site {
	return web.NewSite(web.Options{
		Incidents: func() web.Incidents { return &r.inc },
		Renderer: func() *incidents.Renderer {
			return &incidents.Renderer{
				ExternalURL: "https://mon.example.org" + r.set.ExternalURL, AlertmanagerURL: "https://am.example.org", RunbookURL: "https://example.org/runbooks",
				Expression: r.state.Expression,
			}
		},
		Settings:    func() web.Settings { return r.set },
		State:       func() *web.State { return r.state },
		Evaluations: func() []engine.Tick { return r.ticks },
		Config:      func() (string, error) { return r.config, nil },
		Querier:     func(string) promapi.Querier { return r.querier },
		Custom:      r.custom,
		Suppressed: func(i *incidents.Incident) string {
			if i.ID == open().ID {
				return r.suppress
			}
			return ""
		},
		Told:    func(string, json.RawMessage) string { return "firing, acknowledged 2026-01-01 00:35:00 UTC" },
		Now:     func() time.Time { return r.now },
		Version: "1.2.3",
	})
}

// get asks the site as a browser does.
func (r *rig) get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	site := r.site()
	mux := http.NewServeMux()
	site.Register(mux)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	rec := httptest.NewRecorder()
	site.Prefixed(mux).ServeHTTP(rec, req)
	return rec
}

func open() incidents.Incident {
	nic := signals.Entity{Kind: signals.KindNIC, Host: "gpu-007", Device: "mlx5_3", Port: "1"}
	return incidents.Incident{
		ID: "01J0OPEN", State: incidents.Open, Severity: diagnosis.Critical,
		Verdict: diagnosis.Verdict{
			Class: diagnosis.NICDegraded, Reason: "rate_downtrained", Severity: diagnosis.Critical, Confidence: diagnosis.High, Owner: diagnosis.Infrastructure,
			Job: "48213", Scope: "rail:3", TieSet: 1,
			Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "gpu-007", Device: "mlx5_3", Switch: "leaf-r3", Port: "7", Score: 0.93}},
			Evidence: []diagnosis.Evidence{
				{Signal: signals.CollBusBandwidth, Entity: signals.Entity{Kind: signals.KindJob, Job: "48213"}, Text: "bus bandwidth of rail 3 is 11.3 GB/s against 43.5 GB/s before, on all 16 hosts"},
				{Signal: signals.NICRate, Entity: nic, Text: "rate 12.5 GB/s against 50 GB/s of 127 peers", Decisive: true},
			},
			AffectedHosts: 16, AffectedGPUs: 128,
			Next: "reseat the cable between gpu-007/mlx5_3 and leaf-r3 port 7, then measure the pair", Command: "ib_write_bw -d mlx5_3",
		},
		StartedAt: t0, ActiveAt: t0.Add(time.Minute), FiredAt: t0.Add(2 * time.Minute), LastSeen: t0.Add(10 * time.Minute),
		Raises: []incidents.Raise{{From: diagnosis.Warning, At: t0.Add(4 * time.Minute)}}, Jobs: []string{"48213"},
		Consequences: []string{"job 48213 is slower on rail 3"}, Repeats: 2, Thread: "01J0OPEN", Held: "no scrape of gpu-007",
		Labels:     map[string]string{"alertname": "CollwatchNicDegraded", "class": "nic_degraded", "suspect_node": "gpu-007", "suspect_device": "mlx5_3"},
		Deliveries: map[string]json.RawMessage{"alertmanager/am-1": json.RawMessage(`{}`)},
	}
}

func tied() incidents.Incident {
	return incidents.Incident{
		ID: "01J0TIED", State: incidents.Latched, Severity: diagnosis.Warning, Withheld: incidents.InShadow, WithheldText: "the class is in shadow",
		Verdict: diagnosis.Verdict{
			Class: diagnosis.CollectiveStall, Confidence: diagnosis.Low, Owner: diagnosis.OwnerUnknown, Job: "48214", Scope: "job", TieSet: 2,
			Candidates: []diagnosis.Suspect{{Kind: "gpu", Node: "gpu-001", Device: "GPU0"}, {Kind: "gpu", Node: "gpu-002", Device: "GPU5"}},
		},
		StartedAt: t0.Add(5 * time.Minute), ActiveAt: t0.Add(5 * time.Minute), FiredAt: t0.Add(6 * time.Minute), LastSeen: t0.Add(10 * time.Minute), Flaps: 3,
	}
}

func pending() incidents.Incident {
	return incidents.Incident{
		ID: "01J0PEND", State: incidents.Pending, Severity: diagnosis.Info,
		Verdict:   diagnosis.Verdict{Class: diagnosis.TelemetryGap, Confidence: diagnosis.Medium, Suspects: []diagnosis.Suspect{{Kind: "node", Node: "gpu-003"}}, TieSet: 1},
		StartedAt: t0.Add(9 * time.Minute), ActiveAt: t0.Add(9 * time.Minute), LastSeen: t0.Add(10 * time.Minute),
	}
}

func resolved() incidents.Incident {
	return incidents.Incident{
		ID: "01J0DONE", State: incidents.Resolved, Severity: diagnosis.Warning, ResolveReason: incidents.DataGone, RecoveryText: "no sample for 15 min",
		Verdict:   diagnosis.Verdict{Class: diagnosis.LinkFlap, Confidence: diagnosis.High, TieSet: 1, Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "gpu-004", Device: "mlx5_1"}}},
		StartedAt: t0.Add(-3 * time.Hour), ActiveAt: t0.Add(-3 * time.Hour), FiredAt: t0.Add(-3 * time.Hour), LastSeen: t0.Add(-2 * time.Hour), ResolvedAt: t0.Add(-90 * time.Minute),
		SupersededBy: "01J0OPEN",
	}
}

// state is what an evaluation of two jobs saw.
func state() *web.State {
	var f topology.Facts
	for i := range 4 {
		dev, gpu := "mlx5_"+string(rune('0'+i)), "GPU"+string(rune('0'+i))
		f.Ports = append(f.Ports, topology.Port{Host: "gpu-007", Device: dev, Leaf: "leaf-r" + string(rune('0'+i)), Compute: true})
		f.Affinity = append(f.Affinity, topology.Affinity{Host: "gpu-007", GPU: gpu, NIC: dev})
	}
	return &web.State{
		Time: t0.Add(10 * time.Minute), Series: 4321, Blind: []string{"node on gpu-007: exporter_down"}, Fabric: topology.Build(f),
		Jobs: []web.Job{
			{
				ID: "48214", Hosts: []string{"gpu-001", "gpu-002"}, GPUs: 16, FirstSeen: t0.Add(-time.Hour), LastSeen: t0, Known: true, Stalled: true, Since: t0.Add(5 * time.Minute),
				Clocks:  []detectors.Clock{{Name: "inspector", Stopped: t0.Add(5 * time.Minute)}, {Name: "power", Running: true}},
				Members: []web.StateCount{{State: "waiting", Count: 15}, {State: "gone", Count: 1}}, Odd: []web.Member{{Host: "gpu-001", Device: "GPU0", State: "gone", Since: t0}},
			},
			{
				ID: "48213", Name: "llama", User: "ann", Hosts: []string{"gpu-007"}, GPUs: 8, FirstSeen: t0.Add(-time.Hour), LastSeen: t0, Known: true,
				Clocks:     []detectors.Clock{{Name: "inspector", Running: true}},
				Operations: []web.Operation{{Name: "AllReduce", Members: 8, Time: 0.0123, Bandwidth: 43.5e9, Slowest: 0.26, At: t0}, {Name: "AllToAll", Members: 8, Time: 0.002, Bandwidth: math.NaN(), Slowest: math.NaN(), At: t0}},
			},
		},
		Coverage: &signals.Coverage{
			Time: t0,
			Signals: []signals.SignalCoverage{
				{Signal: "nic_rate", Unit: "B/s", Dialect: "node-infiniband", Exporter: "node", Entities: 126, Expected: 128, Age: 12, Unused: map[string]uint64{"negative": 3}},
				{Signal: "gpu_ecc", Unit: "count", Enable: []string{"dcgm-exporter's counters CSV"}},
			},
			Classes: []signals.ClassCoverage{
				{Class: "nic_degraded", Level: signals.LevelFull},
				{Class: "gpu_fault", Level: signals.LevelBlind, Missing: [][]string{{"gpu_xid", "gpu_xid_count"}}, Enable: []string{"dcgm-exporter"}},
			},
			Short: []signals.Shortage{{Host: "gpu-009", What: "NICs", Found: 7, Expected: 8}},
		},
		Queries: []signals.QueryStat{
			{Source: "prom", Name: "dcgm", Expr: `{__name__=~"DCGM_.*"}[1m]`, Series: 1024, OK: t0},
			{Source: "prom", Name: "switch", Expr: `{__name__=~"ib_.*"}[6m]`, Err: errors.New("timeout after 10 s")},
		},
	}
}
