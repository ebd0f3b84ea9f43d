package flightrec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/collwatch/collwatch/internal/waitsfor"
)

// job is all dumps, ready to be compared.
type job struct {
	dumps map[int]*Dump
	// groups by key, those of one member left out; keys by name and member.
	groups map[string]Group
	keys   map[member]string
	// same are the keys of groups of one name.
	same map[string][]string
	// mixed are names of groups in which some rank sends or receives.
	mixed     map[string]bool
	positions []waitsfor.Position
}

type member struct {
	group string // name
	rank  int
}

// join checks that the dumps are of one job, and compares them by group.
func join(dumps []*Dump) (*job, error) {
	j := &job{dumps: map[int]*Dump{}, groups: map[string]Group{}, keys: map[member]string{}, same: map[string][]string{}, mixed: map[string]bool{}}
	for _, d := range dumps {
		if d.Rank < 0 {
			return nil, errors.New("a dump has no rank: name the file after its rank, such as dump_3")
		}
		if j.dumps[d.Rank] != nil {
			return nil, fmt.Errorf("two dumps of rank %d: give the dumps of one hang only", d.Rank)
		}
		j.dumps[d.Rank] = d
		for i := range d.Entries {
			if d.Entries[i].P2P {
				j.mixed[d.Entries[i].Group] = true
			}
		}
	}
	for _, d := range dumps {
		for _, g := range d.Groups {
			if len(g.Ranks) < 2 {
				continue
			}
			key, err := j.key(g)
			if err != nil {
				return nil, fmt.Errorf("dump of rank %d: %w", d.Rank, err)
			}
			j.positions = append(j.positions, d.position(g, key, j.mixed[g.Name]))
		}
	}
	return j, nil
}

// key tells a group from all others of the job. The name alone does not: all
// parts of a split_group have one name, and PyTorch's own analysis adds the
// members as well (torch/distributed/flight_recorder/components/builder.py).
// What parts of one name never have is a member in common.
func (j *job) key(g Group) (string, error) {
	for _, key := range j.same[g.Name] {
		if sameRanks(j.groups[key].Ranks, g.Ranks) {
			return key, nil
		}
	}
	key := g.Name + "\x00" + strconv.Itoa(len(j.same[g.Name]))
	for _, rank := range g.Ranks {
		m := member{g.Name, rank}
		if other, ok := j.keys[m]; ok && other != key {
			return "", fmt.Errorf("group %s has other members than in another dump: the dumps are not all of one job", g.Name)
		}
		j.keys[m] = key
	}
	j.groups[key], j.same[g.Name] = g, append(j.same[g.Name], key)
	return key, nil
}

func sameRanks(a, b []int) bool {
	if len(a) != len(b) || slices.Equal(a, b) {
		return len(a) == len(b)
	}
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
