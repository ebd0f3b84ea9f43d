// Package grafana makes the dashboards that lie beside it as JSON.
//
// It exists so that the dashboards cannot drift from the catalogue: their panels
// are made from the signals that the generated rules record and from the
// metrics that the daemon has, and a test runs every query of every panel. They
// read recorded series, so one dashboard serves all exporters.
package grafana
