// Package engine walks the line of one tick from left to right: query, signals,
// detectors, diagnosis, incidents.
//
// It exists so that a live tick and a replayed tick are the same code with
// another clock and another querier; that is why a replay can be trusted.
package engine
