package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// size is how large a rig is and how fast it is looked at.
type size struct {
	hosts    int
	interval time.Duration // of scrapes and evaluations
}

// small is evaluated as often as a busy test machine bears.
var small = size{hosts: 16, interval: 3 * time.Second}

// rig is a cluster with its monitoring.
type rig struct {
	t            testing.TB
	size         size
	live         *sim.Live
	prometheus   *realserver.Server
	alertmanager *realserver.Server
	dir          string
	bin          string
	config       string
	// prometheusURL and prometheusKind are what the daemon is told.
	prometheusURL, prometheusKind string
	// offset is how old the data of an evaluation is.
	offset  time.Duration
	address string

	daemon *exec.Cmd
	log    *syncBuffer
}

// startRig starts everything but the daemon, with one Prometheus.
func startRig(t testing.TB, of size, alertmanagerConfig string) *rig {
	t.Helper()
	r, scrapes := startCluster(t, of, alertmanagerConfig)
	r.prometheus = realserver.StartPrometheus(t, scrapes)
	r.prometheusURL = r.prometheus.URL
	return r
}

// startCluster starts everything but the daemon and the store, and returns the
// configuration of a Prometheus that scrapes it.
func startCluster(t testing.TB, of size, alertmanagerConfig string) (r *rig, scrapes string) {
	t.Helper()
	r = &rig{
		t: t, size: of, dir: t.TempDir(), log: &syncBuffer{}, address: freeAddress(t), prometheusKind: "prometheus", offset: time.Second,
	}
	r.build()

	// The job has run for a while, so that its first windows are over.
	c, err := sim.New(sim.Options{
		Seed: 42, Start: time.Now().Add(-10 * time.Minute), Shape: sim.R16(of.hosts), Dialect: sim.Full(), Noise: sim.DefaultNoise(), Live: true,
	}, nil)
	require.NoError(t, err)
	r.live = sim.NewLive(c, time.Now)
	targets := httptest.NewServer(r.live)
	t.Cleanup(targets.Close)

	// The profiler's files go through a real node_exporter.
	textfiles := filepath.Join(r.dir, "textfile")
	require.NoError(t, os.Mkdir(textfiles, 0o755))
	require.NoError(t, r.live.Files(t.Context(), textfiles, false))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.live.Follow(ctx, textfiles, false, time.Second); err != nil {
			t.Errorf("text files: %v", err)
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
	node := realserver.StartNodeExporter(t, textfiles)

	r.alertmanager = realserver.StartAlertmanager(t, alertmanagerConfig)
	return r, fmt.Sprintf(`
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s}
scrape_configs:
  - job_name: cluster
    http_sd_configs: [{url: %[2]s/targets, refresh_interval: 30s}]
  - job_name: textfile
    static_configs: [{targets: [%[3]q]}]
`, of.interval, targets.URL, strings.TrimPrefix(node.URL, "http://"))
}

// build builds the daemon.
func (r *rig) build() {
	r.t.Helper()
	r.bin = filepath.Join(r.dir, "collwatch")
	out, err := exec.Command("go", "build", "-o", r.bin, "../../cmd/collwatch").CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

// configure writes the daemon's configuration.
func (r *rig) configure(extra string) {
	r.config = filepath.Join(r.dir, "collwatch.toml")
	text := fmt.Sprintf(`
[global]
interval = %[1]q
query_offset = %[6]q
state_dir = %[2]q
cluster = "e2e"
warm_up = "0s"

[[source]]
name = "prometheus"
kind = %[5]q
url = %[3]q
[source.limits]
requests_per_second = 50

[signals]
scrape = %[1]q

[alertmanager]
poll_interval = "2s"
resend_delay = "10s"

[[alertmanager.target]]
name = "am"
url = %[4]q

# A short hold, so that the end of the fault is seen within the test.
[incidents.class.nic_degraded]
resolve = 3
`, r.size.interval.String(), filepath.Join(r.dir, "state"), r.prometheusURL, r.alertmanager.URL, r.prometheusKind, r.offset.String())
	require.NoError(r.t, os.WriteFile(r.config, []byte(text+extra), 0o600))
}

// start runs the daemon until it is ready.
func (r *rig) start() {
	r.t.Helper()
	r.daemon = exec.Command(r.bin, "run", "--config", r.config, "--web.listen-address", r.address)
	r.daemon.Stdout, r.daemon.Stderr = r.log, r.log
	require.NoError(r.t, r.daemon.Start())
	cmd := r.daemon
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill() // may be gone
		_ = cmd.Wait()
		if r.t.Failed() {
			r.t.Logf("log of the daemon:\n%s", r.log)
		}
	})
	r.eventually("the daemon is ready", 5*time.Minute, func() bool {
		resp, err := http.Get("http://" + r.address + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// kill ends the daemon as a crash would.
func (r *rig) kill() {
	r.t.Helper()
	require.NoError(r.t, r.daemon.Process.Signal(syscall.SIGKILL))
	_ = r.daemon.Wait() // says "killed"
}

// eventually polls: how long real servers take is theirs to say.
func (r *rig) eventually(what string, within time.Duration, ok func() bool) {
	r.t.Helper()
	began := time.Now()
	require.Eventually(r.t, ok, within, 200*time.Millisecond, what)
	r.t.Logf("%6.1fs  %s", time.Since(began).Seconds(), what)
}

// alert is what Alertmanager's API says of one.
type alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	Status      struct {
		State      string   `json:"state"`
		SilencedBy []string `json:"silencedBy"`
	} `json:"status"`
}

// alerts lists the alerts about faults. A busy test machine loses scrapes of its
// own, and the daemon says so: that is true and not what is tested.
func (r *rig) alerts() []alert {
	r.t.Helper()
	var all []alert
	r.get(r.alertmanager.URL+"/api/v2/alerts?filter=source%3D%22collwatch%22&filter=class!~%22heartbeat%7Ctelemetry_gap%22", &all)
	return all
}

func (r *rig) get(url string, into any) {
	r.t.Helper()
	resp, err := http.Get(url)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	require.Equal(r.t, http.StatusOK, resp.StatusCode, url)
	require.NoError(r.t, json.NewDecoder(resp.Body).Decode(into))
}

// silence silences a class and returns the function that ends the silence.
func (r *rig) silence(class string) (expire func()) {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{
		"matchers": []map[string]any{{"name": "class", "value": class, "isRegex": false, "isEqual": true}},
		"startsAt": time.Now().UTC(), "endsAt": time.Now().Add(time.Hour).UTC(), "createdBy": "on-call", "comment": "maintenance",
	})
	require.NoError(r.t, err)
	resp, err := http.Post(r.alertmanager.URL+"/api/v2/silences", "application/json", bytes.NewReader(body))
	require.NoError(r.t, err)
	defer resp.Body.Close()
	var got struct {
		ID string `json:"silenceID"`
	}
	require.NoError(r.t, json.NewDecoder(resp.Body).Decode(&got))
	require.NotEmpty(r.t, got.ID)
	return func() {
		req, err := http.NewRequestWithContext(r.t.Context(), http.MethodDelete, r.alertmanager.URL+"/api/v2/silence/"+got.ID, nil)
		require.NoError(r.t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(r.t, err)
		resp.Body.Close()
		require.Equal(r.t, http.StatusOK, resp.StatusCode)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// syncBuffer takes the output of a process while tests read it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func needServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }
