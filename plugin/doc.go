// Package plugin holds the NCCL profiler plugin, a C11 library that NCCL loads into a training process, and the harness
// that plays NCCL towards it. There is no Go code in it apart from the tests, which build both with the system's
// compilers and run every scenario under the sanitizers: the plugin lives in somebody else's process, so what it does
// with wrong input, foreign handles and full tables matters as much as what it counts.
package plugin
