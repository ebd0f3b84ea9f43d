package rules

import (
	"fmt"
	"slices"
)

// LintRule is a pattern that is known to be broken. Each of them was seen in
// public rule files, or follows from how a series behaves.
type LintRule struct {
	ID  string
	Why string

	find func(r *lintRule) string
}

// Lints lists the patterns, in the order of the documentation.
func Lints() []LintRule {
	return slices.Concat(gpuLints(), nicLints(), ncclLints(), queryLints(), fieldLints())
}

func say(what, format string) string {
	if what == "" {
		return ""
	}
	return fmt.Sprintf(format, what)
}
