// Package testdata finds the recorded traces that tests and benchmarks read.
//
// It exists because those traces are too large for the repository: they lie in
// a folder beside it, and a test that needs them has to say so and skip itself
// where they are absent, instead of failing on a machine that never had them.
package testdata
