// Package ruletest runs promtool's unit-test files inside the process.
//
// It exists so that generated rules can be tested where no promtool is
// installed. The rules are evaluated by Prometheus' own rule engine on the
// embedded storage, the way promtool does it; only what the generated files use
// is supported: input series and alert tests. An [Evaluator] runs rules on any
// data, such as a simulated cluster.
package ruletest
