package signals_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// pidJob are the processes of a job on a host in the dialect that knows pids.
type pidJob struct {
	id              string
	pid, n, fromGPU int
	from            int // scrape of the first series
}

// TestPids holds that a process known by its pid is given a GPU only where the
// GPUs of its job are known: a job on half a host begins at any GPU.
func TestPids(t *testing.T) {
	const n = 12
	cases := map[string]struct {
		jobs []pidJob
		gpus int  // that dcgm-exporter shows
		hpc  bool // and whose they are
		want map[string]string
	}{
		"a whole host":                   {[]pidJob{{"a", 2000, 8, 0, 0}}, 8, false, map[string]string{"2000": "GPU0", "2007": "GPU7"}},
		"a whole host without GPUs told": {[]pidJob{{"a", 2000, 8, 0, 0}}, 0, false, map[string]string{"2000": "GPU0", "2007": "GPU7"}},
		"half a host":                    {[]pidJob{{"a", 2000, 4, 4, 0}}, 8, false, map[string]string{"2000": "pid2000", "2003": "pid2003"}},
		"half a host whose labels tell":  {[]pidJob{{"a", 2000, 4, 4, 0}}, 8, true, map[string]string{"2000": "GPU4", "2003": "GPU7"}},
		"two jobs on a host": {
			[]pidJob{{"a", 2000, 4, 0, 0}, {"b", 2004, 4, 4, 0}},
			8, false,
			map[string]string{"2000": "pid2000", "2004": "pid2004", "2007": "pid2007"},
		},
		"two jobs whose labels tell": {
			[]pidJob{{"a", 2000, 4, 0, 0}, {"b", 2004, 4, 4, 0}},
			8, true,
			map[string]string{"2000": "GPU0", "2004": "GPU4", "2007": "GPU7"},
		},
		"two jobs on a host without GPUs told": {
			[]pidJob{{"a", 2000, 4, 0, 0}, {"b", 2004, 4, 4, 0}}, 0, false, map[string]string{"2004": "pid2004"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			owner := map[int]string{}
			for _, j := range c.jobs {
				for k := range j.n {
					owner[j.fromGPU+k] = j.id
					s.add(fmt.Sprintf(`nccl_collective_exec_time_microseconds{slurm_job_id="%s",hostname="gpu-014",hostname_pid="gpu-014-%d",n_nodes="2",nranks="%d",collective="AllReduce",rank="%d",message_size_bytes="1048576",comm_id="0xabcdef01%s0",instance="otel:8889",job="otel"}`,
						j.id, j.pid+k, 2*j.n, k, j.id), n, func(i int) (float64, bool) { return float64(6000 + 10*i + k), true })
				}
			}
			for g := range c.gpus {
				hpc := ""
				if c.hpc {
					hpc = `,hpc_job="` + owner[g] + `"`
				}
				for _, m := range []string{"POWER_USAGE", "GPU_UTIL"} {
					s.add(fmt.Sprintf(`DCGM_FI_DEV_%s{gpu="%d",UUID="%s",Hostname="gpu-014"%s,instance="gpu-014:9400",job="dcgm"}`, m, g, uuid(g), hpc), n, always(90))
				}
			}
			got := map[string]bool{}
			run(t, &s, n, func(i int, snap *signals.Snapshot) {
				if i < n-2 {
					return
				}
				for _, j := range snap.Jobs {
					for _, e := range append(j.GPUs, j.Ranks...) {
						got[j.ID+" "+e.Device] = true
					}
				}
			})
			for _, j := range c.jobs {
				for k := range j.n {
					if want, ok := c.want[fmt.Sprint(j.pid+k)]; ok {
						require.True(t, got[j.id+" "+want], "job %s: no %s in %v", j.id, want, got)
					}
				}
			}
			for thing := range got {
				require.False(t, len(c.jobs) > 1 && !c.hpc && thing[2:5] == "GPU", "a guessed GPU: %v", got)
			}
		})
	}
}
