package config

// Diagnosis is the table [diagnosis].
type Diagnosis struct {
	// Time without progress after which a stall with a suspect is reported.
	StallSuspect Duration `toml:"stall_suspect" check:"positive"`
	// Time without progress after which a stall is reported though all ranks look alike.
	StallUnknown Duration `toml:"stall_unknown" check:"positive"`
	// How long evidence of a checkpoint excuses a pause.
	CheckpointExcuse Duration `toml:"checkpoint_excuse" check:"nonneg"`
	// Longest pause that is excused because pauses like it came before.
	LearnedPause Duration `toml:"learned_pause" check:"nonneg"`
	// Time from a job's start without any collective after which it is reported.
	InitStall Duration `toml:"init_stall" check:"positive"`
	// Time after a host's boot in which its links may still come up.
	BootGrace Duration `toml:"boot_grace" check:"nonneg"`
	// Time within which all links of a switch return after it restarted.
	LeafRestart Duration `toml:"leaf_restart" check:"nonneg"`
	// Time in which link losses of one port are counted together.
	FlapWindow Duration `toml:"flap_window" check:"positive"`
	// Losses within flap_window that are critical.
	FlapCritical int `toml:"flap_critical" check:"one"`
	// Sum of down time within flap_window that is critical.
	FlapDown Duration `toml:"flap_down" check:"positive"`
	// Time of rising bit errors after which they are critical.
	BitErrorsCritical Duration `toml:"bit_errors_critical" check:"positive"`
	// Share of the peers' clock below which a GPU without clock reasons counts as throttled.
	ThrottleClock float64 `toml:"throttle_clock" check:"positive,ratio"`
	// Share of speed that a job must lose for throttling to be critical.
	ThrottleCritical float64 `toml:"throttle_critical" check:"ratio"`
	// Share of step time that an operation must cost before its efficiency is judged.
	InefficientShare float64 `toml:"inefficient_share" check:"ratio"`
	// Share of the attainable bandwidth below which an operation is inefficient.
	ExpectedShare float64 `toml:"expected_share" check:"ratio"`
	// Operations in a window below which efficiency is not judged.
	MinOperations int `toml:"min_operations" check:"one"`
	// Share of hosts under suspicion above which nobody is told to take hosts out of service.
	CordonShare float64 `toml:"cordon_share" check:"ratio"`
	// What an Xid code means, in place of the built-in table. Codes are keys, such as "79".
	Xid map[string]string `toml:"xid" check:"oneof=application|contained|memory|nvlink|fatal|self_describing|weak|ignore"`
}

func (d *Diagnosis) setDefaults() {
	*d = Diagnosis{
		StallSuspect:      180 * second,
		StallUnknown:      300 * second,
		CheckpointExcuse:  900 * second,
		LearnedPause:      900 * second,
		InitStall:         45 * minute,
		BootGrace:         30 * minute,
		LeafRestart:       5 * minute,
		FlapWindow:        10 * minute,
		FlapCritical:      3,
		FlapDown:          30 * second,
		BitErrorsCritical: 10 * minute,
		ThrottleClock:     0.8,
		ThrottleCritical:  0.25,
		InefficientShare:  0.2,
		ExpectedShare:     0.6,
		MinOperations:     20,
		CordonShare:       0.1,
	}
}
