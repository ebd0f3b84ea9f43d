package parse

import (
	"slices"
	"strings"
)

// spine is the level above Leaf: it places no host, only a switch.
const spine = "spine"

// nodeLabels are the known keys of node labels, nearest to the host first
// within a level. AWS counts layers from the top: 3 is closest.
func nodeLabels() map[string][]string {
	return map[string][]string{
		Leaf: {
			"fabric.topograph.run/tier-0", "network.topology.nvidia.com/leaf",
			"ib.coreweave.cloud/leafgroup", "backend.coreweave.cloud/leafgroup",
			"topology.k8s.aws/network-node-layer-3", "cloud.google.com/gce-topology-subblock", "oci.oraclecloud.com/rdma.local_block_id",
		},
		spine: {
			"fabric.topograph.run/tier-1", "network.topology.nvidia.com/spine",
			"topology.k8s.aws/network-node-layer-2", "cloud.google.com/gce-topology-block", "oci.oraclecloud.com/rdma.network_block_id",
		},
		Pod: {
			"ib.coreweave.cloud/superpod", "fabric.topograph.run/tier-1", "network.topology.nvidia.com/spine",
			"topology.k8s.aws/network-node-layer-2", "cloud.google.com/gce-topology-block",
			"oci.oraclecloud.com/rdma.network_block_id", "oci.oraclecloud.com/host.network_block_id",
		},
		Domain: {
			"nvidia.com/gpu.clique", "accelerator.topograph.run/domain", "network.topology.nvidia.com/accelerator",
			"topology.nebius.com/nvl-instance-group-id", "topology.k8s.aws/ultraserver-id",
		},
		Rack: {
			"node.coreweave.cloud/rack", "oci.oraclecloud.com/host.rack_id", "topology.kubernetes.io/rack",
		},
	}
}

// labelled places a host by its labels. The labels that the site names come
// before the known ones.
func (s *sink) labelled(line int, host string, labels map[string]string) {
	first := func(level string) string {
		for _, key := range slices.Concat(s.src.Labels[level], nodeLabels()[level]) {
			if v := strings.TrimSpace(labels[key]); !unknown(v) {
				return v
			}
		}
		return ""
	}
	leaf, above := first(Leaf), first(spine)
	s.place(line, host, Leaf, leaf)
	s.place(line, host, Rack, first(Rack))
	s.place(line, host, Domain, first(Domain))
	s.place(line, host, Pod, first(Pod))
	if leaf != "" && above != "" && leaf != above {
		s.trunk(Trunk{Switch: printable(leaf), Peer: printable(above), Line: line})
	}
	s.neighbours(line, host, labels)
}

// neighbours reads CoreWeave's labels of the expected and the current other end
// of each interface.
func (s *sink) neighbours(line int, host string, labels map[string]string) {
	keys := make([]string, 0, 8)
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		iface, plan, ok := neighbourKey(k)
		if !ok || unknown(labels[k]) {
			continue
		}
		base := strings.TrimSuffix(k, ".device")
		s.link(Link{
			Switch: printable(SwitchName(labels[k])), SwitchPort: printable(labels[base+".port-id"]), Host: canonical(host), Device: printable(iface),
			Iface: true, Plan: plan, Line: line,
		})
	}
}

func neighbourKey(key string) (iface string, plan, ok bool) {
	_, rest, ok := strings.Cut(key, "coreweave.cloud/neighbors.")
	if !ok {
		return "", false, false
	}
	which, rest, _ := strings.Cut(rest, ".")
	iface, ok = strings.CutSuffix(rest, ".device")
	return iface, which == "expected", ok && iface != "" && (which == "expected" || which == "current")
}
