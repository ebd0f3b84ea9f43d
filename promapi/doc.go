// Package promapi is a polite client for Prometheus-compatible servers.
//
// It exists because a detector that runs for months must never be the reason
// why the store it reads from is slow, and must never take a half answer for
// a whole one. All other packages see servers only through [Querier]; whether
// a live server, an embedded engine or a test answers makes no difference to
// them.
//
// Answers are decoded into columns ([Result]) with label sets interned by
// [Interner], so that the steady state of a tick allocates nothing per series.
package promapi
