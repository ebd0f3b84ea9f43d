// Package exporter serves what the NCCL profiler plugin saw to Prometheus.
//
// It exists as a process of its own because the moments that matter are those in which the training process cannot
// answer: it hangs, it is stopped, it was killed. The plugin leaves its counters and its operations in flight in a
// memory-mapped file; a scrape reads the files, computes ages against its own clock and answers. Everything in a file is
// foreign: another user's process may have written it, so every number is checked and every amount is bounded.
package exporter
