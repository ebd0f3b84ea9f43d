package diagnosis

// timing lists the families about time: who is late, what stands still, what
// shares what.
func timing() []Family {
	return []Family{straggler(), stall(), contention(), efficiency()}
}
