package config

// Alertmanager is the table [alertmanager].
type Alertmanager struct {
	// Time between two posts of an alert that lasts.
	ResendDelay Duration `toml:"resend_delay" check:"positive"`
	// How long a resolve is repeated.
	ResolveRepeat Duration `toml:"resolve_repeat" check:"nonneg"`
	// Alerts in one request.
	BatchSize int `toml:"batch_size" check:"one"`
	// How long senders may drain their queues at the end.
	DrainTimeout Duration `toml:"drain_timeout" check:"positive"`
	// Time between two looks for silences, inhibition and mute times.
	PollInterval Duration `toml:"poll_interval" check:"positive"`
	// Time between a post and the look whether it is silenced.
	Settle Duration `toml:"settle" check:"nonneg"`
	// Time between two comparisons of what should be there with what is there.
	ReadbackInterval Duration `toml:"readback_interval" check:"positive"`
	// What other receivers do while no Alertmanager can say whether an alert is silenced.
	OnUnreachable string `toml:"on_unreachable" check:"oneof=notify|hold"`
	// Send an alert that always fires, for a dead man's switch.
	Heartbeat bool `toml:"heartbeat"`
	// Alertmanagers. Name every member of a cluster, never a load balancer before them.
	Targets []Target `toml:"target"`
}

// Target is one [[alertmanager.target]].
type Target struct {
	// Name for metrics and messages. The default is the URL's host and port.
	Name string `toml:"name"`
	// Address without /api/v2, with a path prefix if there is one.
	URL URL `toml:"url" check:"required" example:"http://localhost:9093"`
	// Longest time for one request.
	Timeout Duration `toml:"timeout" check:"positive"`
	// Send to every address that the host's name has.
	ResolveAll bool `toml:"resolve_all"`
	HTTPClient
}

func (a *Alertmanager) setDefaults() {
	*a = Alertmanager{
		ResendDelay:      minute,
		ResolveRepeat:    15 * minute,
		BatchSize:        64,
		DrainTimeout:     10 * second,
		PollInterval:     15 * second,
		Settle:           2 * second,
		ReadbackInterval: 3 * minute,
		OnUnreachable:    "notify",
		Heartbeat:        true,
	}
}

func (t *Target) setDefaults() {
	*t = Target{Timeout: 10 * second}
	t.HTTPClient.setDefaults()
	t.FollowRedirects = false
}
