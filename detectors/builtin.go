package detectors

// builtin lists the detectors in the order of their calls: facts first, then
// comparisons, then what builds on the findings of others.
func builtin(o Options) []Detector {
	w, s := newWindows(o), newShapes(o)
	return append(facts(o, s),
		w,
		newLateness(o, w),
		newStages(o, w),
		newTransfer(o, w),
		newProfile(o, w),
		newEfficiency(o, w, s),
		newProgress(o),
	)
}
