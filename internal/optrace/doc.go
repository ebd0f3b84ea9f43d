// Package optrace plays recorded training operations as snapshots, for tests.
//
// It exists because one recording is one sample: what holds for it must hold
// for any order of its steps, any phase of the dumps, any names of its hosts
// and any speed. A [Trace] holds the operations; [Trace.Play] recomputes the
// dumps of every GPU from them and yields the snapshots that a reader of the
// resulting series would see.
package optrace
