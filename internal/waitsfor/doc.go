// Package waitsfor finds out, from what each rank has enqueued and finished in
// each communicator, who in a hung job waits for whom.
//
// It exists because a hang is a graph problem, not a statistics problem: nearly
// all ranks wait, and the one to look at is the one that others wait for and
// that waits for nobody. It is pure: flight-recorder dumps, per-rank counters
// and RAS answers are all turned into [Position] values.
package waitsfor
