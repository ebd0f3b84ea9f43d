// Package compare judges a change: did communication get worse between one job
// or time range and another?
//
// It exists because the question is asked by pipelines, which take the answer
// literally. Two runs of one binary never show equal numbers; windows of one run
// depend on each other, so textbook intervals are several times too narrow; the
// time of a collective contains waiting, so it may rise although the network is
// well; and a job of another shape has no right to be compared at all.
//
// A [Collector] reads snapshots and makes a [Record], which is small enough to
// be kept in a repository as a baseline file. [Compare] judges two records and
// says regression, improvement, no difference or not comparable, with the
// reason. The text, Markdown, HTML, JUnit and JSON forms are of one [Result].
package compare
