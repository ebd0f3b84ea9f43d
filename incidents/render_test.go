package incidents_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/signals"
)

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func renderer() *incidents.Renderer {
	return &incidents.Renderer{
		ExternalURL:     "https://collwatch.example.org/",
		DashboardURL:    "https://grafana.example.org/d/nccl?var-job={job}&var-node={node}&from={from}&to={to}",
		RunbookURL:      "https://example.org/runbooks/{class}",
		AlertmanagerURL: "https://alertmanager.example.org",
		Expression:      func(*incidents.Incident) string { return `node_infiniband_rate_bytes_per_second{device="mlx5_3"}` },
	}
}

func example() diagnosis.Verdict {
	nicEntity := signals.Entity{Kind: signals.KindNIC, Host: "gpu-007", Device: "mlx5_3", Port: "1"}
	return diagnosis.Verdict{
		Class: diagnosis.NICDegraded, Reason: "rate_downtrained", Severity: diagnosis.Warning, Confidence: diagnosis.High,
		Owner: diagnosis.Infrastructure, Job: "48213", Scope: "rail:3", TieSet: 1,
		Suspects: []diagnosis.Suspect{{Kind: "nic", Node: "gpu-007", Device: "mlx5_3", Switch: "leaf-r3", Port: "7", Score: 0.93}},
		Evidence: []diagnosis.Evidence{
			{Signal: signals.CollBusBandwidth, Entity: signals.Entity{Kind: signals.KindJob, Job: "48213"}, Text: "bus bandwidth of rail 3 is 11.3 GB/s against 43.5 GB/s before, on all 16 hosts"},
			{Signal: signals.NICRate, Entity: nicEntity, Text: "rate 12.5 GB/s against 50 GB/s of 127 peers", Decisive: true},
		},
		Consequences:  []string{"job 48213 is slower on rail 3"},
		AffectedHosts: 16, AffectedGPUs: 128, StartedAt: t0.Add(-90 * time.Second),
		Next:    "reseat the cable between gpu-007/mlx5_3 and leaf-r3 port 7, then measure the pair",
		Command: "ib_write_bw -d mlx5_3",
		Hosts:   []string{"gpu-007"},
	}
}

func TestReplayLines(t *testing.T) {
	d := drive(t, incidents.Options{External: map[string]string{"cluster": "alpha", "source": "hostile"}})
	v := example()
	d.tick(2, v)
	v.Severity = diagnosis.Critical
	d.tick(1, v)
	d.apply(1, diagnosis.Result{Whole: true, Ended: []string{"48213"}})
	d.tick(60)
	var out bytes.Buffer
	for i := range d.got {
		line, err := d.got[i].MarshalReplay(renderer())
		require.NoError(t, err)
		require.NotContains(t, string(line), "\n")
		out.Write(line)
		out.WriteByte('\n')
	}
	golden(t, "replay.jsonl", out.Bytes())
}

func TestReplayLineOfNobody(t *testing.T) {
	d := drive(t, incidents.Options{})
	v := stall("1", "a")
	v.Evidence = []diagnosis.Evidence{{Text: "all 128 GPUs wait"}}
	e := d.tick(2, v)[0]
	e.Incident.Verdict.Suspects = []diagnosis.Suspect{{Kind: "gpu", Node: "a", Score: math.NaN()}}
	e.Incident.Verdict.TieSet = 2
	line, err := e.MarshalReplay(&incidents.Renderer{})
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(line, &got))
	require.Equal(t, []any{}, got["suspects"], "a tie set names nobody")
	require.Equal(t, "unknown", got["labels"].(map[string]any)["suspect_kind"])
}

func TestAnnotationsOfExample(t *testing.T) {
	d := drive(t, incidents.Options{External: map[string]string{"cluster": "alpha"}})
	e := d.tick(2, example())[0]
	doc, err := json.MarshalIndent(map[string]any{
		"labels": e.Incident.AlertLabels(), "annotations": renderer().Annotations(&e.Incident),
	}, "", "  ")
	require.NoError(t, err)
	golden(t, "alert.json", append(doc, '\n'))
}

// hostile are values that other people's series may carry.
var hostile = []string{
	"plain", `back\slash`, `"quoted"`, "it's", "new\nline", "a\x00b", "\xff\xfe", "`id`", "$(reboot)", "; rm -rf /", "'; reboot; '",
	"ü€𝄞", strings.Repeat("€", 400), strings.Repeat("'", 300), "{a=\"b\"}", "<script>", "\x1b[31mred",
}

func TestSilenceCommandIsOneShellCommand(t *testing.T) {
	shell, err := exec.LookPath("sh")
	require.NoError(t, err)
	for _, value := range hostile {
		v := nic(value, value)
		v.Job, v.Scope = value, value
		d := drive(t, incidents.Options{External: map[string]string{"cluster": value}})
		e := d.tick(2, v)[0]
		r := &incidents.Renderer{AlertmanagerURL: "http://am:9093"}
		line := r.SilenceCommand(&e.Incident)
		out, err := exec.Command(shell, "-c", `amtool() { for a in "$@"; do printf '%s\0' "$a"; done; }; `+line).Output()
		require.NoError(t, err, line)
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		require.Equal(t, []string{"silence", "add", "--alertmanager.url=http://am:9093", "--duration=2h", "--comment=collwatch incident " + e.Incident.ID}, args[:5])
		require.Len(t, args[5:], len(e.Incident.SilenceMatchers()))
		for _, arg := range args[5:] {
			m, err := labels.ParseMatcher(arg)
			require.NoError(t, err, arg)
			require.Equal(t, labels.MatchEqual, m.Type)
			require.Equal(t, e.Incident.AlertLabels()[m.Name], m.Value)
		}
	}
}

func TestAnnotationsStayWithinTheirBounds(t *testing.T) {
	for _, value := range hostile {
		v := example()
		long := strings.Repeat(value+" ", 40)
		v.Job, v.Scope, v.Reason, v.Next, v.Command = value, long, long, long, long
		v.Suspects[0] = diagnosis.Suspect{Kind: value, Node: long, Device: long}
		for range 100 {
			v.Evidence = append(v.Evidence, diagnosis.Evidence{Text: long})
			v.Candidates = append(v.Candidates, diagnosis.Suspect{Node: long})
			v.Consequences = append(v.Consequences, long)
		}
		d := drive(t, incidents.Options{External: map[string]string{"cluster": long}})
		e := d.tick(2, v)[0]
		total := 0
		for k, a := range renderer().Annotations(&e.Incident) {
			require.True(t, utf8.ValidString(a), k)
			require.NotEmpty(t, a)
			total += len(k) + len(a)
		}
		require.LessOrEqual(t, total, 8<<10)
		for k, l := range e.Incident.AlertLabels() {
			require.True(t, utf8.ValidString(l), k)
			require.LessOrEqual(t, len(l), 256)
		}
		require.LessOrEqual(t, len(renderer().Annotations(&e.Incident)["summary"]), 150)
		_, err := e.MarshalReplay(renderer())
		require.NoError(t, err)
	}
}

func TestAlertNames(t *testing.T) {
	for class, want := range map[diagnosis.Class]string{
		diagnosis.NICDegraded: "CollwatchNicDegraded", diagnosis.RoCELoss: "CollwatchRoceLoss",
		diagnosis.CollectiveStall: "CollwatchCollectiveStall", incidents.Storm: "CollwatchIncidentStorm",
	} {
		require.Equal(t, want, incidents.AlertName(class))
	}
}

func TestLabelsStayWhileTheIncidentLasts(t *testing.T) {
	d := drive(t, incidents.Options{External: map[string]string{"cluster": "alpha"}})
	v := example()
	first := d.tick(2, v)[0].Incident.AlertLabels()
	for i := range 50 {
		v.Reason, v.AffectedHosts, v.TieSet = fmt.Sprintf("r%d", i), i, 1
		v.Owner = []diagnosis.Owner{diagnosis.Platform, diagnosis.Workload}[i%2]
		v.Suspects[0].Switch = fmt.Sprintf("leaf-%d", i)
		v.Suspects[0].Score = float64(i)
		for _, e := range d.tick(1, v) {
			require.Equal(t, first, e.Incident.AlertLabels())
		}
	}
	require.Len(t, d.m.Live(), 1)
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 45 * time.Second: "45 s", 59700 * time.Millisecond: "1 min", 59*time.Minute + 40*time.Second: "1 h", 18 * time.Minute: "18 min", 125 * time.Minute: "2 h 5 min", 72 * time.Hour: "3 days",
	} {
		require.Equal(t, want, incidents.Span(d))
	}
}

// TestNobodyIsNamed: where no single component can be guilty the words do not
// sound as if somebody was looked for in vain.
func TestNobodyIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change          func(v *diagnosis.Verdict)
		title, sentence string
	}{
		"a job by itself": {
			func(v *diagnosis.Verdict) { v.Class, v.Reason = diagnosis.ConfigSuspected, "tcp_fallback" },
			"Job configuration suspected: whole job 1, TCP instead of RDMA", "Confidence low. No single node is at fault: it concerns the whole job.",
		},
		"a fabric": {
			func(v *diagnosis.Verdict) {
				v.Class, v.Reason, v.Scope = diagnosis.FabricCongestion, "zone_wide", "cluster"
			},
			"Fabric congestion: no single host, zone wide, job 1", "No single node is at fault: it concerns all of them alike.",
		},
		"somebody of many": {
			func(*diagnosis.Verdict) {}, "Collective stalled: suspect unknown, all alike, job 1", "Nobody is named: nothing separates the candidates.",
		},
		"one of two": {
			func(v *diagnosis.Verdict) { v.TieSet = 2 },
			"Collective stalled: one of 2, not told apart, all alike, job 1", "the available series cannot tell 2 components apart.",
		},
		"a rack": {
			func(v *diagnosis.Verdict) {
				v.Class, v.Reason = diagnosis.ThermalGroup, "rack"
				*v = named(*v, "rack", "", "r3")
			},
			"GPUs hot together: rack r3, job 1", "Confidence low.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := stall("1", "a")
			v.Confidence = diagnosis.Low
			c.change(&v)
			e := drive(t, incidents.Options{}).tick(2, v)[0]
			require.Equal(t, c.title, e.Incident.Title())
			require.Contains(t, (&incidents.Renderer{}).Annotations(&e.Incident)["description"], c.sentence)
		})
	}
}

// A name must not read as another one, whatever its characters do to the text
// around it.
func TestNamesCannotTurnTheTextAround(t *testing.T) {
	d := drive(t, incidents.Options{})
	d.tick(2, nic("gpu-\u202e700\u202c", "mlx5\u2066_3\u200f"))
	inc := d.m.Live()[0]
	require.Equal(t, "gpu-700", inc.Labels["suspect_node"])
	require.Equal(t, "mlx5_3", inc.Labels["suspect_device"])
	require.Contains(t, (&incidents.Renderer{}).Annotations(&inc)["summary"], "gpu-700/mlx5_3")
}
