package contrib

import (
	"os"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestRelabellingExample: what the example says of each job is what it does.
func TestRelabellingExample(t *testing.T) {
	data, err := os.ReadFile("prometheus/relabelling.yml")
	require.NoError(t, err)
	var file struct {
		Scrape []struct {
			Job    string            `yaml:"job_name"`
			Target []*relabel.Config `yaml:"relabel_configs"`
			Metric []*relabel.Config `yaml:"metric_relabel_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(data, &file))
	for name, c := range map[string]struct {
		job        string
		target     bool
		have, want map[string]string // want is nil for what is dropped
	}{
		"domain and case": {"node", true, map[string]string{"__address__": "GPU-007.rack1.example.org:9100"}, map[string]string{"__address__": "GPU-007.rack1.example.org:9100", "nodename": "gpu-007"}},
		"an address":      {"node", true, map[string]string{"__address__": "10.0.0.5:9100"}, map[string]string{"__address__": "10.0.0.5:9100", "nodename": "10.0.0.5"}},
		"container":       {"node", false, map[string]string{"device": "veth12"}, nil},
		"card":            {"node", false, map[string]string{"device": "mlx5_0"}, map[string]string{"device": "mlx5_0"}},
		"old Hostname":    {"dcgm", false, map[string]string{"Hostname": "GPU-007", "pod": "w"}, map[string]string{"hostname": "gpu-007", "pod": "w"}},
		"new hostname":    {"dcgm", false, map[string]string{"hostname": "GPU-007"}, map[string]string{"hostname": "gpu-007"}},
		"neither":         {"dcgm", false, map[string]string{"gpu": "0"}, map[string]string{"gpu": "0"}},
		"inspector":       {"node-inspector", false, map[string]string{"__name__": "nccl_bus_bandwidth_gbs", "coll_sn": "9", "rank": "1"}, map[string]string{"__name__": "nccl_bus_bandwidth_gbs", "rank": "1"}},
		"its clock":       {"node-inspector", false, map[string]string{"__name__": "node_textfile_mtime_seconds"}, map[string]string{"__name__": "node_textfile_mtime_seconds"}},
		"not inspector":   {"node-inspector", false, map[string]string{"__name__": "node_load1"}, nil},
		"pod name":        {"dcgm-pods", false, map[string]string{"Hostname": "dcgm-exporter-x2k", "node": "gpu-007"}, map[string]string{"node": "gpu-007"}},
	} {
		found := false
		for _, s := range file.Scrape {
			if s.Job != c.job {
				continue
			}
			found = true
			rules := s.Metric
			if c.target {
				rules = s.Target
			}
			for _, r := range rules {
				r.NameValidationScheme = model.LegacyValidation
			}
			b := labels.NewBuilder(labels.FromMap(c.have))
			if kept := relabel.ProcessBuilder(b, rules...); !kept {
				require.Nil(t, c.want, name)
				continue
			}
			require.Equal(t, c.want, b.Labels().Map(), name)
		}
		require.True(t, found, name)
	}
}
