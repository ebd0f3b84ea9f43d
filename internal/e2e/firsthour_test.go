package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/sim"
)

// TestFirstHour is what an operator tries first: break everything around the
// daemon and see whether an alert is lost, doubled or resolved by ignorance.
func TestFirstHour(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	if testing.Short() {
		t.Skip("starts real servers")
	}
	r := startRig(t, small, alertmanagerConfig)
	const password = "correct-horse-battery"
	r.prometheusURL = strings.Replace(r.prometheus.URL, "http://", "http://ops:"+password+"@", 1)
	r.configure("")
	r.start()
	end := make(chan struct{})
	require.NoError(t, r.live.Inject(untilClosed(sim.Downtrain(2, 5, 0.5, 0, 0), end), 0))
	r.eventually("the fault is an alert", time.Minute, func() bool { return len(r.alerts()) == 1 })
	first := r.alerts()[0]
	same := func(what string) {
		t.Helper()
		got := r.alerts()
		require.Len(t, got, 1, what)
		require.Equal(t, first.Labels, got[0].Labels, what)
		require.Equal(t, first.StartsAt, got[0].StartsAt, what)
		require.Equal(t, "active", got[0].Status.State, what)
	}

	t.Run("coverage tells what is here and what is missing", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), r.bin, "coverage", "--format", "json", "--config", r.config).Output()
		require.NoError(t, err)
		var c signals.Coverage
		require.NoError(t, json.Unmarshal(out, &c))
		text, err := exec.CommandContext(t.Context(), r.bin, "coverage", "--config", r.config).Output()
		require.NoError(t, err)
		t.Logf("%s", text)
		require.Contains(t, string(text), "nic_rate")
		require.Contains(t, string(text), "inspector_age")
		require.Equal(t, signals.LevelFull, c.Class("link_down"), "ports are there")
		require.Equal(t, signals.LevelBlind, c.Class("pfc_storm"), "nobody exports pause counters here")
	})

	t.Run("a bad configuration changes nothing", func(t *testing.T) {
		good, err := os.ReadFile(r.config)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(r.config, []byte("[global]\ninterval = 15\n"), 0o600))
		resp, err := http.Post("http://"+r.address+"/-/reload", "", nil)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
		require.Contains(t, string(body), ":2:")
		require.Zero(t, r.metric("collwatch_config_last_reload_successful"))
		require.NoError(t, os.WriteFile(r.config, good, 0o600))
		require.NoError(t, r.daemon.Process.Signal(syscall.SIGHUP))
		r.eventually("the good one is loaded by SIGHUP", 30*time.Second, func() bool {
			return r.metric("collwatch_config_last_reload_successful") == 1
		})
		same("after the reload")
	})

	t.Run("without Prometheus nothing resolves", func(*testing.T) {
		r.prometheus.Kill()
		before := r.metric("collwatch_evaluations_total")
		r.eventually("ten evaluations without data", 2*time.Minute, func() bool {
			return r.metric("collwatch_evaluations_total") >= before+10
		})
		same("while Prometheus is down")
		r.prometheus.Restart()
		same("after Prometheus came back")
	})

	t.Run("a second daemon adds nothing", func(t *testing.T) {
		twin := *r
		twin.t, twin.log, twin.address, twin.dir = t, &syncBuffer{}, freeAddress(t), t.TempDir()
		twin.configure("")
		twin.start()
		r.eventually("the twin has found it too", time.Minute, func() bool {
			var got struct{ Incidents []json.RawMessage }
			r.get("http://"+twin.address+"/api/v1/incidents?state=open", &got)
			return len(got.Incidents) == 1
		})
		require.Len(t, r.alerts(), 1, "labels of both are identical")
		twin.kill()
	})

	t.Run("an Alertmanager that forgot is told again", func(t *testing.T) {
		r.alertmanager.Kill()
		r.alertmanager.Restart()
		r.eventually("the alert is there again", time.Minute, func() bool { return len(r.alerts()) == 1 })
		require.Equal(t, first.Labels, r.alerts()[0].Labels)
		require.WithinDuration(t, first.StartsAt, r.alerts()[0].StartsAt, 0, "the start is the incident's, not the post's")
	})

	t.Run("no secret shows", func(t *testing.T) {
		resp, err := http.Get("http://" + r.address + "/config")
		require.NoError(t, err)
		page, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		require.Contains(t, string(page), "127.0.0.1")
		require.False(t, bytes.Contains(page, []byte(password)), "the page")
		require.NotContains(t, r.log.String(), password, "the log")
	})

	t.Run("a shutdown resolves nothing", func(t *testing.T) {
		require.NoError(t, r.daemon.Process.Signal(syscall.SIGTERM))
		require.NoError(t, r.daemon.Wait(), "a clean exit")
		require.Len(t, r.alerts(), 1)
		require.Equal(t, "active", r.alerts()[0].Status.State)
	})
	close(end)
}
