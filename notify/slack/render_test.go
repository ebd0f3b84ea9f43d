package slack

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/internal/fakeslack"
)

// FuzzEveryMessageIsWithinSlacksLimits builds messages of what other people's
// series and operators may hold and lets the strict fake judge them.
func FuzzEveryMessageIsWithinSlacksLimits(f *testing.F) {
	f.Add("gpu-007", "mlx5_3", "rate 12.5 GB/s", "ib_write_bw", uint8(3), uint8(4))
	f.Add("<!channel>", "&amp;<http://x|y>", strings.Repeat("<&>", 500), "echo ```\n```", uint8(40), uint8(0))
	f.Add(strings.Repeat("é", 300), strings.Repeat("𝄞", 300), strings.Repeat("𝄞&", 2000), strings.Repeat("&", 900), uint8(1), uint8(1))
	f.Add("\xff\xfe", "\x00\n\u2028", "```", "```", uint8(0), uint8(2))
	f.Add("a\xa9b", "a\xa9b", "&\xa9", "\xa9", uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, node, device, text, command string, n, flags uint8) {
		inc := hostile(node, device, text, command, int(n)%60, flags)
		m := render(&inc, hostileRenderer(text), extras{
			note: text, held: &hold{Kind: "silence", Text: oneLine("silenced by " + node)},
			mentions: []string{node, "@here", "S0AB", text},
		})
		require.LessOrEqual(t, utf8.RuneCountInString(m.Header), maxTitle)
		require.True(t, utf8.ValidString(m.Header+m.Text))
		require.NotEmpty(t, m.Header)
		accepted(t, m)
		pressable := render(&inc, hostileRenderer(text), extras{buttons: "01KK89D4TRYVR3QTFZ3NY7BGP8"})
		require.LessOrEqual(t, len(pressable.Buttons), 4)
		accepted(t, pressable)
		if reply, _ := line(said{}, said{Incident: inc.ID, Severity: node}, &inc, nil); reply != "" {
			accepted(t, &Message{Text: reply})
		}
		require.True(t, utf8.ValidString(Text(&inc, hostileRenderer(text))))
	})
}

func hostile(node, device, text, command string, n int, flags uint8) incidents.Incident {
	s := diagnosis.Suspect{Kind: "nic", Node: node, Device: device, Switch: text, Port: node}
	inc := incidents.Incident{
		ID: "01J" + node, State: incidents.Open, Severity: diagnosis.Warning, StartedAt: time.Unix(1e9, 0), ResolvedAt: time.Unix(1e9+99, 0),
		Labels: map[string]string{"alertname": text, "cluster": node, "suspect_node": node, "suspect_device": device},
		Verdict: diagnosis.Verdict{
			Class: diagnosis.NICDegraded, Reason: device, Job: node, TieSet: 1, Next: text, Command: command,
			Suspects: []diagnosis.Suspect{s}, AffectedHosts: n,
		},
		RecoveryText: text, Held: device, Repeats: n, Flaps: n, AdviceWithheld: node,
	}
	for range n {
		inc.Verdict.Evidence = append(inc.Verdict.Evidence, diagnosis.Evidence{Text: text, Decisive: flags&1 > 0})
		inc.Verdict.Candidates = append(inc.Verdict.Candidates, s)
		inc.Consequences = append(inc.Consequences, text)
		inc.Jobs = append(inc.Jobs, node)
	}
	if flags&2 > 0 {
		inc.State, inc.ResolveReason = incidents.Resolved, incidents.DataGone
	}
	if flags&4 > 0 {
		inc.Verdict.TieSet = n
	}
	if flags&8 > 0 {
		inc.Folded = true
	}
	return inc
}

func hostileRenderer(text string) *incidents.Renderer {
	return &incidents.Renderer{
		ExternalURL: "https://collwatch.example.org/" + text, AlertmanagerURL: "https://am.example.org/",
		DashboardURL: "https://grafana.example.org/d?x={host}&y=<{device}|>", RunbookURL: "https://example.org/" + text,
	}
}

// accepted posts a message in both ways to a fresh fake.
func accepted(t *testing.T, m *Message) {
	t.Helper()
	s := fakeslack.New(time.Now)
	client := &http.Client{Transport: direct{s}}
	b := newBot(&Options{Token: func(bool) (string, error) { return fakeslack.Token, nil }, APIURL: s.URL(), HTTP: client})
	id, ts, err := b.PostMessage(t.Context(), "#gpu", m)
	require.NoError(t, err, s.Transcript())
	s.Pace(0)
	require.NoError(t, b.UpdateMessage(t.Context(), id, ts, m))
	h := &hook{url: func(bool) (string, error) { return s.Webhook(), nil }, http: client}
	_, _, err = h.PostMessage(t.Context(), "", m)
	require.NoError(t, err, s.Transcript())
}

// TestTheFakeIsStrict makes sure that the fuzz test can fail.
func TestTheFakeIsStrict(t *testing.T) {
	s := fakeslack.New(time.Now)
	s.Pace(0)
	post := func(blocks, text string) string {
		form := url.Values{"channel": {"#gpu"}, "text": {text}, "blocks": {blocks}, "token": {fakeslack.Token}}
		r := httptest.NewRequest(http.MethodPost, "/api/chat.postMessage", bytes.NewBufferString(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var a struct {
			Error string `json:"error"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
		return a.Error
	}
	section := func(text string) string {
		raw, _ := json.Marshal([]any{map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": text}}})
		return string(raw)
	}
	require.Empty(t, post(section("a &amp; b <https://x.example|y>"), "x"))
	for name, c := range map[string]struct{ blocks, text, code string }{
		"long":        {section(strings.Repeat("a", 3001)), "x", "invalid_blocks"},
		"raw <":       {section("a < b"), "x", "invalid_blocks"},
		"raw &":       {section("a & b"), "x", "invalid_blocks"},
		"raw in text": {section("a"), "a & b", "invalid_arguments"},
		"open code":   {section("a ```b"), "x", "invalid_blocks"},
		"no text":     {section("a"), "", "no_text"},
		"empty":       {section(""), "x", "invalid_blocks"},
		"51 blocks":   {"[" + strings.Repeat(`{"type":"divider"},`, 50) + `{"type":"divider"}]`, "x", "invalid_blocks"},
		"no JSON":     {"{", "x", "invalid_blocks_format"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.code, post(c.blocks, c.text)) })
	}
}

func TestTitles(t *testing.T) {
	long := down("gpu-node-with-a-long-name-0007.cluster.example.org")
	for _, c := range []struct {
		name string
		v    diagnosis.Verdict
		want string
	}{
		{"fits", diagnosis.Verdict{Class: diagnosis.LinkDown, Job: "48213", TieSet: 1, Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "gpu-007", Device: "mlx5_3"}}}, "Link down: gpu-007/mlx5_3, job 48213"},
		{"the end is left out", down("gpu-007"), "NIC degraded: gpu-007/mlx5_3 (leaf-r3 port 7)"},
		{"cut", long, "NIC degraded: gpu-node-with-a-long-name-0007.cluster.exampl…"},
		{"nobody", diagnosis.Verdict{Class: diagnosis.CollectiveStall, Job: "1", TieSet: 8}, "Collective stalled: one of 8, not told apart, job 1"},
		{"signs", diagnosis.Verdict{Class: diagnosis.LinkDown, TieSet: 1, Suspects: []diagnosis.Suspect{{Kind: "node", Node: "<a&b>"}}}, "Link down: ‹a+b›"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inc := incidents.Incident{State: incidents.Open, Verdict: c.v}
			require.Equal(t, c.want, title(&inc))
		})
	}
}

func TestTextOfAnIncident(t *testing.T) {
	inc := incidents.Incident{
		ID: "01J", State: incidents.Open, Severity: diagnosis.Critical, StartedAt: time.Unix(946684800, 0), Verdict: down("gpu-007"),
		Jobs: []string{"48213"}, Labels: map[string]string{"alertname": "CollwatchNicDegraded", "suspect_node": "gpu-007"},
		Consequences: []string{"job 48213 is slower on rail 3"},
	}
	r := &incidents.Renderer{ExternalURL: "https://collwatch.example.org"}
	tie := inc
	tie.Verdict.TieSet, tie.Verdict.Candidates = 8, inc.Verdict.Suspects
	golden(t, "text.txt", Text(&inc, r)+"\n----\n"+Text(&tie, r)+"\n")
}

func TestSecretsAreInNoError(t *testing.T) {
	h := &hook{url: func(bool) (string, error) { return "http://127.0.0.1:1/services/SECRET", nil }, http: &http.Client{}}
	_, _, err := h.PostMessage(t.Context(), "", &Message{Text: "x"})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "SECRET")
	b := newBot(&Options{Token: func(bool) (string, error) { return "xoxb-SECRET", nil }, APIURL: "http://127.0.0.1:1/api/SECRET", HTTP: &http.Client{}})
	_, err = b.AuthTest(t.Context())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "SECRET")
}
