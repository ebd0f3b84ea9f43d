package diagnosis

// builtin lists the families in the order in which they judge.
func builtin(o *Options) []Family {
	return timing()
}
