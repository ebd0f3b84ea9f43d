package signals_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// TestUnnamedJobs holds what is made of series whose job is "unknown" where no
// other series tells it.
func TestUnnamedJobs(t *testing.T) {
	type comm struct {
		hosts, gpus    []int
		nranks, nnodes int
	}
	const n = 16
	cases := map[string]struct {
		comms []comm
		pods  map[int]string // host -> job told by pods
		gone  int            // host 1 vanishes at this scrape
		want  map[int]string // host -> job at the end, "" none
	}{
		"one job of all ranks": {
			comms: []comm{{[]int{1, 2, 3}, []int{0, 1}, 6, 3}},
			want:  map[int]string{1: "unnamed-n1", 3: "unnamed-n1"},
		},
		"one group a rail, and one a host": {
			comms: []comm{{[]int{4, 5, 6}, []int{0, 1}, 3, 3}, {[]int{4, 5, 6}, []int{0, 1}, 2, 1}},
			want:  map[int]string{4: "unnamed-n4", 6: "unnamed-n4"},
		},
		"two jobs of different shape": {
			comms: []comm{{[]int{1, 2, 3}, []int{0, 1}, 6, 3}, {[]int{7, 8}, []int{0, 1}, 4, 2}},
			want:  map[int]string{1: "unnamed-n1", 8: "unnamed-n7"},
		},
		"two jobs of one shape": {
			comms: []comm{{[]int{1, 2}, []int{0, 1}, 4, 2}, {[]int{3, 4}, []int{0, 1}, 4, 2}},
			want:  map[int]string{1: "", 4: ""},
		},
		"their groups inside the hosts make no jobs": {
			comms: []comm{{[]int{1, 2}, []int{0, 1}, 4, 2}, {[]int{3, 4}, []int{0, 1}, 4, 2}, {[]int{1, 2, 3, 4}, []int{0, 1}, 2, 1}},
			want:  map[int]string{1: "", 4: ""},
		},
		"a member is missing": {
			comms: []comm{{[]int{1, 2}, []int{0, 1}, 6, 3}},
			want:  map[int]string{1: "", 2: ""},
		},
		"a member goes": {
			comms: []comm{{[]int{1, 2, 3}, []int{0, 1}, 6, 3}}, gone: 10,
			want: map[int]string{2: "unnamed-n1", 3: "unnamed-n1"},
		},
		"pods tell": {
			comms: []comm{{[]int{1, 2}, []int{0, 1}, 4, 2}}, pods: map[int]string{1: "llm", 2: "llm"},
			want: map[int]string{1: "llm", 2: "llm"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			for h, job := range c.pods {
				s.add(fmt.Sprintf(`kube_pod_info{node="n%d",pod="w%d",namespace="train",host_ip="10.1.0.%d",pod_ip="10.9.0.%d",instance="ksm:8080",job="ksm"}`, h, h, h, h), n, always(1))
				s.add(fmt.Sprintf(`kube_pod_labels{namespace="train",pod="w%d",label_jobset_sigs_k8s_io_jobset_name="%s",instance="ksm:8080",job="ksm"}`, h, job), n, always(1))
			}
			for _, cm := range c.comms {
				for _, h := range cm.hosts {
					for _, g := range cm.gpus {
						s.add(fmt.Sprintf(`nccl_collective_exec_time_microseconds{slurm_job_id="unknown",node="n%d",gpu="GPU%d",comm_name="unknown",n_nodes="%d",nranks="%d",collective="AllReduce",message_size="1-2MB",instance="n%d:9100",job="node"}`, h, g, cm.nnodes, cm.nranks, h), n,
							func(i int) (float64, bool) { return 6000 + float64(i), h != 1 || c.gone == 0 || i < c.gone })
					}
				}
			}
			got := map[int]string{}
			jobs := []string{}
			run(t, &s, n, func(i int, snap *signals.Snapshot) {
				if i < n-2 {
					return
				}
				f := snap.Frame(signals.CollExecTime)
				for k := range f.Len() {
					e := snap.Entities.Of(f.Entity[k])
					h := 0
					_, err := fmt.Sscanf(e.Host, "n%d", &h)
					require.NoError(t, err)
					got[h] = e.Job
				}
				jobs = jobs[:0]
				for _, j := range snap.Jobs {
					jobs = append(jobs, j.ID)
				}
			})
			for h, want := range c.want {
				require.Equal(t, want, got[h], "host %d of %v", h, got)
				require.Equal(t, want != "", slices.Contains(jobs, want), "jobs %v", jobs)
			}
		})
	}
}
