package config

// Detectors is the table [detectors].
type Detectors struct {
	// Detectors not to run, by the names of their pages in docs/detectors.
	Disabled []string `toml:"disabled"`
	// Days after its end that a job is compared with others of its shape.
	Memory int `toml:"memory_days" check:"one"`
	// Who is late: the rank that waits least.
	Lateness Lateness `toml:"lateness"`
	// Whose transfers are slow.
	Transfer Transfer `toml:"transfer"`
	// Change of transfers against their own past: an exponentially weighted chart.
	EWMA EWMA `toml:"ewma"`
	// Error counters against the fabric's.
	Counters Counters `toml:"counters"`
	// Operations that cost a job much and were always slower than they could be.
	Efficiency Efficiency `toml:"efficiency"`
}

// Efficiency is the table [detectors.efficiency].
type Efficiency struct {
	// Share of a job's time that an operation must cost.
	Share float64 `toml:"share" check:"positive,ratio"`
	// Part of the bandwidth that links or other jobs of the shape allow below which it must be.
	Part float64 `toml:"part" check:"positive,ratio"`
}

// EWMA is the table [detectors.ewma].
type EWMA struct {
	// Weight of the newest value.
	Lambda float64 `toml:"lambda" check:"positive,ratio"`
	// Control limit in standard deviations of the chart.
	Limit float64 `toml:"limit" check:"positive"`
	// Least correlation of neighbouring values that is assumed; the limit widens with it, and with a higher one that is seen.
	Phi float64 `toml:"phi" check:"positive,ratio"`
	// Smallest scale, as a share of the level: without one, constant series alarm at nothing.
	ScaleFloor float64 `toml:"scale_floor" check:"positive,ratio"`
	// Values before a new baseline is trusted.
	Learn int `toml:"learn" check:"one"`
}

// Lateness is the table [detectors.lateness].
type Lateness struct {
	// Share of the group's median time below which a rank is late.
	Ratio float64 `toml:"ratio" check:"positive,ratio"`
	// Windows in a row below ratio, at least.
	Windows int `toml:"windows" check:"one"`
	// Weaker share that counts over twice as long windows.
	SoftRatio float64 `toml:"soft_ratio" check:"positive,ratio"`
	// Disjoint windows of twice the length in a row below soft_ratio, at least.
	SoftWindows int `toml:"soft_windows" check:"one"`
	// Waiting of its own, as a multiple of the peers', above which a late rank is a victim and the blame moves on.
	ReceiveRatio float64 `toml:"receive_ratio" check:"positive"`
	// Share of the next receive time below which a stage is late in all replicas.
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
	// Multiple of what is usual on the fabric and for the port that is unusual.
	Factor float64 `toml:"factor" check:"positive"`
}

func (d *Detectors) setDefaults() {
	*d = Detectors{
		Memory: 7,
		Lateness: Lateness{
			Ratio: 0.5, Windows: 3, SoftRatio: 0.7, SoftWindows: 4, ReceiveRatio: 1.2, StageRatio: 0.7, HostWindows: 6,
		},
		Transfer: Transfer{Effect: 0.1, PeerEffect: 0.15, PeerScore: 5},
		EWMA:     EWMA{Lambda: 0.3, Limit: 5, Phi: 0.5, ScaleFloor: 0.02, Learn: 20},
		Counters: Counters{Hold: 3 * minute, Factor: 10},

		Efficiency: Efficiency{Share: 0.2, Part: 0.6},
	}
}
