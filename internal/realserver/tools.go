package realserver

import "testing"

// Programs that check rule files. Those of Prometheus share nearly all packages
// with the server, so that they cost little more than a link. The VictoriaMetrics
// is one of the long-term releases.
var (
	promtoolProgram = Program{Package: "github.com/prometheus/prometheus/cmd/promtool", Version: "v0.316.0", Tags: "remove_all_sd"}
	vmalertProgram  = Program{Package: "github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert", Version: "v1.148.9"}
)

// Promtool returns the path of the promtool of Prometheus 3. The oldest that is
// supported comes from a package of the system.
func Promtool(t testing.TB) string { return Binary(t, promtoolProgram) }

// Vmalert returns the path of the rule evaluator of VictoriaMetrics.
func Vmalert(t testing.TB) string { return Binary(t, vmalertProgram) }

// Thanos returns the path of Thanos, whose tools check rules for its ruler. It
// is built for long tests only.
func Thanos(t testing.TB) string { return Binary(t, thanosProgram) }
