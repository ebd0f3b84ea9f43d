package detectors

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/collwatch/collwatch/signals"
)

// Keep implements Keeper: the profiles of jobs that ended.
func (d *profile) Keep() (json.RawMessage, error) {
	var out []keptProfile
	for shape, past := range d.past {
		k := keptProfile{Hosts: shape.hosts, GPUs: shape.gpus, Job: past.job, Ended: past.ended}
		for key, v := range past.lines {
			k.Lines = append(k.Lines, keptLine{key.signal.String(), key.op, key.size, key.algo, key.ranks, key.nodes, v})
		}
		slices.SortFunc(k.Lines, func(a, b keptLine) int {
			return cmp.Or(cmp.Compare(a.Signal, b.Signal), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Size, b.Size),
				cmp.Compare(a.Algo, b.Algo), cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Nodes, b.Nodes))
		})
		out = append(out, k)
	}
	if len(out) == 0 {
		return nil, nil
	}
	slices.SortFunc(out, func(a, b keptProfile) int {
		return cmp.Or(cmp.Compare(a.Hosts, b.Hosts), cmp.Compare(a.GPUs, b.GPUs))
	})
	return json.Marshal(out)
}

// Recall implements Keeper.
func (d *profile) Recall(raw json.RawMessage) error {
	var in []keptProfile
	if err := json.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, k := range in {
		past := pastProfile{job: k.Job, ended: k.Ended, lines: map[profileKey]float64{}}
		for _, l := range k.Lines {
			id, ok := signals.ParseID(l.Signal)
			if !ok {
				continue // a signal of another version
			}
			if !(l.Usual > 0) || math.IsInf(l.Usual, 1) {
				return fmt.Errorf("profile of job %q: %s is %v", k.Job, l.Signal, l.Usual)
			}
			past.lines[profileKey{id, l.Op, l.Size, l.Algo, l.Ranks, l.Nodes}] = l.Usual
		}
		d.past[profileShape{k.Hosts, k.GPUs}] = past
	}
	return nil
}
