package incidents_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// TestShadowSaysWhatWouldBeSent: with all classes in shadow nothing is announced,
// and what is recorded has the kinds, times and labels of what is sent without it.
func TestShadowSaysWhatWouldBeSent(t *testing.T) {
	classes := []diagnosis.Class{diagnosis.LinkDown, diagnosis.NICDegraded, diagnosis.GPUThrottle}
	rapid.Check(t, func(t *rapid.T) {
		shadow := map[diagnosis.Class]bool{}
		for _, c := range diagnosis.Classes() {
			shadow[c] = true
		}
		external := map[string]string{"cluster": "alpha"}
		sends := incidents.NewManager(incidents.Options{External: external})
		tries := incidents.NewManager(incidents.Options{External: external, Shadow: shadow})
		present := map[string]diagnosis.Verdict{}
		type said struct {
			kind   incidents.EventKind
			labels string
		}
		for i := range 150 {
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				node := fmt.Sprintf("n%d", rapid.IntRange(0, 3).Draw(t, "node"))
				if _, there := present[node]; there {
					delete(present, node)
					continue
				}
				v := nic(node, "mlx5_0")
				v.Class = rapid.SampledFrom(classes).Draw(t, "class")
				v.Severity = rapid.SampledFrom([]diagnosis.Severity{diagnosis.Warning, diagnosis.Critical}).Draw(t, "severity")
				present[node] = v
			}
			res := diagnosis.Result{Time: t0.Add(time.Duration(i) * interval), Whole: true}
			for n := range 4 {
				if v, ok := present[fmt.Sprintf("n%d", n)]; ok {
					res.Verdicts = append(res.Verdicts, v)
				}
			}
			again := res
			var sent, tried []said
			for _, e := range sends.Apply(&res) {
				if e.Kind == incidents.EventUpdate {
					continue // of what is in shadow only beginning and end are events
				}
				sent = append(sent, said{e.Kind, fmt.Sprint(e.Incident.AlertLabels())})
			}
			for _, e := range tries.Apply(&again) {
				require.Equal(t, incidents.InShadow, e.Incident.Withheld)
				tried = append(tried, said{e.Kind, fmt.Sprint(e.Incident.AlertLabels())})
			}
			require.Equal(t, sent, tried, "evaluation %d", i)
			for _, inc := range tries.Live() {
				require.False(t, inc.Announced, "nothing is sent")
			}
		}
	})
}
