// Command run measures the daemon on simulated clusters and on recordings, and
// writes the result as docs/score.md.
//
// It is a command of its own and no test, since a measurement takes a night: it
// keeps what it has measured and goes on there when it is started again.
package main
