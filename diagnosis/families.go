package diagnosis

// builtin lists the families in the order in which they judge.
func builtin(o *Options) []Family {
	return append(facts(o), timing()...)
}

// facts lists the families about hard facts, counters and missing inputs.
func facts(o *Options) []Family {
	return []Family{
		restartFamily(o), newLinkFamily(o), nicFamily(o), newShareFamily(o), leafFamily(), roceFamily(), newThrottleFamily(), gpuFamily(),
		newNVLinkFamily(), pcieFamily(), hostPathFamily(), telemetryFamily(),
	}
}
