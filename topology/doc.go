// Package topology knows who is connected with whom.
//
// It exists because blame needs a component, and components (a leaf, a rack, an
// NVLink domain) are seldom on the series that show their faults. It merges what
// several sources claim into one [Fabric] and keeps who claimed what, so that a
// disagreement is a result and not an accident. A nil *Fabric is valid and knows
// nothing: the diagnosis then says less.
package topology
