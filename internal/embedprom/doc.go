// Package embedprom is a Prometheus engine inside the process.
//
// It exists so that replay, the demonstration and the tests ask the very
// engine that a live server would use: the storage and the PromQL of Prometheus
// itself, loaded from OpenMetrics text, from a data directory of a server or by
// a simulator, and seen by everybody else through promapi.Querier.
//
// It is the only package that links the storage and the engine of Prometheus,
// so that their weight stays visible in one place.
package embedprom
