package config

import (
	"maps"
	"time"
)

// Durations of the defaults, to read like the documentation.
const (
	second = Duration(time.Second)
	minute = Duration(time.Minute)
	hour   = Duration(time.Hour)
)

// Global is the table [global].
type Global struct {
	// Time between two evaluations. Evaluation times are multiples of it.
	Interval Duration `toml:"interval" check:"positive"`
	// How long after the fact a server is asked, so that slow scrapes and remote stores have arrived.
	QueryOffset Duration `toml:"query_offset" check:"nonneg"`
	// Address under which people reach the status pages, with a path prefix if there is one. Links in alerts and Slack messages start with it; the default is the host's name and the port listened on.
	ExternalURL URL `toml:"external_url"`
	// Folder for incidents and baselines. Relative paths start at the working directory. A reload does not move it, a restart does.
	StateDir string `toml:"state_dir" check:"required"`
	// Time between two writes of the baselines. Incidents are written at each change.
	StateInterval Duration `toml:"state_interval" check:"positive"`
	// Name of this cluster, the label "cluster" of every alert. Empty leaves the label out.
	Cluster string `toml:"cluster"`
	// Labels added to every alert. Two daemons that back each other up must have the same.
	ExternalLabels map[string]string `toml:"external_labels" check:"label"`
	// Time between two looks whether the configuration file has changed, to load it again. 0 leaves that to SIGHUP and POST /-/reload.
	ReloadInterval Duration `toml:"reload_interval" check:"nonneg"`
	// History that is read at start, so that a restart is not blind until baselines have formed again.
	WarmUp Duration `toml:"warm_up" check:"nonneg"`
	// The part of all jobs that this daemon speaks about, such as "2/8" for the second of eight daemons. What concerns no job goes by host. Each daemon needs a state folder of its own. Empty is all.
	Shard Shard `toml:"shard"`
}

func (g *Global) setDefaults() {
	*g = Global{
		Interval:      15 * second,
		QueryOffset:   30 * second,
		StateDir:      "data",
		StateInterval: 30 * second,
		WarmUp:        hour,
	}
}

// Labels returns the labels of every alert: the external labels and the
// cluster's name.
func (g Global) Labels() map[string]string {
	labels := make(map[string]string, len(g.ExternalLabels)+1)
	maps.Copy(labels, g.ExternalLabels)
	if g.Cluster != "" {
		labels["cluster"] = g.Cluster
	}
	return labels
}
