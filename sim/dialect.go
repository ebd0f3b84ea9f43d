package sim

// Dialect says which exporters a cluster has and how they spell things.
type Dialect struct {
	// Inspector is the form of the collective series: "G2" is the mainline
	// profiler behind the textfile collector, "G1" its early copies, "G3" a
	// collector that polls the logs; "" is none.
	Inspector string
	// Plugin is the collwatch plugin with its node exporter.
	Plugin bool
	// HostLabel of the GPU exporter: "Hostname" or "hostname"; "" is no GPU
	// exporter at all.
	HostLabel string
	// Domain makes instance a full name, such as "cluster.example".
	Domain string
	// NodeFQDN makes the node label of the profiler a full name too.
	NodeFQDN bool
	// NodeExporter has NIC, pressure and boot series; without it the textfile
	// series come from a collector of their own.
	NodeExporter bool
	// HWCounters are the transport counters that node_exporter has since 1.11.
	HWCounters bool
	// Pause is who exports PFC: "", "rdma_exporter" or "ethtool".
	Pause string
	// Switches is "", "infiniband" or "cumulus".
	Switches string
	// NodeLabels is kube-state-metrics with the rack and, in a fabric of ToR
	// switches, the leaf of each host.
	NodeLabels bool
	// JobMap is slurm_node_job.
	JobMap bool
	// StepTime is the trainer's own step counter and time.
	StepTime bool
	// Reasons, SMActive, PCIeLink, NVLinkLinks, XidCount and Violations are GPU
	// fields outside the stock list.
	Reasons, SMActive, PCIeLink, NVLinkLinks, XidCount, Violations bool
	// Percent exports profiling ratios as percent, as a site may.
	Percent bool
	// ZeroXid exports the Xid gauge as 0 before the first error.
	ZeroXid bool
}

// Full is everything a well-equipped InfiniBand site has.
func Full() Dialect {
	return Dialect{
		Inspector: "G2", HostLabel: "Hostname", NodeExporter: true, HWCounters: true, JobMap: true,
		Reasons: true, SMActive: true, PCIeLink: true, XidCount: true, ZeroXid: true,
	}
}

func (d Dialect) instance(host, port string) string {
	if d.Domain != "" {
		host += "." + d.Domain
	}
	return host + ":" + port
}

func (d Dialect) node(host string) string {
	if d.NodeFQDN && d.Domain != "" {
		return host + "." + d.Domain
	}
	return host
}
