package contrib

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// route and the rest are what the test reads of Alertmanager's configuration.
type route struct {
	Receiver string   `yaml:"receiver"`
	Matchers []string `yaml:"matchers"`
	Continue bool     `yaml:"continue"`
	GroupBy  []string `yaml:"group_by"`
	Routes   []route  `yaml:"routes"`
}

type inhibitRule struct {
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string `yaml:"equal"`
}

type amConfig struct {
	Route     route         `yaml:"route"`
	Inhibit   []inhibitRule `yaml:"inhibit_rules"`
	Receivers []struct {
		Name string `yaml:"name"`
	} `yaml:"receivers"`
}

type labelSet map[string]string

func matches(t *testing.T, matchers []string, ls labelSet) bool {
	t.Helper()
	for _, text := range matchers {
		m, err := labels.ParseMatcher(text)
		require.NoError(t, err, text)
		if !m.Matches(ls[m.Name]) {
			return false
		}
	}
	return true
}

// receivers walks the tree as Alertmanager does.
func (r route) receivers(t *testing.T, ls labelSet, inherited string) []string {
	if r.Receiver == "" {
		r.Receiver = inherited
	}
	if !matches(t, r.Matchers, ls) {
		return nil
	}
	var out []string
	for _, child := range r.Routes {
		got := child.receivers(t, ls, r.Receiver)
		out = append(out, got...)
		if len(got) > 0 && !child.Continue {
			return out
		}
	}
	if len(out) > 0 {
		return out
	}
	return []string{r.Receiver}
}

func (c amConfig) inhibited(t *testing.T, source, target labelSet) bool {
	for _, rule := range c.Inhibit {
		if matches(t, rule.Source, source) && matches(t, rule.Target, target) &&
			!slices.ContainsFunc(rule.Equal, func(l string) bool { return source[l] != target[l] }) {
			return true
		}
	}
	return false
}

func with(base labelSet, pairs ...string) labelSet {
	out := labelSet{}
	maps.Copy(out, base)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func exampleConfig(t *testing.T) amConfig {
	t.Helper()
	text, err := os.ReadFile("alertmanager/alertmanager.yml")
	require.NoError(t, err)
	var c amConfig
	require.NoError(t, yaml.Unmarshal(text, &c))
	return c
}

var nicAlert = labelSet{
	"alertname": "CollwatchNicDegraded", "class": "nic_degraded", "severity": "critical", "cluster": "alpha",
	"job_id": "48213", "suspect_kind": "nic", "suspect_node": "gpu-007", "suspect_device": "mlx5_3", "scope": "rail:3",
	"owner_domain": "infrastructure", "source": "collwatch",
}

func TestExampleRoutes(t *testing.T) {
	c := exampleConfig(t)
	var defined []string
	for _, r := range c.Receivers {
		defined = append(defined, r.Name)
	}
	for name, want := range map[string]struct {
		labels    labelSet
		receivers []string
	}{
		"critical fault":      {nicAlert, []string{"on-call"}},
		"warning":             {with(nicAlert, "severity", "warning"), []string{"cluster-team"}},
		"of the job's code":   {with(nicAlert, "owner_domain", "workload", "severity", "critical"), []string{"job-owners"}},
		"nobody known":        {with(nicAlert, "owner_domain", "unknown"), []string{"on-call"}},
		"of a generated rule": {with(nicAlert, "source", "collwatch-rules", "severity", "warning"), []string{"cluster-team"}},
		"telemetry":           {with(nicAlert, "class", "telemetry_gap", "severity", "info"), []string{"monitoring-team"}},
		"delivery":            {labelSet{"alertname": "CollwatchDeliveryFailing", "class": "delivery_failing", "source": "collwatch"}, []string{"monitoring-team"}},
		"blind":               {labelSet{"alertname": "CollwatchBlind", "class": "blind", "source": "collwatch"}, []string{"monitoring-team"}},
		"heartbeat":           {labelSet{"alertname": "CollwatchHeartbeat", "source": "collwatch"}, []string{"dead-mans-switch"}},
		"of somebody else":    {labelSet{"alertname": "DiskFull"}, []string{"everything-else"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.Route.receivers(t, want.labels, "")
			require.Equal(t, want.receivers, got)
			require.Subset(t, defined, got)
		})
	}
}

func TestExampleInhibition(t *testing.T) {
	c := exampleConfig(t)
	raw := with(nicAlert, "alertname", "CollwatchRuleNicRate", "source", "collwatch-rules")
	step := labelSet{"alertname": "StepSlow", "team": "training", "cluster": "alpha", "job_id": "48213"}
	require.True(t, c.inhibited(t, nicAlert, raw), "the diagnosis silences the raw alert")
	require.False(t, c.inhibited(t, raw, nicAlert), "never the other way round")
	require.False(t, c.inhibited(t, nicAlert, with(raw, "job_id", "7")))
	flap := with(raw, "alertname", "CollwatchLinkFlap", "class", "link_flap", "suspect_kind", "link", "scope", "job")
	require.True(t, c.inhibited(t, nicAlert, flap), "another raw alert about the component that the diagnosis names")
	require.False(t, c.inhibited(t, nicAlert, with(flap, "suspect_device", "mlx5_4")))
	require.False(t, c.inhibited(t, nicAlert, with(flap, "cluster", "beta")))
	nobody, rawNobody := with(nicAlert), with(flap)
	for _, l := range []labelSet{nobody, rawNobody} {
		delete(l, "suspect_node")
		delete(l, "suspect_device")
	}
	require.False(t, c.inhibited(t, nobody, rawNobody), "who names nobody silences nothing else")
	require.True(t, c.inhibited(t, nicAlert, step), "infrastructure silences the alerts of its job")
	require.False(t, c.inhibited(t, nicAlert, with(step, "job_id", "7")))
	require.False(t, c.inhibited(t, with(nicAlert, "owner_domain", "workload"), step))
	fleet, noJob := with(nicAlert), with(step)
	delete(fleet, "job_id")
	delete(noJob, "job_id")
	require.False(t, c.inhibited(t, fleet, noJob), "a fault without a job silences no job alert")
	require.True(t, c.inhibited(t, nicAlert, with(nicAlert, "severity", "warning")), "the former severity")
	blind := labelSet{"alertname": "CollwatchBlind", "class": "blind", "cluster": "alpha", "source": "collwatch"}
	gap := with(nicAlert, "alertname", "CollwatchTelemetryGap", "class", "telemetry_gap", "severity", "info", "scope", "cluster")
	require.True(t, c.inhibited(t, blind, gap), "a source that is down is said once")
	require.False(t, c.inhibited(t, blind, nicAlert), "blindness hides no fault")
	require.False(t, c.inhibited(t, nicAlert, nicAlert), "nothing silences itself")
	require.False(t, c.inhibited(t, nicAlert, with(nicAlert, "severity", "warning", "suspect_device", "mlx5_4")))
}
