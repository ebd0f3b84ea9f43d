package config

// Source is one [[source]]: a server that answers PromQL.
type Source struct {
	// Name for metrics, messages and references. The default is the URL's host and port.
	Name string `toml:"name"`
	// Family of servers; it decides about parameters and about how errors are read, never about queries.
	Kind string `toml:"kind" check:"oneof=prometheus|thanos|mimir|victoriametrics"`
	// Address without /api/v1, with a path prefix if there is one.
	URL URL `toml:"url" check:"required" example:"http://localhost:9090"`
	// Longest time for one request. The interval is a limit too.
	Timeout Duration `toml:"timeout" check:"positive"`
	// Tenant. Mimir gets it as a header; of VictoriaMetrics' cluster version it is a part of the URL's path.
	Tenant string `toml:"tenant"`
	// Header for the tenant. Empty means X-Scope-OrgID for mimir and THANOS-TENANT for thanos.
	TenantHeader string `toml:"tenant_header"`
	// Labels by which replicas differ, for Thanos to deduplicate by. Empty leaves it to the server.
	ReplicaLabels []string `toml:"replica_labels"`
	// Parameters added to every request, such as extra_filters[] for VictoriaMetrics.
	Params map[string][]string `toml:"params"`
	// Limits that keep this daemon polite.
	Limits Limits `toml:"limits"`
	HTTPClient
}

func (s *Source) setDefaults() {
	*s = Source{Kind: "prometheus", Timeout: 15 * second}
	s.Limits = Limits{
		Concurrency:       4,
		RequestsPerSecond: 10,
		MaxBody:           256e6,
		MaxPoints:         10_000,
		Slice:             2 * hour,
		BreakAfter:        5,
		StatsEvery:        20,
	}
	s.HTTPClient.setDefaults()
}

// Limits bounds what one source is asked.
type Limits struct {
	// Requests at the same time.
	Concurrency int `toml:"concurrency" check:"one"`
	// Requests a second of the daemon. Commands about the past wait for each answer instead.
	RequestsPerSecond float64 `toml:"requests_per_second" check:"positive"`
	// Largest answer that is read.
	MaxBody Size `toml:"max_body" check:"positive"`
	// Points of one series in one answer. Servers refuse more than 11,000.
	MaxPoints int `toml:"max_points" check:"one"`
	// Longest range of one request; longer ranges are cut on multiples of it.
	Slice Duration `toml:"slice" check:"positive"`
	// Failures in a row after which only a probe is sent until it succeeds.
	BreakAfter int `toml:"break_after" check:"one"`
	// Every how many evaluations the server is asked what a query cost it. 0 is never.
	StatsEvery int `toml:"stats_every" check:"nonneg"`
}
