// Package rules writes PromQL rule files from what collwatch knows, and checks
// those of others.
//
// It exists because many sites want rules in the Prometheus they already run
// before they run another daemon, and because such rules must then mean the
// same as the daemon's diagnosis. Recording rules bring the dialects of the
// catalogue to one name and one unit; alerting rules are made for each class of
// fault that PromQL can express; a class that it cannot is listed with the
// reason, never approximated by something that names the wrong component.
//
// A class is one function in a file class_*.go. Nothing outside this package
// knows PromQL rules, and nothing inside it asks a server: the caller says which
// metrics exist.
package rules
