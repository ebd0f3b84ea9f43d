package signals

import "strings"

// slurm is the soperator's exporter, the one that maps jobs to nodes.
func slurm() Dialect {
	const on = "soperator's Slurm exporter (slurm_node_job)"
	return Dialect{
		Name: "slurm", Exporter: "slurm", Family: "jobs", Rank: 10, Kind: KindJob, About: "soperator's Slurm exporter; others have no job to node map",
		Columns: Columns{Host: "node_name", Job: "job_id"},
		Rules: []Rule{
			{Metric: "slurm_node_job", Signal: JobOnNode, Type: Info, Join: JoinJobNode, Enable: on},
			{Metric: "slurm_job_info", Signal: JobState, Type: Info, Detail: "{job_state}", Columns: Columns{Host: "-"}, Join: JoinJobInfo, Enable: on},
			{Metric: "slurm_node_info", Kind: KindHost, Signal: NodeState, Type: Info, Join: JoinNodeState, Columns: Columns{Job: "-"}, Enable: on},
			{
				Metric: "slurm_node_nvlink_instance_group", Kind: KindHost, Signal: HostParent, Type: Info, Detail: "domain",
				Columns: Columns{Peer: "nvlink_instance_group", Job: "-"}, Enable: on,
			},
			// rivosinc's exporter with the process tracer.
			{
				Metric: "slurm_proc_pid", Signal: JobOnNode, Type: Info, Join: JoinJobNode, Columns: Columns{Host: "hostname", Job: "jobid"}, Second: true,
				Enable: "rivosinc exporter with process tracing",
			},
		},
	}
}

// kube is kube-state-metrics as far as it places pods of jobs.
func kube() Dialect {
	const labels = "kube-state-metrics --metric-labels-allowlist=pods=[...]"
	return Dialect{
		Name: "kube-pods", Exporter: "kube-state-metrics", Family: "jobs", Rank: 20, Kind: KindJob, About: "kube-state-metrics: pods, their nodes and their jobs",
		Columns: Columns{Host: "node", Pod: "pod|exported_pod", Namespace: "namespace|exported_namespace"},
		Rules: []Rule{
			{Metric: "kube_pod_info", Signal: JobOnNode, Type: Info, Join: JoinPodNode, Enable: "kube-state-metrics"},
			{Metric: "kube_pod_labels", Signal: JobOnNode, Type: Info, Join: JoinPodJob, Enable: labels},
		},
	}
}

// kubeNodes is kube-state-metrics as far as it tells about nodes.
func kubeNodes() Dialect {
	return Dialect{
		Name: "kube-nodes", Exporter: "kube-state-metrics", Family: "jobs", Rank: 20, Kind: KindHost, About: "kube-state-metrics: cordons, taints and labels of nodes",
		Columns: Columns{Host: "node"},
		Rules: []Rule{
			{Metric: "kube_node_spec_unschedulable", Signal: NodeState, Detail: "cordoned", Values: map[float64]float64{1: 1}},
			{Metric: "kube_node_spec_taint", Signal: NodeState, Type: Info, Detail: "taint:{key}"},
			{
				Metric: "kube_node_labels", Signal: HostParent, Type: Info, Join: JoinNodeLabels,
				Enable: "kube-state-metrics --metric-labels-allowlist=nodes=[...]",
			},
		},
	}
}

// podJobLabels are the framework labels that name a job, in order.
func podJobLabels() []string {
	return []string{
		"label_training_kubeflow_org_job_name", "label_jobset_sigs_k8s_io_jobset_name", "label_leaderworkerset_sigs_k8s_io_name",
		"label_ray_io_cluster", "label_volcano_sh_job_name", "label_batch_kubernetes_io_job_name", "label_job_name",
	}
}

// nodeParentLabels are node labels that say where a host hangs, with the
// Entity.Detail they stand for.
func nodeParentLabels() [][2]string {
	return [][2]string{
		{"label_topology_k8s_aws_network_node_layer_3", "leaf"},
		{"label_topology_k8s_aws_network_node_layer_2", "pod"},
		{"label_cloud_google_com_gce_topology_host", "rack"},
		{"label_cloud_google_com_gce_topology_subblock", "leaf"},
		{"label_cloud_google_com_gce_topology_block", "pod"},
		{"label_oci_oraclecloud_com_rdma_local_block_id", "leaf"},
		{"label_oci_oraclecloud_com_rdma_network_block_id", "pod"},
		{"label_backend_coreweave_cloud_leafgroup", "leaf"},
		{"label_backend_coreweave_cloud_superpod", "pod"},
		{"label_ib_coreweave_cloud_leafgroup", "leaf"},
		{"label_nvidia_com_gpu_clique", "domain"},
		{"label_network_topology_nvidia_com_leaf", "leaf"},
		{"label_network_topology_nvidia_com_spine", "pod"},
		{"label_network_topology_nvidia_com_accelerator", "domain"},
		{"label_topology_kubernetes_io_rack", "rack"},
		{"label_node_coreweave_cloud_rack", "rack"},
		{"label_oci_oraclecloud_com_host_rack_id", "rack"},
		{"label_oci_oraclecloud_com_host_network_block_id", "pod"},
		{"label_ib_coreweave_cloud_superpod", "pod"},
		{"label_fabric_topograph_run_tier_0", "leaf"},
		{"label_fabric_topograph_run_tier_1", "pod"},
		{"label_accelerator_topograph_run_domain", "domain"},
		{"label_topology_nebius_com_nvl_instance_group_id", "domain"},
		{"label_topology_k8s_aws_ultraserver_id", "domain"},
	}
}

// neighbourLabel takes CoreWeave's labels of cables apart, which have the name of
// the interface inside: label_ib_coreweave_cloud_neighbors_current_ibp0_device.
func neighbourLabel(name string) (iface, detail string, ok bool) {
	_, rest, ok := strings.Cut(name, "_coreweave_cloud_neighbors_")
	if !ok {
		return "", "", false
	}
	which, rest, _ := strings.Cut(rest, "_")
	iface, ok = strings.CutSuffix(rest, "_device")
	return iface, "leaf_" + which, ok && iface != "" && (which == "expected" || which == "current")
}
