package diagnosis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
)

// rig is a cluster with everything behind it, as the engine runs it.
type rig struct {
	*snaptest.Cluster
	bank  *detectors.Bank
	store *topology.Store
	diag  *diagnosis.Diagnoser
	last  *diagnosis.Result
	// told is every "class reason suspects" in the order of first telling.
	told []string
}

func newRig(c *snaptest.Cluster) *rig {
	return &rig{
		Cluster: c, bank: detectors.NewBank(detectors.Options{Interval: c.Interval}),
		store: topology.NewStore(topology.Options{}), diag: diagnosis.New(diagnosis.Options{Interval: c.Interval}),
	}
}

func (r *rig) run(d time.Duration) *rig {
	for range int(d / r.Interval) {
		s := r.Next()
		r.last = r.diag.Diagnose(s, r.bank.Observe(s), r.store.Update(s))
		r.bank.Freeze(r.last.Suspect)
		for i := range r.last.Verdicts {
			if line := describe(&r.last.Verdicts[i]); !slices.Contains(r.told, line) {
				r.told = append(r.told, line)
			}
		}
	}
	return r
}

// describe is "class reason severity confidence suspects".
func describe(v *diagnosis.Verdict) string {
	parts := []string{string(v.Class), v.Reason, v.Severity.String(), v.Confidence.String()}
	for _, s := range v.Suspects {
		name := s.Kind + ":" + s.Node
		if s.Node != "" && s.Device != "" {
			name += "/"
		}
		name += s.Device
		if s.Node == "" {
			name += s.Switch
			if s.Port != "" {
				name += "/" + s.Port
			}
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

// verdicts describes the newest result.
func (r *rig) verdicts() []string {
	var out []string
	for i := range r.last.Verdicts {
		out = append(out, describe(&r.last.Verdicts[i]))
	}
	return out
}

// scenario is one row of the tables: a healthy cluster for a while, then a
// fault, then what must be told at the end, and nothing else on the way that
// names another suspect.
type scenario struct {
	name  string
	shape func() snaptest.Shape
	setup func(r *rig)
	fault func(r *rig)
	after time.Duration
	// warm is the healthy time before, 20 min if zero.
	warm time.Duration
	want []string
	// also lists what may be told on the way besides what stands at the end.
	also []string
	// check looks at the verdict.
	check func(t *testing.T, v diagnosis.Verdict)
}

func (s scenario) run(t *testing.T) {
	t.Helper()
	shape := snaptest.R16
	if s.shape != nil {
		shape = s.shape
	}
	r := newRig(snaptest.New(shape(), 11))
	if s.setup != nil {
		s.setup(r)
	}
	if s.warm == 0 {
		s.warm = 20 * time.Minute
	}
	r.run(s.warm)
	require.Empty(t, r.told, "before the fault")
	s.fault(r)
	r.run(s.after)
	require.ElementsMatch(t, s.want, r.verdicts())
	allowed := append(slices.Clone(s.want), s.also...)
	for _, line := range r.told {
		require.Contains(t, allowed, line, "told on the way")
	}
	for i := range r.last.Verdicts {
		v := r.last.Verdicts[i]
		require.NotEmpty(t, v.Evidence, "a verdict without evidence")
		require.NotEmpty(t, v.Next)
		require.False(t, v.StartedAt.IsZero())
		require.Equal(t, len(v.Suspects) > 0, v.TieSet >= 1 && len(v.Candidates) == 0, "%s: %+v", v.Class, v)
		if s.check != nil {
			s.check(t, v)
		}
	}
}

// rail is true for communicators of one GPU index across hosts.
func rail(k string) func(*signals.Group) bool {
	return func(g *signals.Group) bool { return g.Comm == "dp"+k }
}

func runAll(t *testing.T, list []scenario) {
	t.Helper()
	for _, s := range list {
		t.Run(s.name, s.run)
	}
}
