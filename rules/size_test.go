package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
)

// TestTenThousandJobs: as many jobs, each on a host of its own, and one port that
// goes down: one alert, with the right job, and no rule that fails or takes long.
func TestTenThousandJobs(t *testing.T) {
	const jobs = 10_000
	db, err := embedprom.Open(embedprom.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	sink, start := db.Appender(), time.Unix(1_767_312_000, 0)
	write := func(value func(i int) float64, metric string, labels ...string) {
		h := sink.Series(append([]string{"__name__", metric}, labels...)...)
		for i := range 10 {
			require.NoError(t, sink.Append(h, start.Add(time.Duration(i)*30*time.Second).UnixMilli(), value(i)))
		}
	}
	always := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	for i := range jobs {
		host := fmt.Sprintf("node%05d", i)
		write(always(1), "node_uname_info", "instance", host+":9100", "job", "node", "nodename", host)
		write(always(1), "slurm_node_job", "job_id", fmt.Sprint(100_000+i), "node_name", host)
		for _, device := range []string{"mlx5_0", "mlx5_1"} {
			state := always(4)
			if i == 4711 && device == "mlx5_1" {
				state = func(i int) float64 { return map[bool]float64{true: 4, false: 1}[i < 5] }
			}
			write(state, "node_infiniband_state_id", "instance", host+":9100", "job", "node", "device", device, "port", "1")
		}
	}
	require.NoError(t, sink.Commit())
	e, began := evaluator(t, db, nil), time.Now()
	for i := 4; i < 7; i++ {
		require.NoError(t, e.Eval(t.Context(), start.Add(time.Duration(i)*30*time.Second)))
	}
	require.Less(t, time.Since(began), 2*time.Minute, "three evaluations")
	var found []string
	for _, a := range e.Firing() {
		if a["class"] != "self" {
			found = append(found, a["alertname"]+" "+a["severity"]+" "+a["job_id"]+" "+a["suspect_node"]+" "+a["suspect_device"])
		}
	}
	require.Equal(t, []string{"CollwatchLinkDown critical 104711 node04711 mlx5_1"}, found)
}
