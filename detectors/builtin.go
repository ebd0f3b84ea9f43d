package detectors

// builtin lists the detectors in the order of their calls: facts first, then
// comparisons, then what builds on the findings of others.
func builtin(o Options) []Detector {
	w := newWindows(o)
	return append(facts(o),
		w,
		newLateness(o, w),
		newStages(o, w),
		newTransfer(o, w),
		newProfile(o, w),
		newProgress(o),
	)
}
