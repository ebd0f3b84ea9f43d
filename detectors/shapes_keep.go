package detectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// keptShape is what one job reached in one shape, in its saved form.
type keptShape struct {
	Pool    string    `json:"pool"`
	Op      string    `json:"op"`
	Size    string    `json:"size,omitempty"`
	Algo    string    `json:"algo,omitempty"`
	Ranks   int32     `json:"ranks"`
	Nodes   int32     `json:"nodes"`
	Job     string    `json:"job"`
	Version string    `json:"version,omitempty"`
	Kernels string    `json:"kernels,omitempty"`
	Hosts   []string  `json:"hosts,omitempty"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Windows []float64 `json:"windows"`
}

// Keep implements Keeper: the days of jobs that no hour of history shows.
func (d *shapes) Keep() (json.RawMessage, error) {
	var out []keptShape
	for k, jobs := range d.jobs {
		for _, j := range jobs {
			if len(j.ring) == 0 {
				continue
			}
			out = append(out, keptShape{
				k.pool, k.op, k.size, k.algo, k.ranks, k.nodes, j.job, j.version, j.kernels, j.hosts,
				unixMilli(j.first), unixMilli(j.last), j.ring,
			})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	slices.SortFunc(out, func(a, b keptShape) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Algo, b.Algo),
			cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Job, b.Job))
	})
	return json.Marshal(out)
}

// Recall implements Keeper. A job that still runs goes on where it was: its
// first windows are not counted as a start again.
func (d *shapes) Recall(raw json.RawMessage) error {
	var in []keptShape
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, s := range in {
		for _, x := range s.Windows {
			if !(x > 0) || math.IsInf(x, 1) {
				return fmt.Errorf("bandwidth of job %q is %v", s.Job, x)
			}
		}
		k := shapeKey{s.Pool, s.Op, s.Size, s.Algo, s.Ranks, s.Nodes}
		if d.jobs[k] == nil {
			d.jobs[k] = map[string]*shapeJob{}
		}
		if len(d.jobs[k]) >= shapeJobs {
			continue
		}
		ring := s.Windows[max(0, len(s.Windows)-shapeRing):]
		d.jobs[k][s.Job] = &shapeJob{
			job: s.Job, version: s.Version, kernels: s.Kernels, hosts: s.Hosts, first: s.First.UnixMilli(), last: s.Last.UnixMilli(),
			ring: slices.Clone(ring), seen: shapeSkip + len(ring),
		}
	}
	return nil
}
