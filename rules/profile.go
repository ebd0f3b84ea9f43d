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
		{Name: "thanos", Note: "Thanos ruler", PartialResponse: "abort"},
		// 20 rules in a group is the default of Grafana Mimir
		// (ruler_max_rules_per_rule_group).
		{Name: "mimir", Note: "Grafana Mimir's ruler, by mimirtool", QueryOffset: true, MaxPerGroup: 20},
		{Name: "victoriametrics", Note: "vmalert", MetricsQL: true},
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
