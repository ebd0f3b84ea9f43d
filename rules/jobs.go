package rules

import (
	"fmt"
	"strings"
)

const (
	// jobNow is 1 per job and host while the job runs there.
	jobNow = "job:job_on_node:info"
	// jobOfHost is the one job of a host; hosts that several jobs share have
	// none. It outlives the job by jobMemory, so that the alert of a fault that
	// killed its job keeps the job's name.
	jobOfHost = "host:job:info"
	jobMemory = "15m"
)

// mapJobs records which job runs where, from the best source there is.
func (b *builder) mapJobs() {
	var parts []string
	add := func(metric, expr string) {
		if b.metric(metric) {
			parts = append(parts, expr)
		}
	}
	host := func(expr, from string) string { return relabel(expr, "host", from, hostPattern, "$1") }
	add("slurm_node_job", "max by (job_id, host) ("+host("slurm_node_job", "node_name")+")")
	if b.metric("kube_pod_info") && b.metric("kube_pod_labels") {
		var named []string
		for _, l := range []string{
			"training_kubeflow_org_job_name", "jobset_sigs_k8s_io_jobset_name", "leaderworkerset_sigs_k8s_io_name", "ray_io_cluster",
			"volcano_sh_job_name", "batch_kubernetes_io_job_name",
		} {
			named = append(named, fmt.Sprintf(`label_replace(kube_pod_labels{label_%s!=""}, "job_id", "$1", "label_%s", "(.+)")`, l, l))
		}
		parts = append(parts, fmt.Sprintf(`max by (job_id, host) (topk by (namespace, pod) (1, max by (namespace, pod, host) (%s)) * on (namespace, pod) group_right (host) `+
			`max by (namespace, pod, job_id) (%s))`, host("kube_pod_info", "node"), strings.Join(named, " or on (namespace, pod) ")))
	}
	add("DCGM_FI_DEV_GPU_UTIL", `max by (job_id, host) (label_replace(`+host(`DCGM_FI_DEV_GPU_UTIL{hpc_job=~".*[^0].*"}`,
		"Hostname|hostname|instance")+`, "job_id", "$1", "hpc_job", "(.+)") * 0 + 1)`)
	add("nccl_collective_exec_time_microseconds", `max by (job_id, host) (label_replace(`+
		host(`nccl_collective_exec_time_microseconds{slurm_job_id!="",slurm_job_id!="unknown"}`, "node|hostname|instance")+
		`, "job_id", "$1", "slurm_job_id", "(.+)") * 0 + 1)`)
	add("collwatch_nccl_process_info", `max by (job_id, host) (`+host(`collwatch_nccl_process_info{job_id!=""}`, "node|instance")+`)`)
	if len(parts) == 0 {
		return
	}
	b.jobs = true
	b.put(jobNow, strings.Join(parts, " or on (host) ")+` > 0`, "which job runs on which host")
	b.put(jobSingle, fmt.Sprintf(`%s and on (host) (count by (host) (%s) == 1)`, jobNow, jobNow), "hosts with one job")
	b.put(jobOfHost, fmt.Sprintf(`%s or on (host) topk by (host) (1, last_over_time(%s[%s]))`, jobSingle, jobSingle, jobMemory),
		"the job of a host, for a while after its end too")
}

// jobSingle is jobNow for hosts with one job.
const jobSingle = "host:job_now:info"

// ofJob adds the job that runs now to rows with a host.
func ofJob(series string) string {
	return fmt.Sprintf("%s * on (host) group_left (job_id) %s", series, jobSingle)
}
