package config

// Detectors is the table [detectors].
type Detectors struct {
	// Detectors not to run.
	Disabled []string `toml:"disabled"`
	// Smallest relative difference worth a finding, whatever the statistics say.
	MinEffect float64 `toml:"min_effect" check:"positive"`
	// Change against a series' own past: an exponentially weighted chart.
	EWMA EWMA `toml:"ewma"`
	// Slow change against a series' own past: a cumulative sum.
	Drift Drift `toml:"drift"`
	// Difference from peers in the same job and role.
	Peers Peers `toml:"peers"`
	// Who is late: the rank that waits least.
	Lateness Lateness `toml:"lateness"`
	// Whose transfers are slow.
	Transfer Transfer `toml:"transfer"`
	// Error and congestion counters against the fabric's.
	Counters Counters `toml:"counters"`
	// The baseline that does not move.
	Reference Reference `toml:"reference"`
}

// EWMA is the table [detectors.ewma].
type EWMA struct {
	// Weight of the newest value.
	Lambda float64 `toml:"lambda" check:"positive,ratio"`
	// Control limit in standard deviations of the chart.
	Limit float64 `toml:"limit" check:"positive"`
	// Correlation of neighbouring values assumed at start; the limit widens with it.
	Phi float64 `toml:"phi" check:"ratio"`
	// Estimate that correlation from the series as it goes on.
	PhiAdaptive bool `toml:"phi_adaptive"`
	// Standard deviations at which a value is clipped for learning the baseline.
	LearnClip float64 `toml:"learn_clip" check:"positive"`
	// Standard deviations at which a value is clipped for the chart.
	InputClip float64 `toml:"input_clip" check:"positive"`
	// Smallest scale, as a share of the level: constant series would be alarmed by nothing otherwise.
	ScaleFloor float64 `toml:"scale_floor" check:"positive,ratio"`
	// How much the scale may grow in an hour.
	ScaleGrowth float64 `toml:"scale_growth" check:"ratio"`
	// Values above the limit that make a finding, out of the last exceed_of.
	Exceed int `toml:"exceed" check:"one"`
	// See exceed.
	ExceedOf int `toml:"exceed_of" check:"one"`
	// Values before a new baseline is trusted.
	WarmUp int `toml:"warm_up" check:"one"`
	// How long a fault may last before the changed level is marked as accepted; the old baseline is kept.
	AcceptAfter Duration `toml:"accept_after" check:"positive"`
}

// Drift is the table [detectors.drift].
type Drift struct {
	// Relative shift worth finding.
	Shift float64 `toml:"shift" check:"positive,ratio"`
	// Decision limit, in standard deviations.
	Limit float64 `toml:"limit" check:"positive"`
}

// Peers is the table [detectors.peers].
type Peers struct {
	// Modified z-score that makes an outlier.
	Threshold float64 `toml:"threshold" check:"positive"`
	// Peers below which no median is trusted.
	MinPeers int `toml:"min_peers" check:"one"`
	// Independent windows in a row.
	Windows int `toml:"windows" check:"one"`
}

// Lateness is the table [detectors.lateness].
type Lateness struct {
	// Length of a window. Longer than the longest step and than two dumps of the profiler.
	Window Duration `toml:"window" check:"positive"`
	// Share of the group's median time below which a rank is late.
	Ratio float64 `toml:"ratio" check:"positive,ratio"`
	// Single dumps in a row below ratio.
	Dumps int `toml:"dumps" check:"one"`
	// Weaker share that counts over whole windows.
	SoftRatio float64 `toml:"soft_ratio" check:"positive,ratio"`
	// Overlapping windows in a row below soft_ratio.
	SoftWindows int `toml:"soft_windows" check:"one"`
	// Disjoint windows in a row below soft_ratio.
	DisjointWindows int `toml:"disjoint_windows" check:"one"`
	// Receive times above this multiple of the peers' mean that a rank itself waits, and the blame moves on.
	ReceiveRatio float64 `toml:"receive_ratio" check:"positive"`
	// Share of dumps that the most frequent late rank must reach; below it lateness rotates and nobody is named.
	RotatingShare float64 `toml:"rotating_share" check:"ratio"`
	// Share of the pipeline's median receive time below which a stage is late in all replicas.
	StageRatio float64 `toml:"stage_ratio" check:"positive,ratio"`
	// Windows before a host is named without a fact about one of its devices.
	HostWindows int `toml:"host_windows" check:"one"`
}

// Transfer is the table [detectors.transfer].
type Transfer struct {
	// Relative slow-down against a group's own past that is worth a finding.
	Effect float64 `toml:"effect" check:"positive"`
	// Relative slow-down against comparable groups that is worth a finding.
	PeerEffect float64 `toml:"peer_effect" check:"positive"`
	// Robust standard deviations from comparable groups that are worth a finding.
	PeerScore float64 `toml:"peer_score" check:"positive"`
}

// Counters is the table [detectors.counters].
type Counters struct {
	// How long an error counter must rise.
	Hold Duration `toml:"hold" check:"positive"`
	// Multiple of the fabric's median rate that is unusual.
	Factor float64 `toml:"factor" check:"positive"`
	// Errors a second below which nothing is said, whatever the fabric does.
	MinRate float64 `toml:"min_rate" check:"nonneg"`
}

// Reference is the table [detectors.reference].
type Reference struct {
	// Beginning of a job from which its reference is taken.
	Period Duration `toml:"period" check:"positive"`
	// First windows of a job that are left out of it.
	SkipWindows int `toml:"skip_windows" check:"nonneg"`
	// Days over which jobs of one shape are compared.
	Days int `toml:"days" check:"one"`
	// How long after its end a job of the same shape inherits the reference.
	Inherit Duration `toml:"inherit" check:"nonneg"`
}

func (d *Detectors) setDefaults() {
	*d = Detectors{
		MinEffect: 0.1,
		EWMA: EWMA{
			Lambda: 0.3, Limit: 5, Phi: 0.5, PhiAdaptive: true, LearnClip: 4, InputClip: 12,
			ScaleFloor: 0.01, ScaleGrowth: 0.05, Exceed: 2, ExceedOf: 3, WarmUp: 20, AcceptAfter: 24 * hour,
		},
		Drift: Drift{Shift: 0.05, Limit: 25},
		Peers: Peers{Threshold: 3.5, MinPeers: 5, Windows: 2},
		Lateness: Lateness{
			Window: minute, Ratio: 0.5, Dumps: 3, SoftRatio: 0.7, SoftWindows: 4, DisjointWindows: 3,
			ReceiveRatio: 1.2, RotatingShare: 0.2, StageRatio: 0.7, HostWindows: 6,
		},
		Transfer:  Transfer{Effect: 0.1, PeerEffect: 0.15, PeerScore: 5},
		Counters:  Counters{Hold: 3 * minute, Factor: 10, MinRate: 0.1},
		Reference: Reference{Period: 30 * minute, SkipWindows: 10, Days: 7, Inherit: 30 * minute},
	}
}
