package config

// Signals is the table [signals].
type Signals struct {
	// Longest scrape interval of the targets. A query reads one evaluation interval, one scrape and some slack back.
	Scrape Duration `toml:"scrape" check:"positive"`
	// Period at which the NCCL Inspector writes its files.
	Dump Duration `toml:"dump" check:"positive"`
	// How far back a query reads after missed evaluations at most. Counters then show an average.
	MaxWindow Duration `toml:"max_window" check:"positive"`
	// Matchers added to every query, such as 'cluster="a"'.
	Selector string `toml:"selector"`
	// Series in one answer that are looked at. What is beyond makes the answer incomplete, and that is said.
	MaxSeries int `toml:"max_series" check:"one"`
	// GPUs that each host should report. 0 takes the number that most hosts report.
	GPUsPerHost int `toml:"gpus_per_host" check:"nonneg"`
	// Compute NIC ports that each host should report. 0 takes the number that most hosts report.
	NICsPerHost int `toml:"nics_per_host" check:"nonneg"`

	// Labels that hold the job's id, tried in this order before those of the catalogue.
	JobLabels []string `toml:"job_labels" check:"label"`
	// Labels that hold the host, tried in this order before those of the catalogue.
	HostLabels []string `toml:"host_labels" check:"label"`
	// Cut the domain off host names.
	StripDomain bool `toml:"strip_domain"`
	// Other names of hosts: what an exporter says, and what the host is called.
	HostAliases map[string]string `toml:"host_aliases"`

	// Dialects to use for a signal, in place of those that are found. An empty list switches the signal off.
	Dialects map[string][]string `toml:"dialects"`
	// Dialects not to use for any signal.
	DisabledDialects []string `toml:"disabled_dialects"`
	// Source to ask for a signal, in place of the first.
	Sources map[string]string `toml:"sources"`
	// How far back to read for a family of metrics, in place of what its targets' scrapes suggest.
	Windows map[string]Duration `toml:"windows"`

	// The training loop's own step counter, if it exports one.
	Steps Steps `toml:"steps"`
	// Signals of your own: compared with their past and their peers, and evidence of what is found.
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
	// PromQL, evaluated at each tick.
	Expr string `toml:"expr" check:"required,promql" example:"node_disk_read_time_seconds_total"`
	// Source to ask, in place of the first.
	Source string `toml:"source"`
	// Signal of the catalogue that it feeds, such as step_time; it is then judged as that. Empty makes it a signal of its own.
	Signal string `toml:"signal"`
	// Unit of the value.
	Unit string `toml:"unit" check:"oneof=none|seconds|bytes|bytes_per_second|ratio|watts|celsius|hertz|count"`
	// Number to multiply with to get that unit, such as 1e-6 for microseconds.
	Scale float64 `toml:"scale" check:"positive"`
	// Type of the value. For a counter its rate is judged.
	Type string `toml:"type" check:"oneof=gauge|counter"`
	// Which way it moves when things get worse; context is shown as evidence and judged by nobody.
	Direction string `toml:"direction" check:"oneof=up|down|context"`
	// What one series is about.
	Entity string `toml:"entity" check:"oneof=host|gpu|nic|switch_port|job|rank"`
	// Label that holds the host or switch.
	HostLabel string `toml:"host_label" check:"label"`
	// Label that holds the GPU's index or the NIC's name.
	DeviceLabel string `toml:"device_label" check:"label"`
	// Label that holds the switch's port.
	PortLabel string `toml:"port_label" check:"label"`
	// Label that holds the job's id.
	JobLabel string `toml:"job_label" check:"label"`
	// Label that holds the rank.
	RankLabel string `toml:"rank_label" check:"label"`
	// Label that tells several series of one entity apart.
	DetailLabel string `toml:"detail_label" check:"label"`
}

func (s *Signals) setDefaults() {
	*s = Signals{
		Scrape:    30 * second,
		Dump:      30 * second,
		MaxWindow: 10 * minute,
		MaxSeries: 2_000_000, StripDomain: true,
	}
}

func (c *CustomSignal) setDefaults() {
	*c = CustomSignal{Unit: "none", Scale: 1, Type: "gauge", Direction: "up", Entity: "host", HostLabel: "instance"}
}
