package diagnosis

import (
	"hash/fnv"
	"slices"
)

// Shard is the part of a cluster that one of several daemons speaks about. All
// of them see everything, because a cause may lie in another job than its
// harm; each verdict has exactly one daemon that tells it. The zero value is
// the whole.
type Shard struct {
	// Index is the number of this daemon, from 1 to Count.
	Index, Count int
}

// Owns says whether what is identified by key is this daemon's: a job, or the
// host or switch of what concerns none. The hash is stable over versions and
// machines, because daemons of different age have to agree.
func (s Shard) Owns(key string) bool {
	if s.Count <= 1 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	// The low bits of FNV are weak for short keys that differ in one digit.
	sum := h.Sum64()
	sum ^= sum >> 32
	return int(sum%uint64(s.Count)) == s.Index-1
}

// keep drops the verdicts of other daemons.
func (s Shard) keep(all []Verdict) []Verdict {
	if s.Count <= 1 {
		return all
	}
	return slices.DeleteFunc(all, func(v Verdict) bool { return !s.Owns(shardKey(&v)) })
}

// shardKey is what decides who tells a verdict.
func shardKey(v *Verdict) string {
	if v.Job != "" {
		return v.Job
	}
	for _, list := range [][]Suspect{v.Suspects, v.Candidates} {
		for _, s := range list {
			if s.Node != "" {
				return s.Node
			}
			if s.Switch != "" {
				return s.Switch
			}
		}
	}
	if len(v.Hosts) > 0 {
		return v.Hosts[0]
	}
	return string(v.Class) + "|" + v.Scope
}
