package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/embedprom"
	"github.com/collwatch/collwatch/rules"
)

// rack are four hosts of four ports in a job; of host 2 the port mlx5_1 goes down
// after five minutes. Hosts and instances are named by the caller, extra are
// labels of every series, in pairs.
type rack struct {
	name     func(host int) string
	instance func(host int) string
	job      string
	extra    []string
	healthy  bool
	onlyDCGM bool
}

const rackSamples = 24

func (r rack) write(t *testing.T, db *embedprom.DB, start time.Time) {
	t.Helper()
	sink := db.Appender()
	put := func(value func(i int) float64, metric string, labels ...string) {
		h := sink.Series(slices.Concat([]string{"__name__", metric}, labels, r.extra)...)
		for i := range rackSamples {
			require.NoError(t, sink.Append(h, start.Add(time.Duration(i)*30*time.Second).UnixMilli(), value(i)))
		}
	}
	flat := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	for host := range 4 {
		name, instance := r.name(host), r.instance(host)
		if r.onlyDCGM {
			for gpu := range 4 {
				failed := flat(0)
				if host == 2 && gpu == 1 {
					failed = func(i int) float64 { return map[bool]float64{false: 0, true: 1}[i >= 10] }
				}
				put(failed, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "Hostname", name, "instance", instance, "gpu", fmt.Sprint(gpu))
				put(flat(90), "DCGM_FI_DEV_GPU_UTIL", "Hostname", name, "instance", instance, "gpu", fmt.Sprint(gpu), "hpc_job", r.job)
			}
			continue
		}
		put(flat(1), "node_uname_info", "instance", instance, "job", "node", "nodename", name)
		put(flat(1), "slurm_node_job", "job_id", r.job, "node_name", name)
		for d := range 4 {
			state := flat(4)
			if host == 2 && d == 1 && !r.healthy {
				state = func(i int) float64 { return map[bool]float64{false: 4, true: 1}[i >= 10] }
			}
			put(state, "node_infiniband_state_id", "instance", instance, "job", "node", "device", fmt.Sprintf("mlx5_%d", d), "port", "1")
		}
	}
	require.NoError(t, sink.Commit())
}

// TestOddSites: however hosts, jobs and clusters are named, an alert names the
// right one, and no rule fails.
func TestOddSites(t *testing.T) {
	plain := func(host int) string { return fmt.Sprintf("node%d", host) }
	on := func(name func(int) string) func(int) string { return func(h int) string { return name(h) + ":9100" } }
	domain := func(host int) string { return fmt.Sprintf("node%d.rack1.example.org", host) }
	address := func(host int) string { return fmt.Sprintf("10.0.0.%d:9100", host) }
	down := func(job, node string) string { return "CollwatchLinkDown " + job + " " + node + "/mlx5_1" }
	for name, c := range map[string]struct {
		racks []rack
		keep  []string
		want  []string
	}{
		"plain":             {[]rack{{name: plain, instance: on(plain), job: "7"}}, nil, []string{down("7", "node2")}},
		"domains":           {[]rack{{name: domain, instance: on(domain), job: "7"}}, nil, []string{down("7", "node2")}},
		"addresses":         {[]rack{{name: domain, instance: address, job: "7"}}, nil, []string{down("7", "node2")}},
		"quotes":            {[]rack{{name: plain, instance: address, job: `a"b'c\d{{e}}$1`}}, nil, []string{down(`a"b'c\d{{e}}$1`, "node2")}},
		"replicas":          {[]rack{{name: plain, instance: address, job: "7", extra: []string{"replica", "a"}}, {name: plain, instance: address, job: "7", extra: []string{"replica", "b"}}}, nil, []string{down("7", "node2")}},
		"the GPUs' only":    {[]rack{{name: plain, instance: on(plain), job: "7", onlyDCGM: true}}, nil, []string{"CollwatchGpuFault 7 node2/GPU1"}},
		"two names of one":  {[]rack{{name: plain, instance: address, job: "7"}, {name: func(int) string { return "old" }, instance: func(int) string { return "10.0.0.3:9100" }, job: "7", healthy: true, extra: []string{"site", "x"}}}, nil, []string{down("7", "node2")}},
		"two clusters":      {[]rack{{name: plain, instance: address, job: "7", extra: []string{"cluster", "a"}}, {name: plain, instance: address, job: "8", healthy: true, extra: []string{"cluster", "b"}}}, []string{"cluster"}, []string{down("7", "node2") + " a"}},
		"a fault in both":   {[]rack{{name: plain, instance: address, job: "7", extra: []string{"cluster", "a"}}, {name: plain, instance: address, job: "7", extra: []string{"cluster", "b"}}}, []string{"cluster"}, []string{down("7", "node2") + " a", down("7", "node2") + " b"}},
		"the same, renamed": {[]rack{{name: plain, instance: address, job: "7", extra: []string{"cluster", "a"}}, {name: func(h int) string { return fmt.Sprintf("other%d", h) }, instance: address, job: "8", healthy: true, extra: []string{"cluster", "b"}}}, []string{"cluster"}, []string{down("7", "node2") + " a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := embedprom.Open(embedprom.Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close()) }()
			start := time.Unix(1_767_312_000, 0)
			for _, r := range c.racks {
				r.write(t, db, start)
			}
			metrics, err := db.Querier().LabelValues(t.Context(), "__name__", nil, windowOf(db))
			require.NoError(t, err)
			e := evaluator(t, db, func(o *rules.Options) { o.Metrics, o.KeepLabels = metrics, c.keep })
			for i := range rackSamples {
				require.NoError(t, e.Eval(t.Context(), start.Add(time.Duration(i)*30*time.Second)))
			}
			var got []string
			for _, a := range e.Firing() {
				if a["class"] != "self" {
					got = append(got, strings.TrimSpace(a["alertname"]+" "+a["job_id"]+" "+a["suspect_node"]+"/"+a["suspect_device"]+" "+a["cluster"]))
				}
			}
			slices.Sort(got)
			require.Equal(t, c.want, got)
		})
	}
}

// TestKeptLabels: all targets load rules with them, and their own names are not
// to be kept.
func TestKeptLabels(t *testing.T) {
	for _, p := range rules.Profiles() {
		out := generate(t, func(o *rules.Options) { o.Target, o.Single, o.KeepLabels = p.Name, true, []string{"cluster", "site"} })
		parse(t, out.Files[0].Data)
		require.Empty(t, rules.Lint("f", out.Files[0].Data, rules.LintOptions{Target: p.Name}))
	}
	o := rules.Default()
	o.KeepLabels, o.Labels = []string{"host", "clüster", "site"}, map[string]string{"site": "x"}
	_, err := rules.Generate(o)
	for _, want := range []string{`label "host" is one of the rules' own`, `label "clüster" to keep`, `label "site" cannot be kept and be given`} {
		require.ErrorContains(t, err, want)
	}
}
