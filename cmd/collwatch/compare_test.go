package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/config"
	"github.com/collwatch/collwatch/internal/compare"
	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/promapi"
	"github.com/collwatch/collwatch/sim"
)

func TestOperands(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("base.json", nil, 0o600))
	for _, tc := range []struct {
		text  string
		files bool
		want  operand
		err   string
	}{
		{text: "48213", want: operand{job: "48213"}},
		{text: "team/train:v2", want: operand{job: "team/train:v2"}},
		{text: "me@site", want: operand{job: "me@site"}},
		{text: "base.json", files: true, want: operand{file: "base.json"}},
		{text: "base.json", want: operand{job: "base.json"}},
		{text: "job:base.json", files: true, want: operand{job: "base.json"}},
		{text: "file:absent.json", files: true, want: operand{file: "absent.json"}},
		{text: "file:base.json", err: "can only be a baseline"},
		{text: "job:1..2", want: operand{job: "1..2"}},
		{text: "1767225600..1767229200", want: operand{from: time.Unix(1767225600, 0), to: time.Unix(1767229200, 0)}},
		{text: "2026-01-01T00:00:00Z..2026-01-01T02:00:00+01:00", want: operand{from: time.Unix(1767225600, 0), to: time.Unix(1767229200, 0)}},
		{text: "a@b@1767225600..1767229200", want: operand{job: "a@b", from: time.Unix(1767225600, 0), to: time.Unix(1767229200, 0)}},
		{text: "range:48213", err: "is no range"},
		{text: "2..1", err: "ends before it begins"},
		{text: "x..y", err: "neither RFC 3339 nor Unix seconds"},
		{text: "", err: "empty"},
		{text: "job:", err: "empty"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := parseOperand(tc.text, tc.files)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want.job, got.job)
			require.Equal(t, tc.want.file, got.file)
			require.True(t, tc.want.from.Equal(got.from), got.from)
			require.True(t, tc.want.to.Equal(got.to), got.to)
		})
	}
}

// FuzzOperand: an operand is exactly one thing, and its name says which.
func FuzzOperand(f *testing.F) {
	for _, s := range []string{"48213", "1..2", "job@1..2", "range:1..2", "file:x", "job:", "1e300..2e300", "@..", "..", "NaN..Inf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := parseOperand(s, true)
		if err != nil {
			return
		}
		require.NotEqual(t, (o.file != ""), (o.job != "" || !o.from.IsZero()), "%+v", o)
		require.Equal(t, o.from.IsZero(), o.to.IsZero())
		if !o.from.IsZero() {
			require.True(t, o.to.After(o.from))
		}
		require.NotEmpty(t, o.String())
	})
}

// FuzzPercent: a limit is between nothing and all.
func FuzzPercent(f *testing.F) {
	for _, s := range []string{"5%", "0.05", " 5 %", "100%", "-1", "NaN%", "1e-400%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := parsePercent(s); err == nil {
			require.Greater(t, v, 0.0)
			require.Less(t, v, 1.0)
		}
	})
}

func TestProgressIsShortInLogs(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	from := time.Unix(0, 0)
	p.begin("reading", span{from: from, to: from.Add(1000 * time.Second)})
	for i := range 1001 {
		p.at(from.Add(time.Duration(i) * time.Second))
	}
	p.end()
	require.Equal(t, "reading: 1970-01-01T00:00:00Z to 1970-01-01T00:16:40Z\nreading: 25 %\nreading: 50 %\nreading: 75 %\nreading: 100 %\n", b.String())
	require.NotContains(t, b.String(), "\r")
}

func TestReadStep(t *testing.T) {
	at := func(d time.Duration) time.Duration {
		return readStep(span{from: time.Unix(0, 0), to: time.Unix(0, 0).Add(d)}, 30*time.Second)
	}
	require.Equal(t, 30*time.Second, at(time.Hour))
	require.Equal(t, 2*time.Minute, at(24*time.Hour))
	require.Equal(t, 5*time.Minute, at(30*24*time.Hour))
}

// pair is the past of two jobs, one after the other, the second with a slower
// network. A start of zero is the simulator's own.
func pair(t testing.TB, hosts int, start time.Time, length time.Duration, slower float64) (*past, *embedprom.DB) {
	t.Helper()
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	shape := sim.R16(hosts)
	a, b := shape.Jobs[0], sim.TensorData("48300", hosts, 8)
	a.EndAt = length.Seconds()
	b.StartAt, b.InitFor = length.Seconds()+120, 60
	b.Phases[3].Comm.Bandwidth /= slower
	sink := db.Appender()
	c, err := sim.New(sim.Options{Seed: 5, Start: start, Shape: shape, Jobs: []sim.JobSpec{a, b}, Dialect: sim.Full(), Noise: sim.DefaultNoise()}, sink)
	require.NoError(t, err)
	end := 2*length + 10*time.Minute
	for at := time.Hour; ; at += time.Hour {
		require.NoError(t, c.Run(t.Context(), min(at, end)))
		require.NoError(t, sink.Commit())
		if at >= end {
			break
		}
	}
	p := &past{sources: map[string]promapi.Querier{"sim": db.Querier()}, close: func() { require.NoError(t, db.Close()) }}
	p.first, p.last = db.TimeRange()
	return p, db
}

func compareJobs(t testing.TB, p *past, base, cand string) *compare.Result {
	t.Helper()
	cfg := config.Default()
	find := newSearch(&cfg, p, time.Hour, p.last)
	var records []*compare.Record
	for _, job := range []string{base, cand} {
		o := operand{text: job, job: job}
		var err error
		o.span, err = find.spanOf(t.Context(), p, o)
		require.NoError(t, err)
		rec, err := readOperand(t.Context(), &cfg, p, o, newProgress(&bytes.Buffer{}))
		require.NoError(t, err)
		records = append(records, rec)
	}
	return compare.Compare(records[0], records[1], compare.Settings{})
}

// TestJobsAreFoundByTheirSeries: each job is read over its own time, and the
// second one without its start.
func TestJobsAreFoundByTheirSeries(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p, _ := pair(t, 4, start, 25*time.Minute, 1.25)
	defer p.close()
	res := compareJobs(t, p, "48213", "48300")
	require.Equal(t, compare.Regression, res.Verdict, res.Why)
	require.Equal(t, []string{"48213"}, res.Base.Jobs)
	require.Equal(t, []string{"48300"}, res.Cand.Jobs)
	require.False(t, res.Base.To.After(start.Add(26*time.Minute)))
	require.False(t, res.Cand.From.Before(start.Add(27*time.Minute+60*time.Second+5*time.Minute)), "ten windows after the first step: %s", res.Cand.From)
	require.Equal(t, compare.NoDifference, compareJobs(t, p, "48213", "48213").Verdict)
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	om := sim.NewOpenMetrics()
	shape := sim.R16(4)
	c, err := sim.New(sim.Options{Seed: 3, Shape: shape, Dialect: sim.Full(), Noise: sim.DefaultNoise()}, om)
	require.NoError(t, err)
	c.Inject(sim.Downtrain(1, 2, 0.25, 900, 0))
	require.NoError(t, c.Run(t.Context(), 30*time.Minute))
	file := filepath.Join(dir, "past.txt")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, om.Write(f))
	require.NoError(t, f.Close())
	call := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--openmetrics", file), &out, &errs)
		return code, out.String() + errs.String()
	}
	job := shape.Jobs[0].ID
	before, after := job+"@1767225600..1767226500", job+"@1767226500..1767227400"
	for _, tc := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"regression", []string{"compare", "--baseline", before, "--candidate", after}, exitFindings, "REGRESSION"},
		{"improvement", []string{"compare", "--baseline", after, "--candidate", before}, exitOK, "IMPROVEMENT"},
		{"no difference", []string{"compare", "--baseline", before, "--candidate", before}, exitOK, "NO DIFFERENCE"},
		{"not comparable", []string{"compare", "--baseline", before, "--candidate", "1767226500..1767226560"}, exitOK, "NOT COMPARABLE"},
		{"no such job", []string{"compare", "--baseline", before, "--candidate", "7"}, exitFailure, "no series of job"},
		{"no such format", []string{"compare", "--baseline", before, "--candidate", after, "--format", "pdf"}, exitUsage, "enum value"},
		{"a folder to write to that is not there", []string{"compare", "--baseline", before, "--candidate", after, "--out", filepath.Join(dir, "x", "y")}, exitFailure, "no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, text := call(tc.args...)
			require.Equal(t, tc.code, code, text)
			require.Contains(t, text, tc.says)
		})
	}
	code, text := call("compare", "--baseline", before, "--candidate", after, "--format", "json")
	require.Equal(t, exitFindings, code)
	require.True(t, strings.HasPrefix(text[strings.Index(text, "{"):], "{\n  \"verdict\": \"regression\""), text)
}
