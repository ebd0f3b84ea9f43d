package config

// Incidents is the table [incidents].
type Incidents struct {
	// Evaluations in a row that must agree before an incident opens.
	Pending int `toml:"pending" check:"one"`
	// Evaluations in a row without it before an incident resolves.
	Resolve int `toml:"resolve" check:"one"`
	// How long an incident of a kind that comes back stays open after the last event.
	Latch Duration `toml:"latch" check:"nonneg"`
	// Returns of an incident after which it is latched whatever its class.
	Flaps int `toml:"flaps" check:"one"`
	// Time after a resolve in which the same fault reopens its incident instead of opening another.
	Reopen Duration `toml:"reopen" check:"nonneg"`
	// Time after a resolve in which nothing new is said about the same component unless it is worse.
	CoolDown Duration `toml:"cool_down" check:"nonneg"`
	// Time after which an incident whose own host or job cannot be judged ends as inconclusive.
	DataGone Duration `toml:"data_gone" check:"positive"`
	// Time of blindness after which it is an alert of its own: evaluations fail, a source is down, or the series of a whole family of detectors are gone.
	BlindAfter Duration `toml:"blind_after" check:"positive"`
	// How far back a component's incidents count as its history.
	History Duration `toml:"history" check:"positive"`
	// Ended incidents that are kept.
	HistorySize int `toml:"history_size" check:"one"`
	// Incidents of one component within history that raise the severity of the next.
	RepeatOffender int `toml:"repeat_offender" check:"one"`
	// Classes that are evaluated, recorded and shown, but not sent.
	ShadowClasses []string `toml:"shadow_classes" check:"class"`
	// Classes that are not evaluated.
	DisabledClasses []string `toml:"disabled_classes" check:"class"`
	// Address of the runbooks: {class} in it is replaced, or the class is added to its path. Ours are docs/runbooks/{class}.md.
	RunbookURL URL `toml:"runbook_url"`
	// Address of a dashboard; {job}, {host}, {from} and {to} in it are filled in.
	DashboardURL string `toml:"dashboard_url"`
	// What to do when very much goes wrong at once.
	Storm Storm `toml:"storm"`
	// Nodes that are out of service do not alert.
	Maintenance Maintenance `toml:"maintenance"`
	// Settings for single classes, by name.
	Classes map[string]ClassSettings `toml:"class" check:"class"`
}

// Storm is the table [incidents.storm].
type Storm struct {
	// New verdicts of one class at one evaluation, in one job or behind one switch, above which they fold into one incident.
	Fold int `toml:"fold" check:"one"`
	// Open incidents that are sent. The rest is counted in one summary, the gravest are kept.
	MaxOpen int `toml:"max_open" check:"one"`
}

// Maintenance is the table [incidents.maintenance].
type Maintenance struct {
	// File with one host or host/device a line; # starts a comment. It is read again after each change.
	File string `toml:"file"`
	// PromQL that gives one series for each host out of service; a value of 0 means in service.
	Expr string `toml:"expr" check:"promql"`
	// Label of that series that holds the host. Empty tries those of host_labels.
	HostLabel string `toml:"host_label" check:"label"`
	// States of the scheduler that mean out of service.
	States []string `toml:"states"`
}

// ClassSettings is one [incidents.class.NAME].
type ClassSettings struct {
	// In place of incidents.pending. 0 leaves it.
	Pending int `toml:"pending" check:"nonneg"`
	// In place of incidents.resolve. 0 leaves it.
	Resolve int `toml:"resolve" check:"nonneg"`
	// In place of incidents.latch. "0s" leaves it.
	Latch Duration `toml:"latch" check:"nonneg"`
	// Highest severity. Empty sets none.
	MaxSeverity string `toml:"max_severity" check:"oneof=|info|warning|critical"`
	// Send even what is only recorded by default, as information.
	Send bool `toml:"send"`
}

func (i *Incidents) setDefaults() {
	*i = Incidents{
		Pending:        2,
		Resolve:        5,
		Latch:          hour,
		Flaps:          3,
		Reopen:         15 * minute,
		CoolDown:       0,
		DataGone:       24 * hour,
		BlindAfter:     10 * minute,
		History:        7 * 24 * hour,
		HistorySize:    1000,
		RepeatOffender: 3,
		Storm:          Storm{Fold: 20, MaxOpen: 100},
		Maintenance: Maintenance{
			States: []string{"down", "drain", "drained", "draining", "fail", "maint", "maintenance", "reboot", "cordoned"},
		},
	}
}
