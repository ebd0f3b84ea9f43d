package signals

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// RankMap tells which rank of a job sits on which GPU and what it does there.
type RankMap struct {
	// Ranks by job; the job "" holds for every job without an entry.
	Jobs map[string][]RankPlace
}

// RankPlace is one rank.
type RankPlace struct {
	Rank         int32
	Host, Device string
	UUID         string
	// DP, Stage and TP are its coordinates, -1 where unknown.
	DP, Stage, TP int32
	// Groups are the communicators it belongs to by name, such as
	// "DP Group 0" under GroupData.
	Groups map[GroupKind]string
}

// maxRanks bounds a rank map; the largest public jobs have 131,072 ranks.
const maxRanks = 1 << 20

// ParseRankMap reads CSV with a header. Needed are the columns rank, node (or
// host) and gpu; known are job, dp, stage (or pp), tp, gpu_uuid, and
// dp_group, pp_group, tp_group, embedding_group with the names of
// communicators. Other columns are ignored. All mistakes are reported with
// their line.
func ParseRankMap(rd io.Reader) (*RankMap, error) {
	cr := csv.NewReader(rd)
	cr.TrimLeadingSpace, cr.FieldsPerRecord, cr.ReuseRecord, cr.Comment = true, -1, true, '#'
	head, err := cr.Read()
	if err != nil {
		return nil, fmt.Errorf("rank map: header: %w", err)
	}
	col := map[string]int{}
	for i, h := range head {
		h = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		if _, dup := col[h]; dup {
			return nil, fmt.Errorf("rank map: line 1: column %q twice", h)
		}
		col[h] = i
	}
	alias(col, "node", "host", "hostname")
	alias(col, "stage", "pp", "pp_rank")
	alias(col, "dp", "dp_rank")
	alias(col, "tp", "tp_rank")
	alias(col, "job", "job_id", "slurm_job_id")
	for _, need := range []string{"rank", "node", "gpu"} {
		if _, ok := col[need]; !ok {
			return nil, fmt.Errorf("rank map: line 1: no column %q", need)
		}
	}
	m := &RankMap{Jobs: map[string][]RankPlace{}}
	var errs []error
	for n := 0; ; n++ {
		rec, err := cr.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("rank map: %w", err)
		}
		line, _ := cr.FieldPos(0)
		if n >= maxRanks {
			return nil, fmt.Errorf("rank map: line %d: more than %d ranks", line, maxRanks)
		}
		p, job, err := parsePlace(rec, col)
		if err != nil && len(errs) < 20 {
			errs = append(errs, fmt.Errorf("rank map: line %d: %w", line, err))
		}
		m.Jobs[job] = append(m.Jobs[job], p)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

func alias(col map[string]int, name string, others ...string) {
	for _, o := range others {
		if i, ok := col[o]; ok {
			if _, have := col[name]; !have {
				col[name] = i
			}
		}
	}
}

func parsePlace(rec []string, col map[string]int) (RankPlace, string, error) {
	get := func(name string) string {
		if i, ok := col[name]; ok && i < len(rec) {
			return strings.TrimSpace(rec[i])
		}
		return ""
	}
	var errs []error
	num := func(name string, need bool) int32 {
		s := get(name)
		if s == "" && !need {
			return -1
		}
		v, err := strconv.ParseInt(s, 10, 32)
		if err != nil || v < 0 {
			errs = append(errs, fmt.Errorf("%s: %q is no number", name, s))
		}
		return int32(v)
	}
	p := RankPlace{
		Rank: num("rank", true), DP: num("dp", false), Stage: num("stage", false), TP: num("tp", false),
		Host: CanonicalHost(get("node")), Device: gpuDevice(get("gpu")), UUID: canonicalUUID(get("gpu_uuid")), Groups: map[GroupKind]string{},
	}
	if p.Host == "" || p.Device == "" {
		errs = append(errs, fmt.Errorf("rank %s has no node or no gpu", get("rank")))
	}
	for kind, name := range map[GroupKind]string{
		GroupData: "dp_group", GroupPipeline: "pp_group", GroupTensor: "tp_group", GroupEmbed: "embedding_group",
	} {
		if v := get(name); v != "" {
			p.Groups[kind] = clean(v)
		}
	}
	return p, clean(get("job")), errors.Join(errs...)
}

// of returns the ranks of a job.
func (m *RankMap) of(job string) []RankPlace {
	if m == nil {
		return nil
	}
	if p, ok := m.Jobs[job]; ok {
		return p
	}
	return m.Jobs[""]
}

// byRankMap splits by a rank map: by the communicator's name if the map has
// it, else by the coordinates that are equal inside a group of this kind.
func (t *groupTable) byRankMap(k commKey, c *comm, kind GroupKind) ([]part, bool) {
	places := t.ranks.of(k.job)
	if len(places) == 0 {
		return nil, false
	}
	at := map[Entity]*RankPlace{}
	for i := range places {
		at[Entity{Kind: KindGPU, Host: places[i].Host, Device: places[i].Device}] = &places[i]
	}
	kind = kindInMap(k.comm, places, kind)
	keys := map[string][]*RankPlace{}
	of := map[Entity]string{}
	for m := range c.members {
		p := at[m]
		if p == nil {
			return nil, false // the map is of another job
		}
		key, ok := coordinate(p, k.comm, kind)
		if !ok {
			return nil, false
		}
		of[m] = key
		keys[key] = append(keys[key], p)
	}
	var out []part
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		g := Group{Kind: kind, Derived: DerivedRankMap, Stage: common(keys[key], stageOf), Replica: common(keys[key], dpOf)}
		out = append(out, part{Group: g, suffix: key, has: func(e Entity) bool { return of[e] == key }})
	}
	if len(out) == 1 {
		out[0].suffix = ""
	}
	return out, true
}

// kindInMap prefers the kind under which the map lists the communicator.
func kindInMap(comm string, places []RankPlace, kind GroupKind) GroupKind {
	for i := range places {
		for gk, name := range places[i].Groups {
			if name == comm {
				return gk
			}
		}
	}
	return kind
}

func coordinate(p *RankPlace, comm string, kind GroupKind) (string, bool) {
	if name := p.Groups[kind]; name != "" && name == comm {
		return name, true
	}
	join := func(a, b int32) (string, bool) {
		return strconv.Itoa(int(a)) + "." + strconv.Itoa(int(max(b, 0))), a >= 0
	}
	switch kind {
	case GroupWorld:
		return "world", true
	case GroupData:
		return join(p.Stage, p.TP)
	case GroupPipeline, GroupEmbed:
		return join(p.DP, p.TP)
	case GroupTensor:
		return join(p.DP, p.Stage)
	}
	return "", false
}

func stageOf(p *RankPlace) int32 { return p.Stage }
func dpOf(p *RankPlace) int32    { return p.DP }

// common returns what all places share, plus one; 0 if they differ.
func common(ps []*RankPlace, f func(*RankPlace) int32) int32 {
	for _, p := range ps {
		if f(p) != f(ps[0]) {
			return 0
		}
	}
	return f(ps[0]) + 1
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
