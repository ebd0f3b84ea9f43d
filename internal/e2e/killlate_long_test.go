//go:build long

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/sim"
)

// TestLongKilledWhileLatchedAndInconclusive kills the daemon with SIGKILL while an
// incident that came back is latched, while one cannot be judged because its host
// went silent, and after that one ended as inconclusive. People hear of each begin
// and each end once.
func TestLongKilledWhileLatchedAndInconclusive(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	p, slack := lastmile.StartPager(t), fakeslack.Start(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("people: %v\nSlack:\n%s", p.Lines(), slack.Transcript())
		}
	})
	r := startRig(t, small, p.Config(time.Second, ""))
	r.configure(`
[incidents]
latch = "45s"
flaps = 1
data_gone = "20s"
` + r.slackTables(slack))
	r.start()
	again := func() { t.Helper(); r.kill(); r.start() }
	about := func(node string) (out []string) {
		for _, l := range p.Lines() {
			if strings.Contains(l, " nic_degraded "+node) {
				out = append(out, strings.Fields(l)[0])
			}
		}
		return out
	}
	told := func(node string, want ...string) func() bool {
		return func() bool { return slices.Equal(about(node), want) }
	}
	in := func(node, state string) bool {
		var got struct {
			Incidents []struct {
				State  string            `json:"state"`
				Held   string            `json:"held"`
				Class  string            `json:"class"`
				Labels map[string]string `json:"labels"`
			} `json:"incidents"`
		}
		r.get("http://"+r.address+"/api/v1/incidents", &got)
		for _, i := range got.Incidents {
			if i.Class == "nic_degraded" && i.Labels["suspect_node"] == node && (i.State == state || i.Held != "" && state == "held") {
				return true
			}
		}
		return false
	}
	message := func(node string) []fakeslack.Message {
		return slices.DeleteFunc(topLevel(slack), func(m fakeslack.Message) bool {
			return !strings.Contains(m.Text, node) || !strings.Contains(m.Text, "NIC degraded")
		})
	}

	const flapping, silent = "gpu-003", "gpu-006"
	end := make(chan struct{})
	require.NoError(t, r.live.Inject(untilClosed(sim.Downtrain(2, 5, 0.25, 0, 0), end), 0))
	r.eventually("people know", time.Minute, told(flapping, "firing"))
	close(end)
	r.eventually("it ends", 2*time.Minute, told(flapping, "firing", "resolved"))
	end = make(chan struct{})
	require.NoError(t, r.live.Inject(untilClosed(sim.Downtrain(2, 5, 0.25, 0, 0), end), 0))
	r.eventually("it is back", time.Minute, told(flapping, "firing", "resolved", "firing"))
	close(end)
	r.eventually("it is latched", 2*time.Minute, func() bool { return in(flapping, "latched") })
	evaluated := metric(t, "http://"+r.address+"/metrics", "collwatch_evaluations_total")
	r.eventually("an evaluation later it is on disk", time.Minute, func() bool {
		return metric(t, "http://"+r.address+"/metrics", "collwatch_evaluations_total") > evaluated
	})
	again()
	r.eventually("it still is", 20*time.Second, func() bool { return in(flapping, "latched") })
	r.eventually("it ends again", 3*time.Minute, told(flapping, "firing", "resolved", "firing", "resolved"))
	r.eventually("one message says so", 3*time.Minute, func() bool { m := message(flapping); return len(m) == 1 && m[0].Color == green })

	never := make(chan struct{})
	require.NoError(t, r.live.Inject(untilClosed(sim.Downtrain(5, 2, 0.25, 0, 0), never), 0))
	r.eventually("people know of the other", time.Minute, told(silent, "firing"))
	require.NoError(t, r.live.Inject(untilClosed(sim.Fault{Name: "silence", Apply: func(c *sim.Cluster, _, _ float64) {
		h := c.Host(5)
		h.NodeDown, h.DCGMDown = true, true
	}}, never), 0))
	r.eventually("its host cannot be judged", 2*time.Minute, func() bool { return in(silent, "held") })
	again()
	require.Equal(t, []string{"firing"}, about(silent), "silence is no recovery")
	r.eventually("it ends without proof", 3*time.Minute, told(silent, "firing", "resolved"))
	again()
	r.eventually("the message says so", 3*time.Minute, func() bool {
		m := message(silent)
		return len(m) == 1 && strings.HasPrefix(m[0].Text, "Stopped reporting:")
	})
	quiet()
	require.Equal(t, []string{"firing", "resolved"}, about(silent))
	require.NotEqual(t, green, message(silent)[0].Color, "nobody has seen it repaired")
	require.Equal(t, []string{"firing", "resolved", "firing", "resolved"}, about(flapping), "%v", p.Lines())
}
