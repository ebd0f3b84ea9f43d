//go:build long

package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/realserver"
	"github.com/collwatch/collwatch/sim"
)

// TestLongUnitTests runs the unit tests for every set of exporters.
func TestLongUnitTests(t *testing.T) {
	for name, metrics := range installations() {
		t.Run(name, func(t *testing.T) { runUnitTests(t, metrics) })
	}
}

// TestLongRealPromtoolTests runs those of every class, with the rules of all
// exporters, under both promtools.
func TestLongRealPromtoolTests(t *testing.T) {
	for version, promtool := range promtools(t) {
		t.Run(version, func(t *testing.T) { runPromtool(t, promtool, nil) })
	}
}

// TestLongRulesAgreeWithTheDaemon runs every scenario with one fault or none.
func TestLongRulesAgreeWithTheDaemon(t *testing.T) {
	var ids []string
	for _, s := range sim.Scenarios() {
		if s.ID[0] == 'S' || s.ID[0] == 'N' {
			ids = append(ids, s.ID)
		}
	}
	agree(t, ids...)
}

// TestLongRealThanos lets Thanos check the output for its ruler, with the field
// that Prometheus does not know.
func TestLongRealThanos(t *testing.T) {
	thanos := realserver.Thanos(t)
	for form, files := range outputs(t, "thanos", nil) {
		args := []string{"tools", "rules-check"}
		for _, f := range files {
			args = append(args, "--rules="+f)
		}
		text, err := command(t, thanos, args...)
		require.NoError(t, err, "%s: %s", form, text)
		require.Equal(t, len(files), strings.Count(text, "result=SUCCESS"), text)
	}
}
