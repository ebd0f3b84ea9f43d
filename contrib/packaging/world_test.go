package packaging

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/internal/embedprom/apiserver"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// token is what the Prometheus of the tests asks for.
const token = "a-bearer-token-of-the-tests"

// world is what an installed daemon finds around it: a Prometheus with a sick
// NIC that wants a token, and a real Alertmanager.
type world struct {
	t            *testing.T
	prometheus   string
	open         string // the same Prometheus, without a login
	alertmanager *realserver.Server
	port         string // for the daemon
}

func startWorld(t *testing.T) *world {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	// Half an hour has passed and another one will come: queries see the part
	// up to their own time.
	sink := db.Appender()
	c, err := sim.New(sim.Options{
		Seed: 7, Start: time.Now().Add(-30 * time.Minute), Shape: sim.R16(8), Dialect: sim.Full(), Noise: sim.DefaultNoise(),
	}, sink)
	require.NoError(t, err)
	c.Inject(sim.Downtrain(2, 5, 0.5, (25 * time.Minute).Seconds(), 0))
	require.NoError(t, c.Run(t.Context(), time.Hour))
	require.NoError(t, sink.Commit())

	api := apiserver.Handler(db)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	open := httptest.NewServer(api)
	t.Cleanup(open.Close)
	return &world{
		t: t, prometheus: server.URL, open: open.URL, port: realserver.FreePort(t),
		alertmanager: realserver.StartAlertmanager(t, "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"),
	}
}

// config is what an operator writes, with a secret that systemd hands over.
func (w *world) config() string {
	return fmt.Sprintf(`
[global]
interval = "5s"
cluster = "clean"
state_dir = "/var/lib/collwatch"

[[source]]
name = "prometheus"
url = %q
[source.authorization]
credentials_file = "$CREDENTIALS_DIRECTORY/prometheus-token"

[alertmanager]
poll_interval = "2s"
[[alertmanager.target]]
name = "am"
url = %q
`, w.prometheus, w.alertmanager.URL)
}

// alerts are those about faults, as Alertmanager has them.
func (w *world) alerts() (out []struct {
	Labels   map[string]string
	StartsAt time.Time
},
) {
	w.t.Helper()
	resp, err := http.Get(w.alertmanager.URL + "/api/v2/alerts?filter=source%3D%22collwatch%22&filter=class%3D%22nic_degraded%22")
	require.NoError(w.t, err)
	defer resp.Body.Close()
	require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&out))
	return out
}

// answers asks the daemon.
func (w *world) answers(path string) (int, string) {
	resp, err := http.Get("http://127.0.0.1:" + w.port + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var text strings.Builder
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			return resp.StatusCode, text.String()
		}
	}
}

// metric reads a metric without labels of the daemon.
func (w *world) metric(name string) float64 {
	w.t.Helper()
	_, text := w.answers("/metrics")
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			require.NoError(w.t, err)
			return f
		}
	}
	w.t.Fatalf("no metric %s", name)
	return 0
}

// closed says that nobody listens on the daemon's port.
func (w *world) closed() bool {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+w.port, time.Second)
	if err != nil {
		return true
	}
	_ = c.Close()
	return false
}
