package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// TestRanksThatEndFirst: ranks that ended on purpose while the rest uploads what
// they made are no cause, and nobody waits for them.
func TestRanksThatEndFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		ended  []int
		util   float64 // of the rest
		plugin bool
		want   string
	}{
		"a host's, by the exporter":           {[]int{4, 5, 6, 7}, 0, true, ""},
		"one, by the exporter":                {[]int{1}, 0, true, ""},
		"a host's, by its memory":             {[]int{4, 5, 6, 7}, 0, false, ""},
		"one, by its memory":                  {[]int{1}, 0, false, ""},
		"one that others wait for":            {[]int{1}, 1, true, "collective_stall rank_exited critical medium gpu:a1/GPU1"},
		"one that others wait for, by memory": {[]int{1}, 1, false, "collective_stall rank_exited critical high gpu:a1/GPU1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := plain()
			j := newRankJob(r.Cluster, "7001", []string{"a1", "a2"}, 4, true)
			if !tc.plugin {
				j.unseen()
			}
			r.Set(signals.GPUMemUsed, 6e10, j.ranks...)
			r.Set(signals.GPUTensorActive, 0.5, j.ranks...)
			r.Set(signals.GPUUtil, 1, j.ranks...)
			r.run(healthy)
			j.halt()
			r.Set(signals.GPUTensorActive, 0, j.ranks...)
			r.Set(signals.GPUUtil, tc.util, j.ranks...)
			for _, i := range tc.ended {
				if tc.plugin {
					j.leave(i)
				}
				r.Set(signals.GPUMemUsed, 1e6, j.ranks[i])
				r.Set(signals.GPUUtil, 0, j.ranks[i])
			}
			r.run(10 * time.Minute)
			if tc.want != "" {
				require.Equal(t, []string{tc.want}, r.told)
				return
			}
			for _, line := range r.told {
				require.Equal(t, "collective_stall all_alike critical unknown", line, "nobody is named")
			}
		})
	}
}
