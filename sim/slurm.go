package sim

// emitSlurm is the map of jobs to nodes, as soperator exports it.
func (c *Cluster) emitSlurm(t *target, _ int64) {
	for _, j := range c.Jobs {
		if j.phase == jobOver || j.phase == jobWaiting {
			continue
		}
		for _, h := range j.hosts {
			key := [2]string{j.Spec.ID, h.Name}
			r, ok := c.jobRefs[key]
			if !ok {
				r = new(ref)
				c.jobRefs[key] = r
			}
			domain := ""
			if c.shape.HostsPerDomain > 0 {
				domain = c.shape.domainName(c.shape.domainOf(h.Index))
			}
			t.put(r, 1, "slurm_node_job", "job_id", j.Spec.ID, "node_name", h.Name, "nvlink_instance_group", domain, "nodeset_name", "gpu")
		}
	}
	for _, h := range c.Hosts {
		if !h.Drained && h.drainRef == 0 {
			continue
		}
		v := 0.0
		if h.Drained {
			v = 1
		}
		t.put(&h.drainRef, v, "slurm_node_info", "node_name", h.Name, "state_base", "IDLE", "state_is_drain", "true", "is_unavailable", "true", "reason", "maintenance")
	}
}

// emitNodeLabels is kube-state-metrics with an allow-list for topology labels.
func (c *Cluster) emitNodeLabels(t *target, _ int64) {
	for _, h := range c.Hosts {
		if h.labelRef != 0 {
			t.put(&h.labelRef, 1, "")
			continue
		}
		kv := []string{"node", h.Name}
		if c.shape.HostsPerRack > 0 {
			kv = append(kv, "label_topology_kubernetes_io_rack", c.shape.rackName(h.Index))
		}
		if c.shape.Fabric == FabricToR {
			kv = append(kv, "label_network_topology_nvidia_com_leaf", h.NICs[0].leaf.Name)
		}
		t.put(&h.labelRef, 1, "kube_node_labels", kv...)
	}
}

// emitTrainer is a training loop's own metrics.
func (c *Cluster) emitTrainer(t *target, _ int64) {
	for _, j := range c.Jobs {
		if j.phase == jobOver || j.phase == jobWaiting || j.phase == jobInit {
			continue
		}
		t.put(&j.stepRefs[0], float64(j.steps), "trainer_step_total", "slurm_job_id", j.Spec.ID)
		t.put(&j.stepRefs[1], j.lastStep, "trainer_step_time_seconds", "slurm_job_id", j.Spec.ID)
	}
}
