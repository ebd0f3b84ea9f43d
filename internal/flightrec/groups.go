package flightrec

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// maxRanks bounds the members of a group, and those of all groups of a dump
// that are kept.
const maxRanks = 1 << 20

// readGroups joins pg_config, which is keyed by name, with pg_status, which is
// keyed by a local number. Entries are the only link between the two. Where a
// group has no entry, both number the groups of a rank in the order of their
// creation, so the n-th number belongs to the n-th name.
func readGroups(root map[string]any, entries []Entry) []Group {
	config, _ := root["pg_config"].(map[string]any)
	status, _ := root["pg_status"].(map[string]any)
	names := byNumber(config)
	ids := byNumber(status)
	nameOf := map[string]string{}
	if len(names) == len(ids) {
		for i, id := range ids {
			nameOf[id] = names[i]
		}
	}
	descs := map[string]string{}
	for _, e := range entries {
		if e.Group != "" && e.GroupID >= 0 {
			nameOf[strconv.Itoa(e.GroupID)] = e.Group
			descs[e.Group] = e.Desc
		}
	}
	idOf := map[string]string{}
	for id, name := range nameOf {
		idOf[name] = id
	}
	for name := range descs {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var out []Group
	members := 0
	for _, name := range names {
		g := Group{ID: -1, Name: name, Desc: descs[name], Enqueued: -1, Started: -1, Completed: -1}
		if c, ok := config[name].(map[string]any); ok {
			if members < maxRanks {
				g.Ranks = readRanks(c["ranks"])
			}
			members += len(g.Ranks)
			if s := str(c["desc"]); s != "" {
				g.Desc = s
			}
		}
		if s, ok := status[idOf[name]].(map[string]any); ok {
			g.ID = int(wholeOr(idOf[name], -1))
			g.Enqueued = wholeOr(s["last_enqueued_collective"], -1)
			g.Started = wholeOr(s["last_started_collective"], -1)
			g.Completed = wholeOr(s["last_completed_collective"], -1)
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Group) int { return compareNumbers(a.Name, b.Name) })
	return out
}

// byNumber lists keys in the order of the numbers they are.
func byNumber(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, compareNumbers)
	return out
}

func compareNumbers(a, b string) int {
	x, xerr := strconv.ParseInt(a, 10, 64)
	y, yerr := strconv.ParseInt(b, 10, 64)
	if xerr == nil && yerr == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

// readRanks reads a list of ranks, which dumps write as text.
func readRanks(v any) []int {
	list := items(v)
	if s, ok := v.(string); ok {
		var numbers []json.Number
		if json.Unmarshal([]byte(s), &numbers) != nil || len(numbers) > maxRanks {
			return nil
		}
		for _, n := range numbers {
			list = append(list, n)
		}
	}
	var out []int
	for _, item := range list {
		if n, ok := whole(item); ok && n >= 0 && n < maxRanks {
			out = append(out, int(n))
		}
	}
	return out
}
