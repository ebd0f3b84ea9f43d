// Package score measures what the daemon says against what is true.
//
// It exists because a claim about detection is worth nothing without a command
// that anybody can repeat: a simulated cluster writes into the embedded
// Prometheus, the unmodified line of query, signals, detectors, diagnosis and
// incidents reads it, and every event is compared with the known truth. Simple
// rules that people use today run beside it on the same samples.
//
// Judging is by events: a fault counts as found only when an alert with the
// right class opens, and every name, class and notification beyond the truth
// counts against the result. Seeds of the measurement are not those that
// anybody tuned on.
package score
