package rules

import "fmt"

// Profile is what one kind of server accepts. It is data: another server is
// another row.
type Profile struct {
	Name string
	// Note tells a reader which servers it is for.
	Note string
	// QueryOffset and GroupLabels say that groups may have these fields. They
	// came with Prometheus 2.53 and 3.0; older servers refuse the whole file.
	QueryOffset, GroupLabels bool
	// Fields are further fields that groups may have in people's own files.
	Fields []string
	// PartialResponse is the strategy that the groups carry, "" for none. Rules
	// must abort on a partial answer, or a missing store would look healthy.
	PartialResponse string
	// MaxPerGroup is the usual limit of rules in a group, 0 for none.
	MaxPerGroup int
	// MetricsQL says that the expressions are evaluated by VictoriaMetrics.
	MetricsQL bool
}

// Profiles lists the targets, the default first.
func Profiles() []Profile {
	return []Profile{
		{Name: "prometheus-2", Note: "Prometheus 2.42 and later: the oldest still in use (Debian 12)"},
		{Name: "prometheus-3", Note: "Prometheus 3", QueryOffset: true, GroupLabels: true},
		{Name: "thanos", Note: "Thanos ruler", PartialResponse: "abort", Fields: []string{"partial_response_strategy"}},
		// 20 rules in a group is the default of Grafana Mimir
		// (ruler_max_rules_per_rule_group).
		{
			Name: "mimir", Note: "Grafana Mimir's ruler, by mimirtool", QueryOffset: true, MaxPerGroup: 20,
			Fields: []string{"source_tenants", "align_evaluation_time_on_interval", "evaluation_delay", "remote_write"},
		},
		{
			Name: "victoriametrics", Note: "vmalert", GroupLabels: true, MetricsQL: true,
			Fields: []string{"eval_offset", "eval_delay", "eval_alignment", "concurrency", "type", "params", "headers", "notifier_headers", "debug", "tenant"},
		},
	}
}

// FindProfile finds a target by name.
func FindProfile(name string) (Profile, error) {
	var names []string
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("target %q does not exist%s; there are %s", name, suggest(name, names), list(names))
}

// OffsetField is the group's field by which a server evaluates in the past, ""
// if it has none.
func (p Profile) OffsetField() string {
	switch {
	case p.QueryOffset:
		return "query_offset"
	case p.MetricsQL:
		return "eval_delay"
	}
	return ""
}

// groupFields are the fields that a group may have on a target, or on any.
func groupFields(target string) []string {
	out := []string{"name", "interval", "limit", "rules"}
	for _, p := range Profiles() {
		if target != "" && p.Name != target {
			continue
		}
		if p.QueryOffset {
			out = append(out, "query_offset")
		}
		if p.GroupLabels {
			out = append(out, "labels")
		}
		out = append(out, p.Fields...)
	}
	return out
}

// ruleFields are the fields that a rule may have.
func ruleFields(target string) []string {
	out := []string{"alert", "record", "expr", "for", "keep_firing_for", "labels", "annotations"}
	if target == "" || target == "victoriametrics" {
		out = append(out, "debug", "update_entries_limit")
	}
	return out
}
