package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var four = []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}

func named(h, k int) string { return fmt.Sprintf("%s mlx5_%d", hostName(h), k) }

func TestSeriesBeatFiles(t *testing.T) {
	// The file is older: it has one cable elsewhere.
	file := textOf(t, 0, "csv", "", "host,device,leaf\ngpu-001,mlx5_0,leaf-r1\ngpu-001,mlx5_1,leaf-r1\ngpu-002,mlx5_0,leaf-r0\n")
	f := fabricOf(railLive(4, four, named), file)
	p := f.Port("gpu-001", "mlx5_0")
	require.Equal(t, "leaf-r0", p.Leaf)
	require.Equal(t, "1", p.LeafPort)
	require.Equal(t, seriesSource, p.Source)
	require.Equal(t, "leaf-r1", p.ExpectedLeaf, "the plan names another leaf that exists")
	require.Len(t, p.Claims, 2)
	require.Equal(t, Claim{Source: "csv", Time: file.time, Value: "leaf-r1", Plan: true}, p.Claims[1])
	require.Contains(t, texts(f), "leaf of gpu-001/mlx5_0: series says leaf-r0, but csv says leaf-r1 is planned")
	require.Empty(t, f.Port("gpu-001", "mlx5_1").ExpectedLeaf)
}

func TestPlanWithOtherNamesAccusesNobody(t *testing.T) {
	text := "host,device,leaf\n"
	for h := range 6 {
		for k := range four {
			text += fmt.Sprintf("%s,mlx5_%d,leaf-r%d\n", hostName(h), k, (k+1)%4)
		}
	}
	f := fabricOf(railLive(6, four, named), textOf(t, 0, "csv", "", text))
	for _, h := range f.Hosts() {
		for _, p := range f.Ports(h) {
			require.Empty(t, p.ExpectedLeaf)
		}
	}
	require.Len(t, f.Disagreements(), 1)
	require.Contains(t, texts(f), "6 of 6 hosts")
}

func TestPlanAloneIsUsed(t *testing.T) {
	f := fabricOf(Observed{}, textOf(t, 0, "csv", "", "host,device,leaf,leaf_port,rail\ngpu-001,mlx5_0,leaf-r0,7,rail-a\n"))
	p := f.Port("gpu-001", "mlx5_0")
	require.Equal(t, "leaf-r0", p.Leaf)
	require.Equal(t, "7", p.LeafPort)
	require.Empty(t, p.ExpectedLeaf)
}

func TestSlotsResolveOnlyWhereTheyAreConsistent(t *testing.T) {
	slots := func(offset func(k int) int) func(h, k int) string {
		return func(h, k int) string {
			if h == 3 {
				return fmt.Sprintf("%s HCA-%d", hostName(h), offset(k))
			}
			return named(h, k)
		}
	}
	t.Run("counted from one", func(t *testing.T) {
		f := fabricOf(railLive(6, four, slots(func(k int) int { return k + 1 })))
		for k, d := range four {
			require.Equal(t, fmt.Sprintf("leaf-r%d", k), f.Port("gpu-004", d).Leaf)
			require.Empty(t, f.Port("gpu-004", d).ExpectedLeaf, "a pair of styles on one leaf is not mis-cabling")
		}
		require.Empty(t, texts(f))
	})
	t.Run("in another order", func(t *testing.T) {
		f := fabricOf(railLive(6, four, slots(func(k int) int { return 4 - k })))
		for _, d := range four {
			require.Empty(t, f.Port("gpu-004", d).Leaf)
			require.Empty(t, f.Port("gpu-004", d).ExpectedLeaf)
		}
		require.Len(t, f.HostLeaves("gpu-004"), 4, "the host is known to hang there")
	})
	t.Run("a GUID resolves them", func(t *testing.T) {
		o := railLive(6, four, nil)
		fabric := "Switch\t40 \"S-00000000000000a0\"\t\t# \"leaf-r0\" base port 0 lid 4 lmc 0\n[1]\t\"H-b800000000000777\"[1](b800000000000777) \t\t# \"gpu-004 HCA-3\" lid 5 4xNDR\n"
		dump := `<system version="1"><cpu numaid="0"><pci busid="0000:0e:00.0"><nic><net name="mlx5_0" dev="0" port="1" guid="0xb800000000000777"/></nic></pci></cpu></system>`
		f := fabricOf(o, textOf(t, 0, "ibnetdiscover", "", fabric), textOf(t, 1, "nccl_topo", "gpu-004", dump))
		require.Equal(t, "leaf-r0", f.Port("gpu-004", "mlx5_0").Leaf)
		require.Equal(t, "b800000000000777", f.Port("gpu-004", "mlx5_0").GUID)
		require.Empty(t, f.Port("gpu-004", "mlx5_2").Leaf)
	})
}

func TestGUIDBeatsADescriptionThatLies(t *testing.T) {
	fabric := "Switch\t40 \"S-00000000000000a0\"\t\t# \"leaf-r0\" base port 0 lid 4 lmc 0\n[1]\t\"H-b800000000000777\"[1](b800000000000777) \t\t# \"gpu-009 mlx5_0\" lid 5 4xNDR\n"
	dump := `<system><pci busid="0000:0e:00.0"><nic><net name="mlx5_0" dev="0" port="1" guid="0xb800000000000777"/></nic></pci></system>`
	f := fabricOf(railLive(6, four, nil), textOf(t, 0, "ibnetdiscover", "", fabric), textOf(t, 1, "nccl_topo", "gpu-004", dump))
	require.Equal(t, "leaf-r0", f.Port("gpu-004", "mlx5_0").Leaf)
	require.Contains(t, texts(f), "guid of gpu-004/mlx5_0")
}

func TestSwitchesOfOneNameStayTwo(t *testing.T) {
	block := func(guid, host string) string {
		return fmt.Sprintf("Switch\t40 \"S-%s\"\t\t# \"leaf\" base port 0 lid 4 lmc 0\n[1]\t\"H-%s\"[1](%s) \t\t# \"%s mlx5_0\" lid 5 4xNDR\n\n", guid, host[4:]+"0000000000001", host[4:]+"0000000000001", host)
	}
	f := fabricOf(Observed{}, textOf(t, 0, "ibnetdiscover", "", block("00000000000000a0", "gpu-001")+block("00000000000000a1", "gpu-002")))
	require.Len(t, f.Leaves(), 2)
	require.NotEqual(t, f.Port("gpu-001", "mlx5_0").Leaf, f.Port("gpu-002", "mlx5_0").Leaf)
}

func TestManagedNameIsOneWithThatOfSeries(t *testing.T) {
	o := railLive(3, four, named)
	for i := range o.Links {
		o.Links[i].Switch = "MF0;" + o.Links[i].Switch + ":MQM9700/U1"
	}
	f := fabricOf(o, textOf(t, 0, "csv", "", "host,device,leaf\ngpu-001,mlx5_0,leaf-r0\ngpu-001,mlx5_1,leaf-r1\n"))
	require.Equal(t, "MF0;leaf-r0:MQM9700/U1", f.Port("gpu-001", "mlx5_0").Leaf, "findings about the switch call it so")
	require.Empty(t, texts(f))
}

func TestPlacesDisagreeByCompany(t *testing.T) {
	labels := func(racks ...string) Observed {
		o := Observed{Rack: map[string]string{}}
		for h, r := range racks {
			o.Rack[hostName(h)] = r
		}
		return o
	}
	file := textOf(t, 0, "csv", "", "host,rack\ngpu-001,A\ngpu-002,A\ngpu-003,A\ngpu-004,B\ngpu-005,B\ngpu-006,B\n")
	require.Empty(t, texts(fabricOf(labels("r1", "r1", "r1", "r2", "r2", "r2"), file)), "other names for the same racks")
	require.Empty(t, texts(fabricOf(labels("h1", "h2", "h3", "h4", "h5", "h6"), file)), "a finer division")
	require.Empty(t, texts(fabricOf(labels("row", "row", "row", "row", "row", "row"), file)), "a coarser one")
	f := fabricOf(labels("r1", "r1", "r2", "r2", "r2", "r2"), file)
	require.Equal(t, "rack of gpu-003: series says r2, but csv says A (2026-01-05 11:00)\n", texts(f))
	require.Equal(t, "r2", f.Rack("gpu-003"))
}

func TestHostUnderSeveralLeaves(t *testing.T) {
	f := fabricOf(Observed{}, textOf(t, 0, "slurm_conf", "", "SwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=n[1-2]\nSwitchName=s Switches=a,b\n"))
	require.Empty(t, f.HostLeaf("n1"), "which one is meant is unknown")
	require.Equal(t, []string{"a", "b"}, f.HostLeaves("n1"))
	require.Equal(t, "a", f.HostLeaf("n3"))
	require.Len(t, f.Uplinks("a"), 1)
	require.Equal(t, "s", f.Uplinks("a")[0].Peer)
}

func TestSlurmAgainstCables(t *testing.T) {
	o := railLive(6, []string{"mlx5_0"}, func(h, _ int) string { return hostName(h) + " mlx5_0" })
	for i := range o.Links {
		o.Links[i].Switch = map[bool]string{true: "leaf-a", false: "leaf-b"}[i < 3]
	}
	f := fabricOf(o, textOf(t, 0, "slurm_conf", "", "SwitchName=leaf-a Nodes=gpu-[001-004]\nSwitchName=leaf-b Nodes=gpu-[005-006]\n"))
	require.Contains(t, texts(f), "leaf of gpu-004: series says leaf-b; as a whole it is said to hang on leaf-a")
}

func TestUplinksTurnTowardsHosts(t *testing.T) {
	o := railLive(2, four, named)
	o.Uplinks = []Uplink{
		{Switch: "spine-1", Port: "1", Peer: "leaf-r0", PeerPort: "33"},
		{Switch: "leaf-r0", Port: "33", Peer: "spine-1", PeerPort: "1"},
		{Switch: "leaf-r0", Port: "34", Peer: "spine-1", PeerPort: "2"},
		{Switch: "core", Port: "1", Peer: "spine-1", PeerPort: "60"},
	}
	f := fabricOf(o, textOf(t, 0, "slurm_conf", "", "SwitchName=leaf-r0 Nodes=gpu-[001-002]\nSwitchName=spine-1 Switches=leaf-r0\n"))
	require.Len(t, f.Uplinks("leaf-r0"), 2, "each cable once, and no tree beside cables")
	require.Equal(t, "core", f.Uplinks("spine-1")[0].Peer)
	require.Empty(t, f.Uplinks("core"))
}

func TestNVLinkDomain(t *testing.T) {
	f := fabricOf(Observed{Domain: map[string]string{"nvl-1": "x.1"}},
		textOf(t, 0, "nvidia_smi_fabric", "nvl-2", "    Fabric\n        State : Completed\n        Status : Success\n        CliqueId : 1\n        ClusterUUID : x\n"))
	require.Equal(t, []string{"nvl-1", "nvl-2"}, f.InDomain("x.1"))
}
