package compare

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sickNIC(share float64) Fault {
	from := time.Date(2026, 1, 1, 0, 5, 0, 0, time.UTC)
	return Fault{Class: "nic_degraded", Severity: "critical", Suspect: "gpu-007/mlx5_3", Infrastructure: true, Share: share, From: from}
}

// TestFaultsAreNotTheChanges: a fault of the cluster that only one side had is said
// with the verdict which it may have made.
func TestFaultsAreNotTheChanges(t *testing.T) {
	slow := healthy()
	slow.time, slow.bandwidth = slow.time*1.3, slow.bandwidth/1.3
	workload := sickNIC(1)
	workload.Class, workload.Infrastructure = "straggler_compute", false
	for _, tc := range []struct {
		name       string
		cand       rowOf
		inBase     []Fault
		inCand     []Fault
		verdict    Verdict
		says, not  string
		notedFault bool
	}{
		{"none", slow, nil, nil, Regression, "got worse", "fault", false},
		{"a sick NIC in the candidate", slow, nil, []Fault{sickNIC(0.9)}, Regression, "may be the reason: nic_degraded of gpu-007/mlx5_3", "hide", true},
		{"too short to move anything", slow, nil, []Fault{sickNIC(0.1)}, Regression, "got worse", "may be the reason", true},
		{"of the job itself", slow, nil, []Fault{workload}, Regression, "got worse", "may be the reason", true},
		{"in both", slow, []Fault{sickNIC(0.8)}, []Fault{sickNIC(0.9)}, Regression, "got worse", "may be the reason", true},
		{"a sick NIC in the baseline", healthy(), []Fault{sickNIC(0.9)}, nil, NoDifference, "may hide a regression: nic_degraded of gpu-007/mlx5_3", "may be the reason", true},
		{"in the candidate, but nothing is slower", healthy(), nil, []Fault{sickNIC(0.9)}, NoDifference, "differ by less", "fault", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, cand := record("a", healthy()), record("bb", tc.cand)
			base.Faults, cand.Faults = tc.inBase, tc.inCand
			res := Compare(base, cand, Settings{})
			require.Equal(t, tc.verdict, res.Verdict)
			require.Contains(t, res.Why, tc.says)
			require.NotContains(t, res.Why, tc.not)
			require.Equal(t, tc.notedFault, strings.Contains(strings.Join(res.Notes, "\n"), "had an incident"))
		})
	}
}

func TestOtherGPUsAreNotCompared(t *testing.T) {
	base, cand := record("a", healthy()), record("bb", healthy())
	base.GPUs = []string{"NVIDIA H100 80GB HBM3"}
	require.Equal(t, NoDifference, Compare(base, cand, Settings{}).Verdict, "nobody tells those of the candidate")
	cand.GPUs = []string{"NVIDIA H200"}
	res := Compare(base, cand, Settings{})
	require.Equal(t, NotComparable, res.Verdict)
	require.Equal(t, "other GPUs: the baseline ran on NVIDIA H100 80GB HBM3, the candidate on NVIDIA H200", res.Why)
	cand.GPUs = base.GPUs
	require.Equal(t, NoDifference, Compare(base, cand, Settings{}).Verdict)
}

func TestNotesAboutTheSides(t *testing.T) {
	base, cand := record("a", healthy()), record("bb", healthy())
	base.Hosts, cand.Hosts = []string{"h1", "h2"}, []string{"h2", "h3"}
	cand.From, cand.To = cand.From.Add(30*time.Minute), cand.To.Add(30*time.Minute)
	cand.Unwatched = "whether the candidate had incidents could not be found out: it was away"
	notes := strings.Join(Compare(base, cand, Settings{}).Notes, "\n")
	require.Contains(t, notes, "different hosts: 2 and 2, of which 1 are the same")
	require.Contains(t, notes, "the same job at the same time for 10m0s")
	require.Contains(t, notes, "it was away")
	cand.Jobs = []string{"2"}
	require.NotContains(t, strings.Join(Compare(base, cand, Settings{}).Notes, "\n"), "same time")
}

// TestABaselineKeepsItsFaults: what a gate compares with for months says what was
// ill when it was saved.
func TestABaselineKeepsItsFaults(t *testing.T) {
	rec := record("a", healthy())
	rec.GPUs, rec.Faults = []string{"A", "B"}, []Fault{sickNIC(0.5), sickNIC(0.25)}
	var b bytes.Buffer
	require.NoError(t, WriteBaseline(&b, rec))
	text := b.String()
	require.Contains(t, text, "\n \"faults\": [\n  {\"class\":\"nic_degraded\"")
	got, err := ReadBaseline(&b)
	require.NoError(t, err)
	require.Equal(t, rec.Faults, got.Faults)
	require.Equal(t, rec.GPUs, got.GPUs)
	for _, tc := range []struct{ from, to, err string }{
		{`"share":0.5`, `"share":5`, "fault 1: its share or its time is impossible"},
		{`"class":"nic_degraded"`, `"class":""`, "fault 1"},
		{`"suspect":"gpu-007/mlx5_3"`, `"suspect":"\u001b[2J"`, "without control characters"},
		{`"gpus": ["A","B"]`, `"gpus": ["B","A"]`, "sorted"},
	} {
		_, err := ReadBaseline(strings.NewReader(strings.Replace(text, tc.from, tc.to, 1)))
		require.ErrorContains(t, err, tc.err)
	}
}

// TestWhatCannotBeReadIsNotSaved: a hostile exporter must not leave a baseline that
// is found out to be none when the series are gone.
func TestWhatCannotBeReadIsNotSaved(t *testing.T) {
	for name, edit := range map[string]func(*Record){
		"a count":             func(r *Record) { r.Rows[0].NRanks = 2_000_000_000 },
		"a value":             func(r *Record) { r.Rows[0].Series[0].Blocks[0] = 1e300 },
		"a name":              func(r *Record) { r.Rows[0].Op = strings.Repeat("x", 300) },
		"a control character": func(r *Record) { r.Rows[0].Algo = "ring\x1b[2J" },
	} {
		t.Run(name, func(t *testing.T) {
			rec := record("a", healthy())
			edit(rec)
			var b bytes.Buffer
			require.ErrorContains(t, WriteBaseline(&b, rec), "nothing is saved")
			require.Zero(t, b.Len())
		})
	}
}
