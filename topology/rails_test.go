package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestScalableUnitsHaveTheirOwnLeaves(t *testing.T) {
	o := railCluster(16, four)
	for i := range o.NICs {
		if o.NICs[i].Host >= "node08" {
			o.NICs[i].Leaf = "su2-" + o.NICs[i].Leaf
		}
	}
	a, b := find(o, "node12", "mlx5_1"), find(o, "node12", "mlx5_2")
	a.Leaf, b.Leaf = b.Leaf, a.Leaf
	f := Build(Derive(o))
	require.Equal(t, "su2-leaf-r1", f.Port("node12", "mlx5_1").ExpectedLeaf, "the leaf of its own unit")
	require.Equal(t, "3", f.Port("node15", "mlx5_3").Rail)
	require.Len(t, f.OnRail("0"), 16)
}

func TestAMissingCardMovesNoRail(t *testing.T) {
	o := railCluster(8, four)
	for i := range o.NICs {
		if o.NICs[i].Host == "node03" && o.NICs[i].Device == "mlx5_1" {
			o.NICs = append(o.NICs[:i], o.NICs[i+1:]...)
			break
		}
	}
	f := Build(Derive(o))
	require.Equal(t, "3", f.Port("node03", "mlx5_3").Rail)
	for _, p := range f.Ports("node03") {
		require.Empty(t, p.ExpectedLeaf)
	}
}

func TestAnotherOrderKeepsTheRailsOfItsLeaves(t *testing.T) {
	o := railCluster(10, four)
	for _, h := range []string{"node07", "node08", "node09"} {
		a, b := find(o, h, "mlx5_0"), find(o, h, "mlx5_3")
		a.Leaf, b.Leaf = b.Leaf, a.Leaf
	}
	f := Build(Derive(o))
	require.Equal(t, "3", f.Port("node08", "mlx5_0").Rail)
	require.Empty(t, f.Port("node08", "mlx5_0").ExpectedLeaf)
}

func TestTooFewHostsAccuseNobody(t *testing.T) {
	o := railCluster(2, four)
	a, b := find(o, "node01", "mlx5_1"), find(o, "node01", "mlx5_2")
	a.Leaf, b.Leaf = b.Leaf, a.Leaf
	f := Build(Derive(o))
	for _, h := range f.Hosts() {
		for _, p := range f.Ports(h) {
			require.Empty(t, p.ExpectedLeaf)
		}
	}
	a.Before, b.Before = b.Leaf, a.Leaf
	f = Build(Derive(o))
	require.Equal(t, "leaf-r1", f.Port("node01", "mlx5_1").ExpectedLeaf, "memory tells what two hosts cannot")
	require.Empty(t, f.Port("node00", "mlx5_1").ExpectedLeaf)
}

func TestStatedRailReplacesAnAssumedOne(t *testing.T) {
	o := railCluster(3, []string{"mlx5_0", "mlx5_1"})
	for i := range o.NICs {
		o.NICs[i].Leaf, o.NICs[i].Rail = "", "r"+o.NICs[i].Device[5:]
	}
	f := Build(Derive(o))
	require.Equal(t, "r1", f.Port("node00", "mlx5_1").Rail)
	require.False(t, f.Port("node00", "mlx5_1").RailAssumed)
}

// Whatever the size and the order of names, exchanging two cables of one host
// accuses these two and no other.
func TestOneSwapIsFoundAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.IntRange(1, 3).Draw(t, "units")
		per := rapid.IntRange(4, 9).Draw(t, "hosts")
		devices := rapid.IntRange(3, 8).Draw(t, "devices")
		order := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}[:devices]).Draw(t, "order")
		var o Observed
		for h := range units * per {
			for k := range devices {
				o.NICs = append(o.NICs, ObservedNIC{
					Host: fmt.Sprintf("h%03d", h), Device: fmt.Sprintf("mlx5_%d", 3*k), Model: "m", Live: true, Leaf: fmt.Sprintf("u%d-%d", h/per, order[k]),
				})
			}
		}
		host := fmt.Sprintf("h%03d", rapid.IntRange(0, units*per-1).Draw(t, "host"))
		i := rapid.IntRange(0, devices-2).Draw(t, "i")
		a, b := find(o, host, fmt.Sprintf("mlx5_%d", 3*i)), find(o, host, fmt.Sprintf("mlx5_%d", 3*i+3))
		a.Leaf, b.Leaf = b.Leaf, a.Leaf
		f := Build(Derive(o))
		for _, p := range f.facts.Ports {
			wrong := p.Host == host && (p.Device == a.Device || p.Device == b.Device)
			if wrong != (p.ExpectedLeaf != "") {
				t.Fatalf("%s/%s on %s: expected %q", p.Host, p.Device, p.Leaf, p.ExpectedLeaf)
			}
		}
		if got := f.Port(host, a.Device).ExpectedLeaf; got != b.Leaf {
			t.Fatalf("expected %s, got %s", b.Leaf, got)
		}
	})
}
