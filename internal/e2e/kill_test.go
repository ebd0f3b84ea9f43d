package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/collwatch/collwatch/internal/fakeslack"
	"github.com/collwatch/collwatch/internal/lastmile"
	"github.com/collwatch/collwatch/sim"
)

// TestKilledInEachState kills the daemon with SIGKILL while an incident is
// pending, open, silenced, on its way to the resolve and resolved, fills its disk
// and reloads its configuration in between. People hear of one begin and one end.
func TestKilledInEachState(t *testing.T) {
	t.Parallel() // they wait for servers most of the time
	needServers(t)
	p, slack := lastmile.StartPager(t), fakeslack.Start(t)
	r := startRig(t, small, p.Config(time.Second, ""))
	r.configure(r.slackTables(slack))
	r.start()
	evaluations := func() float64 { return metric(t, "http://"+r.address+"/metrics", "collwatch_evaluations_total") }
	evaluated := func(n float64, what string) {
		t.Helper()
		until := evaluations() + n
		r.eventually(what, time.Minute, func() bool { return evaluations() >= until })
	}
	in := func(state string) int {
		var got struct{ Incidents []json.RawMessage }
		r.get("http://"+r.address+"/api/v1/incidents?state="+state, &got)
		return len(got.Incidents)
	}
	again := func() { t.Helper(); r.kill(); r.start() }

	end := make(chan struct{})
	require.NoError(t, r.live.Inject(untilClosed(sim.Downtrain(2, 5, 0.25, 0, 0), end), 0))
	r.eventually("it is pending", time.Minute, func() bool { return in("pending")+in("open") > 0 })
	again()
	r.eventually("people know", time.Minute, func() bool { return len(p.Lines()) == 1 && len(topLevel(slack)) == 1 })
	alert := r.alerts()[0]
	again()
	evaluated(2, "two evaluations after the kill in open")

	// A full disk: no file may grow. The daemon goes on with what it knows.
	full := unix.Rlimit{Cur: 0, Max: unix.RLIM_INFINITY}
	require.NoError(t, unix.Prlimit(r.daemon.Process.Pid, unix.RLIMIT_FSIZE, &full, nil))
	expire := r.silence("nic_degraded")
	r.eventually("the message shows the silence", time.Minute, func() bool { return strings.Contains(topLevel(slack)[0].Body, "Silenced by on-call") })
	require.NotZero(t, r.failures())
	evaluated(2, "evaluations go on with a full disk")
	room := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	require.NoError(t, unix.Prlimit(r.daemon.Process.Pid, unix.RLIMIT_FSIZE, &room, nil))
	evaluated(2, "there is room again")
	again()
	evaluated(2, "two evaluations after the kill in silence")
	require.Len(t, r.alerts(), 1)
	require.Equal(t, alert.StartsAt, r.alerts()[0].StartsAt)
	expire()
	r.eventually("the silence is over", time.Minute, func() bool { return !strings.Contains(topLevel(slack)[0].Body, "Silenced by on-call") })

	text, err := os.ReadFile(r.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.config, []byte(strings.Replace(string(text), "resolve = 3", "resolve = 4", 1)), 0o600))
	require.NoError(t, r.daemon.Process.Signal(syscall.SIGHUP))
	evaluated(3, "three evaluations after a reload in the middle")
	require.Len(t, r.alerts(), 1)
	// A daemon that was just started has no figures and tries again later.
	r.eventually("the suspect is drawn against its peers", 2*time.Minute, func() bool {
		return strings.Contains(slack.Transcript(), "chart: NIC rate, 2 series")
	})

	close(end)
	evaluated(2, "the fault is gone, the incident is not")
	again()
	r.eventually("it ends", 2*time.Minute, func() bool { return len(r.alerts()) == 0 && topLevel(slack)[0].Color == green })
	again()
	evaluated(3, "three evaluations after the kill in resolved")
	r.eventually("people know the end", time.Minute, func() bool { return len(p.Lines()) == 2 })
	require.Equal(t, []string{"firing critical nic_degraded gpu-003", "resolved critical nic_degraded gpu-003"}, p.Lines())
	require.Len(t, topLevel(slack), 1, slack.Transcript())
	require.Equal(t, green, topLevel(slack)[0].Color)
	t.Logf("what Slack was told:\n%s", slack.Transcript())
}

// failures is how often the state could not be written.
func (r *rig) failures() float64 {
	r.t.Helper()
	return metric(r.t, "http://"+r.address+"/metrics", fmt.Sprintf("collwatch_state_save_failures_total{file=%q}", "incidents"))
}
