// Package diagnosis turns findings and topology into verdicts.
//
// It is the only place that blames. A family of fault classes is one file: it
// looks at the findings and proposes hypotheses; arbitration (which class leads,
// what is folded into what) is common. Naming nobody is allowed, naming the wrong
// one is not: what the series cannot tell apart is a tie set, and its size is
// always reported.
package diagnosis
