package rules

// classRule says how a class of fault becomes rules, or why it cannot.
type classRule struct {
	build  func(b *builder)
	cannot string
}

// classRules lists the classes of the vocabulary.
func classRules() map[string]classRule {
	const needsTopology = "needs to know which NIC hangs on which leaf, and blames a larger component only with a majority of its members sick: the daemon reads the topology"
	const needsHistory = "compares jobs of one shape over days and over different hosts; PromQL has no notion of the job that ran before"
	return map[string]classRule{
		"link_down":               {build: linkDown},
		"link_flap":               {build: linkFlap},
		"nic_degraded":            {build: nicDegraded},
		"nic_contention":          {build: nicContention},
		"nic_unused_after_flap":   {build: nicUnused},
		"rail_degraded":           {build: railDegraded},
		"leaf_restart":            {build: leafRestart},
		"roce_congestion":         {build: roceCongestion},
		"roce_loss":               {build: roceLoss},
		"pfc_storm":               {build: pfcStorm},
		"fabric_congestion":       {build: fabricCongestion},
		"node_restart":            {build: nodeRestart},
		"pcie_degraded":           {build: pcieDegraded},
		"nvlink_degraded":         {build: nvlinkDegraded},
		"gpu_throttle":            {build: gpuThrottle},
		"gpu_fault":               {build: gpuFault},
		"straggler_compute":       {build: stragglerCompute},
		"compute_comm_contention": {build: computeCommContention},
		"collective_stall":        {build: collectiveStall},
		"init_stall":              {build: initStall},
		"telemetry_gap":           {build: telemetryGap},

		"rail_miscabled":         {cannot: "compares the cabling that should be with the one that is, which no series holds"},
		"leaf_degraded":          {cannot: needsTopology},
		"uplink_congestion":      {cannot: "needs to know which ports of a switch are uplinks of equal rank"},
		"host_path_degraded":     {cannot: needsHistory},
		"config_suspected":       {cannot: needsHistory},
		"node_suspect":           {cannot: needsHistory},
		"nvlink_domain_fault":    {cannot: "needs the NVLink domain of each host and the order in which hosts stopped, below the evaluation interval of rules"},
		"thermal_group":          {cannot: "needs the rack of each host"},
		"rotating_straggler":     {cannot: "counts who was late in each of many windows; PromQL keeps no such tally"},
		"role_imbalance":         {cannot: "needs the pipeline stage of each rank"},
		"inefficient_collective": {cannot: "needs the best decile that the same shape reached in other jobs"},
	}
}
