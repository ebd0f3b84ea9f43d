package score

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// TestWanderingBandwidthIsOneNotification follows scenario B02 to the last
// receiver: bandwidth that wanders around its limit for two hours, two daemons
// of which one is killed, two Alertmanagers of which one is away for a while,
// and a silence by hand. The hours pass in seconds; servers and deliveries are
// real.
func TestWanderingBandwidthIsOneNotification(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real servers")
	}
	p := lastmile.StartPager(t)
	one := realserver.StartAlertmanager(t, p.Config(3*time.Second, ""))
	two := realserver.StartAlertmanager(t, p.Config(3*time.Second, ""), one.Cluster)
	o := lastmile.Options{
		Targets:   []string{one.URL, two.URL},
		Incidents: incidents.Options{Interval: Interval, External: map[string]string{"cluster": "alpha"}},
	}
	a, b := lastmile.Start(t, o, nil), lastmile.Start(t, o, nil)
	s, ok := sim.Find("B02")
	require.True(t, ok)
	const onset = 30 * time.Minute
	var clock shifted
	fingerprints := map[string]map[string]string{} // labels by node and severity
	silence := ""
	apply := func(res *diagnosis.Result) {
		later := *res
		later.Time = res.Time.Add(7 * time.Second) // the second daemon looks a little later
		a.Apply(res)
		b.Apply(&later)
		for _, r := range []*lastmile.Replica{a, b} {
			for _, inc := range r.Open() {
				if inc.Verdict.Class != diagnosis.NICDegraded {
					continue
				}
				labels := inc.AlertLabels()
				if known := fingerprints[labels["severity"]]; known != nil {
					require.Equal(t, known, labels, "both daemons, before and after the kill")
				}
				fingerprints[labels["severity"]] = labels
			}
		}
	}
	var first time.Time
	_, err := Play(t.Context(), Case{Scenario: s, Params: sim.Params{Seed: 1}, Watch: func(k engine.Tick) {
		require.NoError(t, k.Err)
		if first.IsZero() {
			first = k.At.Add(-time.Minute)
		}
		apply(clock.shift(k.At, *k.Result))
		switch k.At.Sub(first) - onset {
		case 10 * time.Minute:
			two.Kill()
		case 20 * time.Minute:
			two.Restart()
		case 30 * time.Minute:
			silence = silenceHost(t, one.URL, a.Open()[0].Labels["suspect_node"])
		case 40 * time.Minute:
			disk := a.Kill()
			a = lastmile.Start(t, o, disk)
		case 100 * time.Minute:
			for _, url := range o.Targets {
				require.Eventually(t, func() bool { return state(t, url) == "suppressed" }, time.Minute, 50*time.Millisecond, "the silence keeps matching, on both")
			}
			expire(t, one.URL, silence)
		}
	}})
	require.NoError(t, err)
	for range 60 { // a quarter of an hour in which all is well
		apply(clock.after(Interval))
		time.Sleep(20 * time.Millisecond) // the pace of evaluations, not a wait
	}
	about := func() (out []string) {
		for _, l := range p.Lines() {
			if strings.Contains(l, " nic_degraded ") {
				out = append(out, l)
			}
		}
		return out
	}
	require.Eventually(t, func() bool { return len(about()) == 2*len(fingerprints) }, time.Minute, 50*time.Millisecond, "%v", p.Lines())
	time.Sleep(5 * time.Second) // the second member has told by now, if it ever does
	seen := map[string]int{}
	for _, l := range about() {
		seen[l]++
	}
	require.Len(t, seen, 2*len(fingerprints), "one begin and one end for each severity: %v", p.Lines())
	for line, n := range seen {
		require.Equal(t, 1, n, line)
	}
	for _, labels := range fingerprints {
		for name, value := range labels {
			require.NotRegexp(t, `\d\.\d|20\d\d-`, value, "%s holds what changes", name)
		}
	}
}

func silenceHost(t *testing.T, url, node string) (id string) {
	t.Helper()
	matcher := func(name, value string) map[string]any {
		return map[string]any{"name": name, "value": value, "isRegex": false, "isEqual": true}
	}
	body, err := json.Marshal(map[string]any{
		"matchers": []any{matcher("class", "nic_degraded"), matcher("suspect_node", node)},
		"startsAt": time.Now().UTC(), "endsAt": time.Now().Add(time.Hour).UTC(), "createdBy": "on-call", "comment": "known",
	})
	require.NoError(t, err)
	resp, err := http.Post(url+"/api/v2/silences", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	var got struct {
		ID string `json:"silenceID"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	return got.ID
}

func expire(t *testing.T, url, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/api/v2/silence/"+id, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// state is that of the one alert about the NIC.
func state(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url + `/api/v2/alerts?filter=class%3D%22nic_degraded%22`)
	require.NoError(t, err)
	defer resp.Body.Close()
	var list []struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	if len(list) != 1 {
		return ""
	}
	return list[0].Status.State
}
