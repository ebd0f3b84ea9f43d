// Package report makes one page about one job: how its communication was over
// time, what cost most, who came late when, which incidents there were, and what
// to change first.
//
// It exists for the person who is asked "why is this job slow?" after the fact.
// The page is self-contained and has no scripts, so that it can be mailed,
// attached to a ticket or kept as an artifact of a pipeline. It names a component
// only where an incident did: a heat map shows who was late, and leaves blame to
// the diagnosis.
package report
