package detectors

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// wireRing sets what a ring of n ranks waits for: wire[i] on the way to rank
// i+1, recv[i] for data of rank i-1.
func wireRing(c *snaptest.Cluster, wire, recv []float64) {
	n := len(wire)
	for i := range n {
		e := signals.Entity{Kind: signals.KindComm, Job: "7", Host: "h" + strconv.Itoa(i), Device: "rank" + strconv.Itoa(i), Comm: "c0ffee00", Rank: int32(i) + 1}
		e.Peer, e.Detail = strconv.Itoa((i+1)%n), "wire"
		c.Set(signals.ProxyWait, wire[i], e)
		e.Peer, e.Detail = strconv.Itoa((i+n-1)%n), "recv_wait"
		c.Set(signals.ProxyWait, recv[i], e)
	}
}

func TestWire(t *testing.T) {
	for name, tc := range map[string]struct {
		wire, recv []float64
		want       string // host of the sender, "" for no finding
	}{
		"a slow link":                    {[]float64{0.05, 0.04, 0.9, 0.05}, []float64{0.7, 0.6, 0.6, 0.8}, "h2"},
		"all alike":                      {[]float64{0.5, 0.6, 0.7, 0.6}, []float64{0.7, 0.6, 0.6, 0.8}, ""},
		"two slow links":                 {[]float64{0.05, 0.8, 0.9, 0.05}, []float64{0.7, 0.6, 0.6, 0.8}, ""},
		"too little to matter":           {[]float64{0.001, 0.001, 0.09, 0.001}, []float64{0.7, 0.6, 0.6, 0.8}, ""},
		"a late receiver pushes back":    {[]float64{0.05, 0.04, 0.9, 0.05}, []float64{0.7, 0.6, 0.6, 0.01}, ""},
		"two ranks have nothing between": {[]float64{0.01, 0.9}, []float64{0.7, 0.6}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := snaptest.New(snaptest.Shape{}, 1)
			c.Jobs = append(c.Jobs, &signals.Job{ID: "7", Hosts: []string{"h0", "h1", "h2", "h3"}})
			wireRing(c, tc.wire, tc.recv)
			b := NewBank(Options{Interval: c.Interval})
			find := func() (hosts []string) {
				for _, f := range b.Observe(c.Next()).Findings {
					if f.Code == CodeWireWait {
						require.Equal(t, "7", f.Job)
						hosts = append(hosts, f.Entity.Host)
					}
				}
				return hosts
			}
			var got []string
			for range int(2 * time.Minute / c.Interval) {
				got = find()
			}
			if tc.want == "" {
				require.Empty(t, got)
				return
			}
			require.Equal(t, []string{tc.want}, got)
			wireRing(c, []float64{0.05, 0.04, 0.05, 0.05}, tc.recv)
			find()
			find()
			require.Empty(t, find(), "over")
		})
	}
}
