package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// railCluster is hosts × devices, device k of each host on leaf-r<k>.
func railCluster(hosts int, devices []string) Observed {
	o := Observed{GPUs: map[string][]string{}}
	for h := range hosts {
		host := fmt.Sprintf("node%02d", h)
		for k, d := range devices {
			o.NICs = append(o.NICs, ObservedNIC{Host: host, Device: d, Port: "1", Model: "MT4129", Rate: 5e10, Leaf: fmt.Sprintf("leaf-r%d", k)})
			o.GPUs[host] = append(o.GPUs[host], fmt.Sprintf("GPU%d", k))
		}
	}
	return o
}

func find(o Observed, host, device string) *ObservedNIC {
	for i := range o.NICs {
		if o.NICs[i].Host == host && o.NICs[i].Device == device {
			return &o.NICs[i]
		}
	}
	return nil
}

func TestDeriveRailsFromLeaves(t *testing.T) {
	// Compute devices are seldom contiguous: digits in names are no rails.
	devices := []string{"mlx5_0", "mlx5_3", "mlx5_4", "mlx5_10"}
	o := railCluster(6, devices)
	for h := range 6 {
		o.NICs = append(o.NICs, ObservedNIC{Host: fmt.Sprintf("node%02d", h), Device: "mlx5_8", Model: "MT4123", Rate: 3.125e9})
	}
	sortNICs(o.NICs)
	f := Build(Derive(o))

	p := f.Port("node03", "mlx5_10")
	require.Equal(t, "3", p.Rail)
	require.False(t, p.RailAssumed)
	require.True(t, p.Compute)
	require.False(t, f.Port("node03", "mlx5_8").Compute, "a storage card is no compute device")
	require.Len(t, f.OnRail("3"), 6)
	require.Len(t, f.Under("leaf-r1"), 6)
	nic, assumed, ok := f.NICOf("node02", "GPU3")
	require.True(t, ok)
	require.True(t, assumed)
	require.Equal(t, "mlx5_10", nic)
	gpu, _ := f.GPUOf("node02", "mlx5_4")
	require.Equal(t, "GPU2", gpu)
}

func TestDeriveMiscabledAgainstOtherWiring(t *testing.T) {
	devices := []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}
	swap := func(o Observed, hosts ...string) {
		for _, h := range hosts {
			a, b := find(o, h, "mlx5_2"), find(o, h, "mlx5_3")
			a.Leaf, b.Leaf = b.Leaf, a.Leaf
		}
	}
	t.Run("one host is a mistake", func(t *testing.T) {
		o := railCluster(8, devices)
		swap(o, "node04")
		f := Build(Derive(o))
		require.Equal(t, "leaf-r2", f.Port("node04", "mlx5_2").ExpectedLeaf)
		require.Equal(t, "leaf-r3", f.Port("node04", "mlx5_3").ExpectedLeaf)
		require.Empty(t, f.Port("node05", "mlx5_2").ExpectedLeaf)
	})
	t.Run("a whole unit is another wiring", func(t *testing.T) {
		o := railCluster(8, devices)
		swap(o, "node00", "node01", "node02")
		f := Build(Derive(o))
		for _, p := range f.Ports("node01") {
			require.Empty(t, p.ExpectedLeaf)
		}
	})
}

func TestDeriveToRHasNoRails(t *testing.T) {
	o := railCluster(8, []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"})
	for i := range o.NICs {
		o.NICs[i].Leaf = map[bool]string{true: "leaf-a", false: "leaf-b"}[o.NICs[i].Host < "node04"]
	}
	f := Build(Derive(o))
	require.Empty(t, f.Port("node01", "mlx5_2").Rail)
	require.Len(t, f.Under("leaf-a"), 16)
}

func TestDeriveWithoutLeavesIsAssumed(t *testing.T) {
	o := railCluster(4, []string{"mlx5_0", "mlx5_1"})
	for i := range o.NICs {
		o.NICs[i].Leaf = ""
	}
	f := Build(Derive(o))
	require.True(t, f.Port("node01", "mlx5_1").RailAssumed)
	require.Equal(t, "1", f.Port("node01", "mlx5_1").Rail)
}

func TestDeriveComputeRole(t *testing.T) {
	nic := func(d string, rate float64, model string) ObservedNIC {
		return ObservedNIC{Host: "n1", Device: d, Rate: rate, Model: model}
	}
	tests := []struct {
		name string
		nics []ObservedNIC
		gpus int
		want []string
	}{
		{"a card that negotiated less stays", []ObservedNIC{nic("mlx5_0", 5e10, ""), nic("mlx5_1", 1.25e10, "")}, 2, []string{"mlx5_0", "mlx5_1"}},
		{"surplus of another rate drops out", []ObservedNIC{nic("mlx5_0", 5e10, ""), nic("mlx5_1", 5e10, ""), nic("mlx5_2", 3.125e9, "")}, 2, []string{"mlx5_0", "mlx5_1"}},
		{"models split", []ObservedNIC{nic("mlx5_0", 5e10, "a"), nic("mlx5_1", 5e10, "a"), nic("mlx5_2", 5e10, "b")}, 2, []string{"mlx5_0", "mlx5_1"}},
		{"four cards a GPU", []ObservedNIC{nic("rdmap0s0", 1, ""), nic("rdmap1s0", 1, ""), nic("rdmap2s0", 1, ""), nic("rdmap3s0", 1, "")}, 1, []string{"rdmap0s0", "rdmap1s0", "rdmap2s0", "rdmap3s0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, n := range computeNICs(tt.nics, tt.gpus) {
				got = append(got, n.Device)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestNilFabricKnowsNothing(t *testing.T) {
	var f *Fabric
	require.Nil(t, f.Port("a", "b"))
	require.Empty(t, f.Leaves())
	_, _, ok := f.NICOf("a", "GPU0")
	require.False(t, ok)
}
