package config

// Signals is the table [signals].
type Signals struct {
	// How far back a live query reads; at least twice the longest scrape interval.
	Lookback Duration `toml:"lookback" check:"positive"`
	// Age after which a sample, or the file it came from, is stale.
	Staleness Duration `toml:"staleness" check:"positive"`
	// Matchers added to every query, such as 'cluster="a"'.
	Selector string `toml:"selector"`
	// Series above this number in one answer are refused and said aloud.
	MaxSeries int `toml:"max_series" check:"one"`
	// Time between two searches for dialects that newly appeared or vanished.
	CoverageInterval Duration `toml:"coverage_interval" check:"positive"`
	// GPUs that each host should report. 0 takes the number that most hosts report.
	GPUsPerHost int `toml:"gpus_per_host" check:"nonneg"`
	// Compute NIC ports that each host should report. 0 takes the number that most hosts report.
	NICsPerHost int `toml:"nics_per_host" check:"nonneg"`

	// Labels that hold the job's id, the first that is there wins.
	JobLabels []string `toml:"job_labels" check:"label"`
	// Labels that hold the host, the first that is there wins. Empty leaves it to the dialect.
	HostLabels []string `toml:"host_labels" check:"label"`
	// Cut the domain off host names.
	StripDomain bool `toml:"strip_domain"`
	// Other names of hosts: what an exporter says, and what the host is called.
	HostAliases map[string]string `toml:"host_aliases"`
	// Bounds of the size classes for messages, ascending. Empty takes those of the catalogue.
	SizeClasses []Size `toml:"size_classes"`

	// Dialects to use for a signal, in place of those that are found. An empty list switches the signal off.
	Dialects map[string][]string `toml:"dialects"`
	// Dialects not to use for any signal.
	DisabledDialects []string `toml:"disabled_dialects"`
	// Source to ask for a signal, in place of the first.
	Sources map[string]string `toml:"sources"`

	// The training loop's own step counter, if it exports one.
	Steps Steps `toml:"steps"`
	// Signals of your own, judged like the others.
	Custom []CustomSignal `toml:"custom"`
}

// Steps are the optional series of the training loop.
type Steps struct {
	// PromQL for the number of finished steps.
	Count string `toml:"count" check:"promql"`
	// PromQL for the time of a step in seconds.
	Time string `toml:"time" check:"promql"`
	// Label that holds the job's id.
	JobLabel string `toml:"job_label" check:"label"`
}

// CustomSignal is one [[signals.custom]].
type CustomSignal struct {
	// Name in messages and metrics: lower case, digits and underscores.
	Name string `toml:"name" check:"required,word" example:"nvme_latency"`
	// PromQL. For a counter write the counter itself, not its rate.
	Expr string `toml:"expr" check:"required,promql" example:"node_disk_read_time_seconds_total"`
	// Source to ask, in place of the first.
	Source string `toml:"source"`
	// Unit of the value.
	Unit string `toml:"unit" check:"oneof=none|seconds|bytes|bytes_per_second|ratio|watts|celsius|hertz|count"`
	// Number to multiply with to get that unit, such as 1e-6 for microseconds.
	Scale float64 `toml:"scale" check:"positive"`
	// Type of the value.
	Type string `toml:"type" check:"oneof=gauge|counter"`
	// Which way it moves when things get worse; context is shown as evidence and judged by nobody.
	Direction string `toml:"direction" check:"oneof=up|down|context"`
	// What one series is about.
	Entity string `toml:"entity" check:"oneof=host|gpu|nic|switch_port|job"`
	// Label that holds the host or switch. Empty tries those of host_labels.
	HostLabel string `toml:"host_label" check:"label"`
	// Label that holds the GPU's index or the NIC's name.
	DeviceLabel string `toml:"device_label" check:"label"`
	// Label that holds the port.
	PortLabel string `toml:"port_label" check:"label"`
	// Label that holds the job's id. Empty tries those of job_labels.
	JobLabel string `toml:"job_label" check:"label"`
}

func (s *Signals) setDefaults() {
	*s = Signals{
		Lookback:         90 * second,
		Staleness:        5 * minute,
		MaxSeries:        2_000_000,
		CoverageInterval: hour,
		StripDomain:      true,
		JobLabels:        []string{"job_id", "slurm_job_id", "slurm_job", "hpc_job", "jobid"},
	}
}

func (c *CustomSignal) setDefaults() {
	*c = CustomSignal{Unit: "none", Scale: 1, Type: "gauge", Direction: "up", Entity: "host"}
}
