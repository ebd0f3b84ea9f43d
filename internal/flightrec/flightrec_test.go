package flightrec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/testdata"
)

func dumps(t *testing.T, incident, pattern string) []*Dump {
	t.Helper()
	dir := testdata.Path(t, "flight-recorder", incident)
	var out []*Dump
	for rank := range 16 {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(pattern, rank)))
		require.NoError(t, err)
		d, err := Decode(b)
		require.NoError(t, err)
		d.Rank = rank
		out = append(out, d)
	}
	return out
}

func TestRecordedHangs(t *testing.T) {
	for _, incident := range []string{"gpu_error_1st", "lock_gil_1st"} {
		t.Run(incident, func(t *testing.T) {
			var expect struct {
				Required  []int            `json:"required_suspects"`
				Allowed   []int            `json:"allowed_suspects"`
				WaitsFor  map[string][]int `json:"waits_for"`
				Reference []struct {
					Group, Desc string
					Missing     []int
				}
			}
			b, err := os.ReadFile(testdata.Path(t, "flight-recorder", incident, "expect.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(b, &expect))

			pickles := dumps(t, incident, "pickle/_dump_%d")
			require.Equal(t, dumps(t, incident, "json/rank_%d.json"), pickles, "both forms say the same")

			r, err := Analyse(pickles)
			require.NoError(t, err)
			require.Subset(t, expect.Allowed, r.Roots)
			require.Subset(t, r.Roots, expect.Required)
			require.Equal(t, expect.Reference[0].Missing, r.Roots)
			require.Equal(t, expect.Reference[0].Group, r.Group)
			require.Equal(t, expect.Reference[0].Desc, r.Desc)
			require.Equal(t, "all_to_all", r.Op)
			require.Empty(t, r.Mismatches)
			require.Empty(t, r.Absent)
			for _, rank := range expect.Allowed {
				require.Contains(t, append(r.Masked, r.Roots...), rank, "each injected rank is named, or listed as masked")
			}
			require.Subset(t, expect.Allowed, r.Masked, "here no innocent rank is even a candidate")
			for root, waiting := range r.WaitedBy {
				for _, rank := range waiting {
					require.Contains(t, expect.WaitsFor[strconv.Itoa(rank)], root)
				}
			}
		})
	}
}

func TestAbsentDumps(t *testing.T) {
	all := dumps(t, "gpu_error_1st", "pickle/_dump_%d")
	r, err := Analyse(append(all[:12:12], all[13:]...))
	require.NoError(t, err)
	require.Equal(t, []int{12}, r.Absent)
	require.NotContains(t, r.Roots, 13)
	require.Empty(t, r.Roots, "nobody is blamed for what the absent rank may have done")
}

func TestAnalyseRefusesDumpsWithoutRank(t *testing.T) {
	_, err := Analyse([]*Dump{{Rank: -1}})
	require.ErrorContains(t, err, "no rank")
	_, err = Analyse([]*Dump{{Rank: 3}, {Rank: 3}})
	require.ErrorContains(t, err, "two dumps of rank 3")
}
