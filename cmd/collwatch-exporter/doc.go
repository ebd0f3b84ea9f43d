// Command collwatch-exporter serves what the NCCL profiler plugin saw on this node to Prometheus.
package main
