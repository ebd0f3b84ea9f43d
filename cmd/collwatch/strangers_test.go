package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Hosts that only the topology or only series know are told: a plan with other
// names than the exporters' would be about nobody, and nobody would know.
func TestHostsThatOneSideKnowsAreTold(t *testing.T) {
	start := time.Now().Add(-4 * time.Minute).Truncate(time.Second)
	url := simulated(t, start, 8, 4*time.Minute)

	plan := func(name string, first, last int) (csv string) {
		for i := first; i <= last; i++ {
			csv += fmt.Sprintf(name+",rack-1\n", i)
		}
		return csv
	}
	for name, c := range map[string]struct {
		csv  string
		want []string
		code int
	}{
		"the same":            {plan("GPU-%03d.example.org", 1, 8), nil, exitOK},
		"others besides":      {plan("gpu-%03d", 1, 15), []string{"hosts of the topology without series: gpu-009, gpu-010, gpu-011, gpu-012, gpu-013 and 2 more"}, exitOK},
		"one is missing":      {plan("gpu-%03d", 1, 7), []string{"hosts with series and without a place in the topology: gpu-008"}, exitOK},
		"dumps of some hosts": {plan("gpu-%03d", 1, 2), nil, exitOK},
		"named otherwise": {plan("node%d", 1, 2), []string{
			"no host of the topology has series: it knows node1, node2, series are about gpu-001, gpu-002, gpu-003, gpu-004, gpu-005 and 3 more; is one of them named otherwise?",
		}, exitFindings},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plan.csv")
			require.NoError(t, os.WriteFile(file, []byte("host,rack\n"+c.csv), 0o600))
			var log strings.Builder
			d := idleDaemon(t, fmt.Sprintf("[[source]]\nurl = %q\n[[topology.file]]\nkind = \"csv\"\npath = %q\n", url, file), slog.NewTextHandler(&log, nil))

			var out, errs strings.Builder
			require.Equal(t, exitOK, run(t.Context(), []string{"topology", "--config", d.path}, &out, &errs), errs.String())
			var told []string
			for line := range strings.Lines(errs.String()) {
				told = append(told, strings.TrimSpace(strings.TrimPrefix(line, "collwatch: ")))
			}
			require.Equal(t, c.want, told)
			require.Equal(t, c.code, run(t.Context(), []string{"topology", "--check", "--config", d.path}, &out, &errs))

			// The daemon says it once.
			for i := range 2 {
				tick := d.current.Load().asm.engine.Tick(t.Context(), start.Add(3*time.Minute+time.Duration(i)*15*time.Second))
				require.NoError(t, tick.Err)
				d.current.Load().covered = time.Time{}
				d.afterTick(tick, 0)
			}
			for _, line := range c.want {
				require.Equal(t, 1, strings.Count(log.String(), line), log.String())
			}
			if len(c.want) == 0 {
				require.NotContains(t, log.String(), "of the topology")
				require.NotContains(t, log.String(), "in the topology")
			}
		})
	}
}
