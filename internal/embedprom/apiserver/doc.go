// Package apiserver serves the HTTP API of Prometheus from an embedded engine.
//
// It is the API code of the server itself, so that a client can be tested in
// the process against answers that are right by construction. It is a package
// of its own since that code brings scraping, rules and service discovery with
// it, which nothing but tests should link.
package apiserver
