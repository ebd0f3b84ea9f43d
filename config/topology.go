package config

// Topology is the table [topology].
type Topology struct {
	// Time between two readings of all sources.
	Refresh Duration `toml:"refresh" check:"positive"`
	// Use what series say: uplink records of switch exporters, node labels of kube-state-metrics, NVLink domains.
	FromSeries bool `toml:"from_series"`
	// Files to read, in the order of trust where two of one kind disagree.
	Files []TopologyFile `toml:"file"`
	// Names of node labels that give a host's place, where they differ from the known ones.
	Labels TopologyLabels `toml:"labels"`
}

// TopologyFile is one [[topology.file]].
type TopologyFile struct {
	// What the file is.
	Kind string `toml:"kind" check:"required,oneof=slurm_conf|slurm_yaml|topograph|node_labels|ibnetdiscover|iblinkinfo|nccl_topo|nccl_graph|nvidia_smi_topo|nvidia_smi_fabric|csv|rank_map" example:"slurm_conf"`
	// Path. For dumps of single hosts a pattern such as "/srv/topo/*.xml": the part that the star stands for is the host's name.
	Path string `toml:"path" check:"required,glob" example:"/etc/slurm/topology.conf"`
	// Host that a dump was taken on, where the path does not tell.
	Host string `toml:"host"`
}

// TopologyLabels are names of node labels, as in Kubernetes.
type TopologyLabels struct {
	// Labels that name the rack.
	Rack []string `toml:"rack"`
	// Labels that name the leaf switch or the group of hosts next to each other.
	Leaf []string `toml:"leaf"`
	// Labels that name the spine or the next larger group.
	Spine []string `toml:"spine"`
	// Labels that name the NVLink domain.
	Domain []string `toml:"domain"`
}

func (t *Topology) setDefaults() {
	*t = Topology{Refresh: minute, FromSeries: true}
}
