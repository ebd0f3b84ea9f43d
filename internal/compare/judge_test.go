package compare

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerdicts(t *testing.T) {
	other := func(edit func(*rowOf)) rowOf {
		r := healthy()
		edit(&r)
		return r
	}
	for _, tc := range []struct {
		name    string
		base    []rowOf
		cand    []rowOf
		edit    func(base, cand *Record)
		verdict Verdict
		why     string // part of the explanation of the first row
		cause   string
	}{
		{"the same again", []rowOf{healthy()}, []rowOf{healthy()}, nil, NoDifference, "within 5 %", ""},
		{"slower by less than counts", []rowOf{healthy()}, []rowOf{other(func(r *rowOf) { r.time *= 1.02; r.bandwidth /= 1.02 })}, nil, NoDifference, "within", ""},
		{
			"slower transfer",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.time *= 1.3; r.bandwidth /= 1.3 })},
			nil,
			Regression, "mean time +", "the transfer itself is slower",
		},
		{
			"more waiting",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.time *= 1.5; r.waiting = 1 - 0.98/1.5; r.bandwidth /= 1.4 })},
			nil,
			Regression, "mean time", "is waiting for the last to arrive",
		},
		{"faster", []rowOf{healthy()}, []rowOf{other(func(r *rowOf) { r.time *= 0.8; r.bandwidth /= 0.8 })}, nil, Improvement, "mean time -", ""},
		{
			"another algorithm, slower",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.key.Algo = "tree_ll128"; r.time *= 1.2; r.bandwidth /= 1.2 })},
			nil,
			Regression, "mean time +", "algorithm changed from ring_simple to tree_ll128",
		},
		{
			"another algorithm, as fast",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.key.Algo = "tree_ll128" })},
			nil,
			NoDifference, "within", "algorithm changed",
		},
		{
			"another shape",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.key.NRanks, r.key.NNodes = 8, 8 })},
			nil,
			NotComparable, "different shape: the baseline has 16 ranks on 16 nodes", "",
		},
		{"another operation", []rowOf{healthy()}, []rowOf{other(func(r *rowOf) { r.key.Op = "ReduceScatter" })}, nil, NotComparable, "the candidate has no AllReduce", ""},
		{"too short", []rowOf{healthy()}, []rowOf{other(func(r *rowOf) { r.windows = 7 })}, nil, NotComparable, "too few windows: the candidate has 7", ""},
		{
			"too noisy",
			[]rowOf{other(func(r *rowOf) { r.cv = 0.5 })},
			[]rowOf{other(func(r *rowOf) { r.cv = 0.5 })},
			nil,
			NotComparable, "too uncertain", "",
		},
		{
			"half the answers in part",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.time *= 2 })},
			func(_, cand *Record) { cand.Incomplete = 40 }, NotComparable, "incomplete data: 40 of 80 evaluations of the candidate", "",
		},
		{
			"half the members",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.time *= 2 })},
			func(_, cand *Record) { cand.Rows[0].Members = 60 }, NotComparable, "60 of 128 members", "",
		},
		{
			"longer messages in one class are slower by nature",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.bytes *= 1.15; r.time *= 1.15 })},
			nil, NoDifference, "within", "only bandwidth is judged",
		},
		{
			"longer messages and no bandwidth",
			[]rowOf{other(func(r *rowOf) { r.bandwidth = 0 })},
			[]rowOf{other(func(r *rowOf) { r.bytes *= 1.15; r.time *= 1.15; r.bandwidth = 0 })},
			nil, NotComparable, "no bandwidth to compare", "",
		},
		{
			"the next size class, less bandwidth although larger",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.key.Size, r.bytes = "152M", 160e6; r.time *= 1.6; r.bandwidth /= 1.3 })},
			nil,
			Regression, "bus bandwidth -", "only bandwidth is judged",
		},
		{
			"the next smaller size class has less bandwidth by nature",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.key.Size, r.bytes = "108M", 113e6; r.bandwidth /= 1.2 })},
			nil,
			NotComparable, "larger messages reach more bandwidth by nature", "",
		},
		{
			"a far size class",
			[]rowOf{healthy()},
			[]rowOf{other(func(r *rowOf) { r.key.Size, r.bytes = "256M", 268e6 })},
			nil,
			NotComparable, "other message size: the candidate has 256M", "",
		},
		{
			"small messages of other sizes",
			[]rowOf{other(func(r *rowOf) { r.key.Size, r.bytes = "64K", 65536 })},
			[]rowOf{other(func(r *rowOf) { r.key.Size, r.bytes = "76K", 77824 })},
			nil, NotComparable, "other message size", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, cand := record("job a", tc.base...), record("job bb", tc.cand...)
			if tc.edit != nil {
				tc.edit(base, cand)
			}
			res := Compare(base, cand, Settings{})
			require.NotEmpty(t, res.Rows)
			row := res.Rows[0]
			if tc.name == "another shape" {
				row = res.Rows[len(res.Rows)-1]
			}
			require.Equal(t, tc.verdict, res.Verdict, "%s; row: %s", res.Why, row.Why)
			require.Contains(t, row.Why, tc.why)
			if tc.cause != "" {
				require.Contains(t, strings.Join(row.Causes, "; "), tc.cause)
			}
			require.NotEmpty(t, res.Why)
			// The same question has the same answer.
			require.Equal(t, res.Rows, Compare(base, cand, Settings{}).Rows)
		})
	}
}

func TestOneBadRowIsEnough(t *testing.T) {
	bad := healthy()
	bad.key.Op, bad.key.NNodes = "AllGather", 1
	worse := bad
	worse.time *= 1.2
	res := Compare(record("a", healthy(), bad), record("bb", healthy(), worse), Settings{})
	require.Equal(t, Regression, res.Verdict)
	require.Contains(t, res.Why, "1 of 2 comparable")
}

// TestAGateDoesNotPassWhatItDidNotSee: if most of the baseline has nothing to be
// compared with, the little that is alike is no proof.
func TestAGateDoesNotPassWhatItDidNotSee(t *testing.T) {
	a, b, c := healthy(), healthy(), healthy()
	b.key.Op, c.key.Op = "AllGather", "ReduceScatter"
	res := Compare(record("a", a, b, c), record("bb", a), Settings{})
	require.Equal(t, NotComparable, res.Verdict)
	require.Contains(t, res.Why, "only 1 of the baseline's 3")
	require.Equal(t, NotComparable, Compare(record("a", a), &Record{Source: "job 7"}, Settings{}).Verdict)
	require.Contains(t, Compare(record("a", a), &Record{Source: "job 7"}, Settings{}).Why, "the candidate (job 7) has no collectives")
}

// TestTheOtherWayRound: what got worse one way got better the other.
func TestTheOtherWayRound(t *testing.T) {
	slow := healthy()
	slow.time, slow.bandwidth = slow.time*1.25, slow.bandwidth/1.25
	a, b := record("a", healthy()), record("bb", slow)
	require.Equal(t, Regression, Compare(a, b, Settings{}).Verdict)
	require.Equal(t, Improvement, Compare(b, a, Settings{}).Verdict)
}

func TestSeveralAlgorithmsAreNotMixedUp(t *testing.T) {
	ring, tree, nvls := healthy(), healthy(), healthy()
	tree.key.Algo, nvls.key.Algo = "tree_ll", "nvls_simple"
	res := Compare(record("a", ring), record("bb", tree, nvls), Settings{})
	require.Equal(t, NotComparable, res.Verdict)
	require.Contains(t, res.Rows[1].Why, "other algorithm: the candidate has nvls_simple, tree_ll")
}
