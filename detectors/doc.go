// Package detectors says what is unusual, and never who is guilty.
//
// It exists apart from diagnosis because in a collective all ranks slow down
// together and the late rank looks fastest: a single series can be unusual
// without its entity being at fault. One detector is one file. Each sees a
// [signals.Snapshot] and adds [Finding] values to a [Report]; each keeps its own
// state and freezes it where the diagnosis says that something is suspect.
package detectors
