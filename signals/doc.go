// Package signals turns series of many exporters into canonical frames.
//
// It exists because no two clusters export the same names, labels and units:
// everything right of this package speaks of signals (a quantity with a base
// unit) and entities (what a sample is about) and never of metric names. What
// a series means in which dialect is data ([Dialect] tables), not code: a new
// exporter is a new table.
//
// A [Reader] fills one [Snapshot] a tick. What is missing is said in the
// snapshot, and never looks like zero or like health.
package signals
