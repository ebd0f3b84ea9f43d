package signals

import (
	"regexp"
	"slices"
	"strings"
)

// near is the selector of a family: that of the user, without the targets that are
// far.
func (o *Options) near(family string) string {
	far := o.Far[family]
	if len(far) == 0 {
		return o.Selector
	}
	quoted := make([]string, len(far))
	for i, v := range far {
		quoted[i] = regexp.QuoteMeta(v)
	}
	text := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.Join(quoted, "|"))
	selector := instanceLabel + `!~"` + text + `"`
	if s := strings.Trim(strings.TrimSpace(o.Selector), "{}"); s != "" {
		selector = strings.TrimRight(strings.TrimSpace(s), ",") + "," + selector
	}
	return selector
}

// Place is a scrape target and the hosts that its series are about: one where an
// exporter runs on each host, all of them where one exporter, a collector or
// another Prometheus stands in front.
type Place struct {
	// Instance is the server's label of that name, "" for series without it.
	Instance string
	// Hosts are in alphabetical order. "" among them stands for series whose host
	// is not known.
	Hosts []string
}

// HostOf is what a host is called that a series calls raw.
func (r *Reader) HostOf(raw string) string { return r.ident.hostOf(raw) }

// Places lists, by family of queries, the targets of all series that were read so
// far.
func (r *Reader) Places() map[string][]Place {
	hosts := make([]string, len(r.boot))
	for h, i := range r.hostIdx {
		hosts[i] = h
	}
	type key struct{ family, instance string }
	seen := map[key]map[string]bool{}
	anywhere := map[string]map[string]bool{} // hosts of an instance in any family
	for _, s := range r.sources {
		for i := range s.state {
			st := &s.state[i]
			if st.rule < 0 {
				continue
			}
			c := &r.book.rules[st.rule]
			k := key{c.family, s.in.Get(refOf(i), instanceLabel)}
			if seen[k] == nil {
				seen[k] = map[string]bool{}
			}
			if anywhere[k.instance] == nil {
				anywhere[k.instance] = map[string]bool{}
			}
			switch {
			case c.Join == JoinUp: // its host is what the target's address says
			case st.slot >= 0 && r.entities.Of(r.slots[st.slot].entity).Host != "":
				seen[k][r.entities.Of(r.slots[st.slot].entity).Host] = true
			case st.host >= 0:
				seen[k][hosts[st.host]] = true
			case !c.Join.silent():
				seen[k][""] = true
			}
			for h := range seen[k] {
				anywhere[k.instance][h] = true
			}
		}
	}
	out := map[string][]Place{}
	for k, hs := range seen {
		if len(hs) == 0 {
			hs = anywhere[k.instance] // only relations here, such as "up": its other series tell
		}
		out[k.family] = append(out[k.family], Place{k.instance, sortedKeys(hs)})
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b Place) int { return strings.Compare(a.Instance, b.Instance) })
	}
	return out
}
