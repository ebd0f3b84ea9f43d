package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const crossed = "\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\t X \tNV18\tSYS\tPIX\nGPU1\tNV18\t X \tPIX\tSYS\nNIC0\tSYS\tPIX\t X \tSYS\nNIC1\tPIX\tSYS\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"

func TestAffinityFromDump(t *testing.T) {
	o := railLive(2, []string{"mlx5_0", "mlx5_1"}, nil)
	f := fabricOf(o, textOf(t, 0, "nvidia_smi_topo", "gpu-001", crossed))
	nic, assumed, ok := f.NICOf("gpu-001", "GPU0")
	require.True(t, ok)
	require.False(t, assumed)
	require.Equal(t, "mlx5_1", nic)
	nic, assumed, _ = f.NICOf("gpu-002", "GPU0")
	require.True(t, assumed, "no dump of this host")
	require.Equal(t, "mlx5_0", nic)
}

func TestAffinityOfAContainerIsNotUsed(t *testing.T) {
	o := railLive(2, four, nil) // four GPUs, the dump shows two
	f := fabricOf(o, textOf(t, 0, "nvidia_smi_topo", "gpu-001", crossed))
	_, assumed, _ := f.NICOf("gpu-001", "GPU0")
	require.True(t, assumed)
	require.Contains(t, texts(f), "shows 2 GPUs where the series show 4")
}

func TestAdapterNamedByPCI(t *testing.T) {
	o := railLive(1, []string{"ibp12s0"}, nil)
	o.Paths[[2]string{"gpu-001", "0000:0e:00.0"}] = "ibp12s0"
	dump := `<system><cpu><pci busid="00:0b:00.0"/><pci busid="0000:0e:00.0"><nic><net name="mlx5_0" dev="0" port="1" guid="0xb800000000000777"/></nic></pci></cpu></system>`
	f := fabricOf(o, textOf(t, 0, "nccl_topo", "gpu-001", dump))
	require.Len(t, f.Ports("gpu-001"), 1)
	require.Equal(t, "b800000000000777", f.Port("gpu-001", "ibp12s0").GUID)
}

func TestLongerWayToTheNIC(t *testing.T) {
	graph := func(class string) string {
		return fmt.Sprintf(`<graphs><graph id="0" pattern="4" nchannels="2" typeintra="NVL" typeinter="%s"/></graphs>`, class)
	}
	var files []sourceFacts
	for h := range 4 {
		class := "PIX"
		if h == 2 {
			class = "SYS"
		}
		files = append(files, textOf(t, 0, "nccl_graph", hostName(h), graph(class)))
	}
	f := fabricOf(Observed{}, files...)
	require.Contains(t, texts(f), "path of gpu-003: nccl_graph says SYS")
	require.Len(t, f.Disagreements(), 1)
}

func TestStorageServersCarryNoCollectives(t *testing.T) {
	o := railLive(4, four, named)
	o.NICs = append(o.NICs, ObservedNIC{Host: "store-1", Device: "mlx5_0", Port: "1", Rate: 5e10, Live: true})
	f := fabricOf(o, textOf(t, 0, "csv", "", "host,device,leaf\nstore-1,mlx5_0,leaf-r0\nstore-2,mlx5_0,leaf-r0\n"))
	require.False(t, f.Port("store-1", "mlx5_0").Compute)
	require.False(t, f.Port("store-2", "mlx5_0").Compute)
	require.True(t, f.Port("gpu-001", "mlx5_0").Compute)
}
