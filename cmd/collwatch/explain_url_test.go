package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
)

// told is what a daemon answers; one incident is over, and a hostile label tries
// to steer the terminal.
const told = `{"incidents":[
 {"id":"01A","state":"open","class":"nic_degraded","reason":"rate_downtrained","severity":"critical","confidence":"high","held":"no data",
  "suspects":[{"kind":"nic","node":"gpu-007","device":"mlx5_3"}],"tie_set":1,"started_at":"2026-01-01T00:30:00Z",
  "annotations":{"summary":"NIC degraded: \u001b[2Jgpu-007/mlx5_3","evidence":"- one\n- two","silence":"amtool silence add"}},
 {"id":"01B","state":"resolved","class":"collective_stall","reason":"all_alike","severity":"critical","confidence":"low",
  "suspects":[],"tie_set":16,"started_at":"2026-01-01T00:10:00Z","resolved_at":"2026-01-01T00:20:00Z","resolve_reason":"recovered","recovery":"moves again",
  "annotations":{"summary":"Collective stalled"}}]}`

func explainOver(t *testing.T, url string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"explain", "--url", url}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestExplainOverHTTP(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/prefix/api/v1/incidents", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, told) })
	mux.HandleFunc("/login/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
	server := httptest.NewServer(mux)
	defer server.Close()

	code, out, _ := explainOver(t, server.URL+"/prefix/")
	require.Equal(t, exitOK, code)
	require.Equal(t, "01A  open     critical NIC degraded: [2Jgpu-007/mlx5_3\n", out, "what is over is not listed")

	code, out, _ = explainOver(t, server.URL+"/prefix", "01a")
	require.Equal(t, exitOK, code)
	require.Equal(t, `incident    01A
            NIC degraded: [2Jgpu-007/mlx5_3
state       open, not judged now: no data
class       nic_degraded, reason rate_downtrained
severity    critical, confidence high
suspect     nic gpu-007/mlx5_3
since       2026-01-01T00:30:00Z
evidence    - one
            - two
silence     amtool silence add
`, out)

	_, out, _ = explainOver(t, server.URL+"/prefix", "01B")
	require.Contains(t, out, "suspect     nobody can be named (16 candidates)\n")
	require.Contains(t, out, "resolved    2026-01-01T00:20:00Z, recovered moves again\n")

	for name, tc := range map[string]struct {
		path string
		args []string
		code int
		want string
	}{
		"not unique":    {"/prefix", []string{"01"}, exitFailure, "more than one id"},
		"no such id":    {"/prefix", []string{"ZZ"}, exitFailure, `no incident "ZZ"`},
		"other server":  {"/nothing", nil, exitFailure, "404 Not Found: is it a collwatch daemon?"},
		"a login page":  {"/login", nil, exitFailure, "are no incidents"},
		"not reachable": {"", nil, exitFailure, "connect"},
	} {
		t.Run(name, func(t *testing.T) {
			url := server.URL + tc.path
			if tc.path == "" {
				url = "http://127.0.0.1:1"
			}
			code, out, errs := explainOver(t, url, tc.args...)
			require.Equal(t, tc.code, code)
			require.Empty(t, out)
			require.Contains(t, errs, tc.want)
		})
	}
	code, _, errs := explainOver(t, "127.0.0.1:9876")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "write http://HOST:9876")
	_, _, errs = explainOver(t, "http://me:secret@127.0.0.1:1")
	require.NotContains(t, errs, "secret")
}

// The daemon's pages and its state tell the same of an incident.
func TestExplainSaysTheSameOverHTTP(t *testing.T) {
	d := idleDaemon(t, "", nil)
	v := diagnosis.Verdict{
		Class: diagnosis.LinkDown, Reason: "port_not_active", Severity: diagnosis.Critical, Confidence: diagnosis.High, Owner: diagnosis.Infrastructure,
		Job: "48213", Scope: "job", TieSet: 1, Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "gpu-007", Device: "mlx5_3", Switch: "leaf-r3", Score: 0.9}},
		Evidence: []diagnosis.Evidence{{Text: "gpu-007/mlx5_3: port not active", Decisive: true}}, Consequences: []string{"job 48213 stalled"},
		Next: "replace the cable", Command: "mlxlink -d mlx5_3", StartedAt: newYear, Immediate: true,
	}
	d.manager.Apply(&diagnosis.Result{Time: newYear, Whole: true, Verdicts: []diagnosis.Verdict{v}})
	inc := d.manager.Live()[0]
	data, err := d.manager.Save()
	require.NoError(t, err)
	require.NoError(t, d.store.Save(incidentsFile, incidents.Schema, data))
	server := httptest.NewServer(d.server().Handler)
	defer server.Close()

	for _, args := range [][]string{nil, {inc.ID}} {
		code, pages, errs := explainOver(t, server.URL, args...)
		require.Equal(t, exitOK, code, errs)
		var state bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), append([]string{"explain", "--config", d.path}, args...), &state, io.Discard))
		require.Equal(t, state.String(), pages)
		require.Contains(t, pages, inc.ID)
	}
}
