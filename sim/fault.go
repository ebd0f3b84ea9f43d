package sim

// Fault is something that goes wrong between two instants. Its level rises from
// 0 to 1 over the ramp; Apply is called every second while the fault lasts and
// must set everything anew each time.
type Fault struct {
	Name             string
	Start, End, Ramp float64 // s from the beginning; End 0 is never
	// Apply acts at a level in (0, 1]; t is seconds since Start.
	Apply func(c *Cluster, level, t float64)
	// At are things that happen once, in the order of time.
	At []Action
}

// Action happens once, At seconds after the fault's start.
type Action struct {
	At float64
	Do func(c *Cluster)
}

// Inject adds a fault. Faults combine.
func (c *Cluster) Inject(f Fault) {
	for _, a := range f.At {
		c.at(c.start+int64((f.Start+a.At)*1000), orderFault, func() { a.Do(c) })
	}
	c.faults = append(c.faults, &f)
}

func (f *Fault) step(c *Cluster, t float64) {
	if f.Apply == nil || t < f.Start || f.End > 0 && t >= f.End {
		return
	}
	level := 1.0
	if f.Ramp > 0 {
		level = min(1, (t-f.Start+1)/f.Ramp)
	}
	f.Apply(c, level, t-f.Start)
}

// lerp is from at level 0 and to at level 1.
func lerp(from, to, level float64) float64 { return from + (to-from)*level }
