package signals_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// process is one process as the Inspector shows it.
type process struct {
	job     string
	ordinal int // what CUDA calls its GPU
	gpu     int // what the driver calls it
	// It lives and writes its file every second scrape; what it leaves behind
	// is served until gone.
	from, to, gone int
	shadowed       bool // another process has the same label set
}

// TestOrdinals holds that an ordinal inside a process is never taken for the
// driver's index of another GPU.
func TestOrdinals(t *testing.T) {
	const n = 40
	cases := map[string]struct {
		processes []process
		dcgm      bool              // dcgm-exporter tells UUIDs
		hpc       map[int]string    // and jobs
		want      map[string]string // job and ordinal -> device at the end
	}{
		"all GPUs in order": {
			processes: half("a", 0, 8, 0), dcgm: true,
			want: map[string]string{"a 0": "GPU0", "a 7": "GPU7"},
		},
		"all GPUs, nothing tells UUIDs": {
			processes: half("a", 0, 8, 0),
			want:      map[string]string{"a 0": "GPU0", "a 7": "GPU7"},
		},
		"the upper half of a host": {
			processes: half("a", 0, 4, 4), dcgm: true,
			want: map[string]string{"a 0": "GPU4", "a 3": "GPU7"},
		},
		"two jobs on a host whose labels tell": {
			processes: append(half("a", 0, 4, 0), half("b", 0, 4, 4)...), dcgm: true,
			hpc:  map[int]string{0: "a", 1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "b", 7: "b"},
			want: map[string]string{"a 0": "GPU0", "a 3": "GPU3", "b 0": "GPU4", "b 3": "GPU7"},
		},
		"two jobs on a host and nothing tells": {
			processes: append(half("a", 0, 4, 0), half("b", 0, 4, 4)...), dcgm: true,
			want: map[string]string{"a 0": "CUDA0", "a 3": "CUDA3", "b 0": "CUDA0", "b 3": "CUDA3"},
		},
		"one after the other is no sharing": {
			processes: append(until(half("a", 0, 8, 0), 18, 21), from(half("b", 0, 8, 0), 21)...), dcgm: true,
			want: map[string]string{"b 0": "GPU0", "b 7": "GPU7"},
		},
		"a job on the other half ended and took its files along": {
			processes: append(half("a", 0, 4, 0), until(half("b", 4, 4, 4), n-5, n-5)...), dcgm: true,
			want: map[string]string{"a 0": "GPU0", "a 3": "GPU3"},
		},
		"what a killed job left on other GPUs": {
			processes: append(until(half("a", 0, 4, 0), 12, n), from(half("b", 0, 4, 4), 15)...), dcgm: true,
			want: map[string]string{"b 0": "GPU4", "b 3": "GPU7"},
		},
		"one GPU a process, all called the same": {
			processes: []process{{job: "a", gpu: 0, to: n, gone: n}, {job: "a", gpu: 3, to: n, gone: n, shadowed: true}, {job: "a", gpu: 5, to: n, gone: n, shadowed: true}}, dcgm: true,
			want: map[string]string{"a 0": "CUDA0"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			if c.dcgm {
				for g := range 8 {
					hpc := ""
					if c.hpc[g] != "" {
						hpc = `,hpc_job="` + c.hpc[g] + `"`
					}
					s.add(fmt.Sprintf(`DCGM_FI_DEV_POWER_USAGE{gpu="%d",UUID="%s",Hostname="gpu-014"%s,instance="gpu-014:9400",job="dcgm"}`, g, uuid(g), hpc), n, always(600))
				}
			}
			for _, p := range c.processes {
				p.write(&s, n)
			}
			got := map[string]string{}
			run(t, &s, n, func(i int, snap *signals.Snapshot) {
				if i < n-3 {
					return
				}
				f := snap.Frame(signals.CollExecTime)
				for k := range f.Len() {
					e := snap.Entities.Of(f.Entity[k])
					got[fmt.Sprintf("%s %d", e.Job, int(math.Round(f.Value[k]*1e6))%10)] = e.Device
				}
			})
			for k, want := range c.want {
				require.Equal(t, want, got[k], "%s of %v", k, got)
			}
		})
	}
}

func uuid(g int) string { return fmt.Sprintf("GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b0%d", g) }

func half(job string, ordinal, n, gpu int) []process {
	var out []process
	for i := range n {
		out = append(out, process{job: job, ordinal: ordinal + i, gpu: gpu + i, to: 1 << 20, gone: 1 << 20})
	}
	return out
}

func until(ps []process, to, gone int) []process {
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].to, ps[i].gone = to, gone
	}
	return ps
}

func from(ps []process, from int) []process {
	ps = slices.Clone(ps)
	for i := range ps {
		ps[i].from = from
	}
	return ps
}

// write adds the file's mtime and, unless another process shadows them, its
// series. The last digit of the value is the ordinal.
func (p process) write(s *scrapes, n int) {
	at := func(i int) int { return min(i, p.to) / 2 }
	there := func(i int) bool { return i >= p.from && i < p.gone }
	s.add(fmt.Sprintf(`node_textfile_mtime_seconds{file="/t/nccl_inspector_metrics_%s.prom",%s}`, uuid(p.gpu), node14), n,
		func(i int) (float64, bool) { return t0 - 2 + 30*float64(at(i)), there(i) })
	if p.shadowed { // the textfile collector drops the duplicate
		return
	}
	s.add(fmt.Sprintf(`nccl_collective_exec_time_microseconds{slurm_job_id="%s",node="gpu-014",gpu="GPU%d",comm_name="unknown",n_nodes="1",nranks="8",collective="AllReduce",message_size="1-2MB",%s}`, p.job, p.ordinal, node14), n,
		func(i int) (float64, bool) { return 6000 + 10*float64(at(i)) + float64(p.ordinal), there(i) })
}
