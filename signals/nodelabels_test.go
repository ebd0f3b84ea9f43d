package signals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

// TestNodeLabels reads where hosts hang from labels of nodes: those of known
// platforms, those of the site, and the ends of cables.
func TestNodeLabels(t *testing.T) {
	db := load(t, `# TYPE kube_node_labels gauge
kube_node_labels{node="new-1",label_fabric_topograph_run_tier_0="leaf-a",label_accelerator_topograph_run_domain="nvl-b"} 1 1000
kube_node_labels{node="neb-1",label_topology_nebius_com_nvl_instance_group_id="grp"} 1 1000
kube_node_labels{node="site-1",label_example_org_rack_no="r9",label_topology_kubernetes_io_rack="other"} 1 1000
kube_node_labels{node="cw-1",label_ib_coreweave_cloud_neighbors_current_ibp0_device="leaf-r3",label_ib_coreweave_cloud_neighbors_current_ibp0_port_id="9",label_ib_coreweave_cloud_neighbors_expected_ibp0_device="leaf-r2",label_ib_coreweave_cloud_neighbors_wrong_ibp0_device="x"} 1 1000
# EOF
`)
	r := reader(t, db, signals.Options{NodeLabels: [][2]string{{"example.org/rack-no", "rack"}}})
	s := r.Read(t.Context(), unix(1005))
	f := s.Frame(signals.HostParent)
	got := map[[3]string]string{}
	for i := range f.Len() {
		e := s.Entities.Of(f.Entity[i])
		port := ""
		if e.Port != "" {
			port = ":" + e.Port
		}
		got[[3]string{e.Host, e.Device, e.Detail}] = e.Peer + port // the last of several counts
	}
	require.Equal(t, map[[3]string]string{
		{"new-1", "", "leaf"}: "leaf-a", {"new-1", "", "domain"}: "nvl-b", {"neb-1", "", "domain"}: "grp", {"site-1", "", "rack"}: "r9",
		{"cw-1", "ibp0", "leaf_current"}: "leaf-r3:9", {"cw-1", "ibp0", "leaf_expected"}: "leaf-r2",
	}, got)
}
