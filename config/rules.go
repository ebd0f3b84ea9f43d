package config

// Rules is the table [rules].
type Rules struct {
	// Server that will load the rules; it decides about allowed fields and functions.
	Profile string `toml:"profile" check:"oneof=prometheus-2|prometheus-3|thanos|mimir|victoriametrics"`
	// Form of the output: a rule file, or a PrometheusRule resource for the Prometheus operator.
	Format string `toml:"format" check:"oneof=yaml|crd"`
	// Folder to write to.
	Dir string `toml:"dir" check:"required"`
	// Evaluation interval of the groups.
	Interval Duration `toml:"interval" check:"positive"`
	// How far in the past the groups are evaluated, so that late samples are in. Servers of the profiles prometheus-3, mimir and victoriametrics
	// can do that; 0 leaves it to the server.
	QueryOffset Duration `toml:"query_offset" check:"nonneg"`
	// Labels added to every alert.
	Labels map[string]string `toml:"labels" check:"label"`
	// Labels that tell clusters apart where one server has several, such as cluster: hosts with one name in two clusters stay two, and
	// alerts carry the label. A source in which cluster has more than one value is treated so by itself.
	KeepLabels []string `toml:"keep_labels" check:"label"`
	// Classes without rules.
	DisabledClasses []string `toml:"disabled_classes" check:"class"`
	// Rules in one group, for servers that limit it. 0 is no limit.
	MaxPerGroup int `toml:"max_per_group" check:"nonneg"`
	// Write rules only for signals that the source has.
	OnlyCovered bool `toml:"only_covered"`
	// Namespace of the PrometheusRule resource.
	Namespace string `toml:"namespace"`
	// Labels of the PrometheusRule resource, by which an operator selects it.
	ResourceLabels map[string]string `toml:"resource_labels"`
}

func (r *Rules) setDefaults() {
	*r = Rules{
		Profile:     "prometheus-2",
		Format:      "yaml",
		Dir:         "rules",
		Interval:    30 * second,
		OnlyCovered: true,
	}
}
