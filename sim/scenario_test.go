package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScenariosRun builds and runs each scenario in a shortened and relocated
// form: no rule of the list may depend on the usual hosts.
func TestScenariosRun(t *testing.T) {
	ids := map[string]bool{}
	for _, s := range Scenarios() {
		require.False(t, ids[s.ID], "id %s twice", s.ID)
		ids[s.ID] = true
		t.Run(s.ID, func(t *testing.T) {
			p := Params{Seed: 11, Onset: 4 * time.Minute, Elsewhere: true, Prefix: "node", Noise: &Noise{ComputeCV: 0.02, Phi: 0.5, TailDF: 5, TransferCV: 0.02, WindowCV: 0.01, GaugeCV: 0.02, ScrapeLoss: 0.01}}
			if s.Hosts > 40 {
				p.Hosts = 24
			}
			sink := NewOpenMetrics()
			run, err := s.New(p, sink)
			require.NoError(t, err)
			require.NoError(t, run.Cluster.Run(t.Context(), p.Onset+min(s.After, 6*time.Minute)))
			require.Positive(t, sink.Len())
			for i, samples := range sink.samples {
				for k := 1; k < len(samples); k++ {
					if samples[k-1].t >= samples[k].t {
						require.Fail(t, "two exporters of one series", "%s%s", sink.names[i], sink.labels[i])
					}
				}
			}
			for _, c := range run.Truth.Suspects {
				require.True(t, c.Node != "" || c.Switch != "" || c.Device != "", "suspect of %s", s.ID)
			}
		})
	}
}
