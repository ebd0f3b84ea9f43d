package sim

import (
	"slices"
	"time"
)

// Truth is what is really wrong in a run, and what a diagnosis may and must say
// about it. Class, reason, severity and kind words are those of the alerts.
type Truth struct {
	Scenario string
	// Class is what must be said, "" if nothing must.
	Class, Reason string
	// AlsoClass are classes that count as right too: coarser ones, or those that
	// the same evidence allows.
	AlsoClass []string
	// Severity is the least that must be reached, "" for any.
	Severity string
	// Suspects are the components at fault, empty if nobody may be named.
	Suspects []Component
	// Several suspects are guilty together; otherwise any one of them is right.
	Together bool
	// Job is the job harmed, "" for none.
	Job string
	// Onset and End bound the fault; a zero End is the end of the run.
	Onset, End time.Time
	// Within is the time to detection allowed; 0 is not judged.
	Within time.Duration
	// Allowed are other classes that may be said without being wrong.
	Allowed []string
	// MayName are nodes or devices that may be named besides the suspects.
	MayName []Component
	// MustNot are classes that may not be said by any means.
	MustNot []string
	// Ends says that the job ends with the fault.
	Ends bool
}

// Component is a node, device or switch.
type Component struct{ Kind, Node, Device, Switch string }

// Quiet says that no alert above info is right.
func (t *Truth) Quiet() bool { return t.Class == "" }

// Right says that a class is what the truth asks for.
func (t *Truth) Right(class string) bool {
	return class == t.Class && class != "" || slices.Contains(t.AlsoClass, class)
}

// MaySay says that a class is right or at least no mistake.
func (t *Truth) MaySay(class string) bool {
	return !slices.Contains(t.MustNot, class) && (t.Right(class) || slices.Contains(t.Allowed, class))
}

// MayBlame says that naming c is right or at least no mistake. A node without a
// device stands for all its devices, so a coarser name is right and a finer one
// is judged by its device.
func (t *Truth) MayBlame(c Component) bool {
	return slices.ContainsFunc(slices.Concat(t.Suspects, t.MayName), c.matches)
}

// Guilty says that naming c is right.
func (t *Truth) Guilty(c Component) bool { return slices.ContainsFunc(t.Suspects, c.matches) }

func (c Component) matches(o Component) bool {
	if c.Node == "" && c.Switch != "" {
		return c.Switch == o.Switch
	}
	if o.Node != c.Node {
		return false
	}
	return c.Device == "" || o.Device == "" || c.Device == o.Device
}
