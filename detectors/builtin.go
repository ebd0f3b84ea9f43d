package detectors

// builtin lists the detectors in the order of their calls: facts first, then
// comparisons, then what builds on the findings of others.
func builtin(o Options) []Detector {
	w := newWindows(o)
	return append(facts(),
		w,
		newLateness(o, w),
		newStages(w),
		newTransfer(o, w),
		newProfile(w),
		newProgress(o),
	)
}
