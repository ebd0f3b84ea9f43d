package config

// Diagnosis is the table [diagnosis].
type Diagnosis struct {
	// Time without progress after which a stall is reported if a fact or a rank's counters tell why; half of it if both do.
	StallFact Duration `toml:"stall_fact" check:"positive"`
	// Time without progress after which a stall is reported if few members are in another state than the rest.
	StallMinority Duration `toml:"stall_minority" check:"positive"`
	// Time without progress after which a stall is reported though all ranks look alike.
	StallAlike Duration `toml:"stall_alike" check:"positive"`
	// Longest pause that is excused by signs of a checkpoint, or because pauses like it came before.
	PauseExcuse Duration `toml:"pause_excuse" check:"positive"`
	// Time for which a job has to communicate before a stop counts as a stall: starts are full of pauses.
	StartTime Duration `toml:"start_time" check:"positive"`
	// Time from a job's start without any collective after which it is reported.
	InitStall Duration `toml:"init_stall" check:"positive"`
	// Time after a host's boot in which its links may still come up.
	BootGrace Duration `toml:"boot_grace" check:"nonneg"`
	// Time within which all links of a switch return after it restarted.
	LeafRestart Duration `toml:"leaf_restart" check:"nonneg"`
	// Losses of a link within 10 minutes that are critical.
	FlapCritical int `toml:"flap_critical" check:"one"`
	// Sum of down time within 10 minutes that is critical.
	FlapDown Duration `toml:"flap_down" check:"positive"`
	// Time of rising bit errors after which they are critical.
	BitErrorsCritical Duration `toml:"bit_errors_critical" check:"positive"`
	// Share of the peers' clock below which a GPU without clock reasons counts as throttled.
	ThrottleClock float64 `toml:"throttle_clock" check:"positive,ratio"`
	// Share of speed that a job must lose for throttling to be critical.
	ThrottleCritical float64 `toml:"throttle_critical" check:"positive,ratio"`
	// Share of hosts under suspicion above which nobody is told to take hosts out of service.
	CordonShare float64 `toml:"cordon_share" check:"positive,ratio"`
	// What an Xid code means, in place of the built-in table. Codes are keys, such as "79".
	Xid map[string]string `toml:"xid" check:"oneof=application|contained|memory|nvlink|fatal|self_describing|weak|ignore"`
}

func (d *Diagnosis) setDefaults() {
	*d = Diagnosis{
		StallFact:         60 * second,
		StallMinority:     120 * second,
		StallAlike:        180 * second,
		PauseExcuse:       900 * second,
		StartTime:         3 * minute,
		InitStall:         45 * minute,
		BootGrace:         30 * minute,
		LeafRestart:       5 * minute,
		FlapCritical:      3,
		FlapDown:          30 * second,
		BitErrorsCritical: 10 * minute,
		ThrottleClock:     0.8,
		ThrottleCritical:  0.25,
		CordonShare:       0.1,
	}
}
