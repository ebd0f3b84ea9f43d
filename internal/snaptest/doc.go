// Package snaptest builds snapshots of small clusters for tests.
//
// It exists because detectors and diagnosis are judged on whole clusters over
// time, and a test should say only what differs from health: "this port's rate
// is a quarter from now on". A [Cluster] holds a healthy level for every signal
// of every entity of a [Shape]; tests set levels, add single events and remove
// entities between ticks. It models no physics: consequences are set by the test.
package snaptest
