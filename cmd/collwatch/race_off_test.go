//go:build !race

package main

// raceDetector says that the tests were built with the race detector.
const raceDetector = false
