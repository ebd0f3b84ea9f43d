//go:build race

package main

// raceDetector says that the tests were built with the race detector, which
// makes replays several times slower: they run without it.
const raceDetector = true
