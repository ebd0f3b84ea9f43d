package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/engine"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology"
	"github.com/collwatch/collwatch/web"
)

// attacks are what somebody who may name a pod, a host or a job could try.
var attacks = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</title></svg><script>alert(1)</script>`,
	`javascript:alert(1)`, "`${alert(1)}`", "{{.Settings}}", "a\x00b\u202egnp.exe", strings.Repeat("long", 30), `\"]});alert(1)//`,
}

// poisoned puts a text wherever text comes from outside.
func poisoned(x string) *rig {
	r := newRig()
	inc := open()
	v := &inc.Verdict
	v.Reason, v.Job, v.Scope, v.Next, v.Command = x, x, x, x, x
	v.Suspects[0] = diagnosis.Suspect{Kind: x, Node: x, Device: x, Switch: x, Port: x}
	for i := range v.Evidence {
		v.Evidence[i].Text, v.Evidence[i].Entity.Host, v.Evidence[i].Entity.Device, v.Evidence[i].Entity.Detail = x, x, x, x
	}
	inc.Jobs, inc.Reasons, inc.Consequences, inc.Supersedes = []string{x}, []string{x}, []string{x}, []string{x}
	inc.Held, inc.WithheldText, inc.Withheld, inc.RecoveryText, inc.AdviceWithheld, inc.Cleared = x, x, incidents.Withheld(x), x, x, x
	inc.SupersededBy = x
	inc.Labels = map[string]string{"alertname": x, "suspect_node": x}
	inc.Deliveries = map[string]json.RawMessage{x: json.RawMessage(`{}`)}
	r.inc.live = []incidents.Incident{inc}
	r.suppress, r.config, r.set.Title = x, x, x
	r.ticks[0].Err = errors.New(x)
	s := r.state
	s.Blind = []string{x}
	s.Fabric = topology.Build(topology.Facts{Ports: []topology.Port{{Host: x, Device: x, Leaf: x, Compute: true}}, Affinity: []topology.Affinity{{Host: x, GPU: x, NIC: x}}})
	s.Jobs = []web.Job{{
		ID: x, Name: x, User: x, Partition: x, Hosts: []string{x}, Known: true, Phase: x, Clocks: []detectors.Clock{{Name: x}},
		Members: []web.StateCount{{State: x}}, Odd: []web.Member{{Host: x, Device: x, State: x}}, Operations: []web.Operation{{Name: x}},
	}}
	s.Coverage = &signals.Coverage{
		Signals: []signals.SignalCoverage{{Signal: x, Dialect: x, Repairs: map[string]int{x: 1}, Unused: map[string]uint64{x: 1}}, {Signal: x, Enable: []string{x}}},
		Classes: []signals.ClassCoverage{{Class: x, Level: signals.Level(x), Missing: [][]string{{x}}, Enable: []string{x}, Beside: x}},
		Short:   []signals.Shortage{{Host: x, What: x}}, Idle: []string{x}, Gaps: []string{x},
	}
	s.Queries = []signals.QueryStat{{Name: x, Source: x, Expr: x, Err: errors.New(x)}}
	return r
}

// shape lists the elements of a page with the names of their attributes, and
// the schemes of all addresses: what a browser would act on.
func shape(t *testing.T, body string) (out []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		line := n.Data
		for _, a := range n.Attr {
			line += " " + a.Key
			if scheme, _, ok := strings.Cut(a.Val, ":"); ok && !strings.HasPrefix(a.Val, "/") && (a.Key == "href" || a.Key == "src") {
				line += "(" + scheme + ")"
			}
		}
		out = append(out, line)
	}
	return out
}

// Whatever the labels say, the page has the same elements: text stays text.
func TestHostileLabels(t *testing.T) {
	for _, path := range []string{"/", "/incidents/01J0OPEN", "/jobs", "/coverage", "/evaluations", "/config"} {
		t.Run(path, func(t *testing.T) {
			harmless := shape(t, poisoned("harmless").get(t, path).Body.String())
			for _, x := range attacks {
				rec := poisoned(x).get(t, path)
				require.Equal(t, http.StatusOK, rec.Code, "%q: %s", x, rec.Body)
				require.Equal(t, harmless, shape(t, rec.Body.String()), "%q", x)
				require.NotContains(t, rec.Body.String(), "ZgotmplZ", "the template refused %q", x)
			}
		})
	}
}

func TestHostileLabelsInJSON(t *testing.T) {
	for _, x := range attacks {
		for _, path := range []string{"/api/v1/incidents", "/api/v1/incidents/01J0OPEN", "/api/v1/jobs", "/api/v1/coverage", "/api/v1/evaluations"} {
			rec := poisoned(x).get(t, path)
			require.Equal(t, http.StatusOK, rec.Code)
			require.True(t, json.Valid(rec.Body.Bytes()), "%s with %q", path, x)
			require.Equal(t, "nosniff", rec.Header().Get("X-Content-Type-Options"))
		}
	}
}

// A parameter of the address is text as well.
func TestHostileAddress(t *testing.T) {
	r := newRig()
	r.ticks = []engine.Tick{}
	want := shape(t, r.get(t, "/?job=harmless").Body.String())
	for _, q := range []string{"%3Cscript%3Ealert(1)%3C/script%3E", "%22%3E%3Cimg%20src=x%3E", "%00"} {
		require.Equal(t, want, shape(t, r.get(t, "/?job="+q+"&page=-1").Body.String()))
	}
}
