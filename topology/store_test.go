package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
	"github.com/collwatch/collwatch/topology/parse"
)

// heard notes what an Observer is told.
type heard struct {
	reports []FileReport
	built   int
}

func (h *heard) FileRead(r FileReport) { h.reports = append(h.reports, r) }
func (h *heard) FabricBuilt(*Fabric)   { h.built++ }

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestStoreKeepsTheLastGoodFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "topology.conf")
	st := NewStore(Options{Files: []File{{Kind: "slurm_conf", Path: path}}})
	h := &heard{}
	st.Watch(h)

	st.Load(noon)
	require.Len(t, h.reports, 1)
	require.Error(t, h.reports[0].Err)
	require.False(t, h.reports[0].Kept)

	write(t, path, "SwitchName=a Nodes=n[1-2]\nwhat\n")
	require.Equal(t, "a", st.Load(noon).HostLeaf("n1"))
	require.NoError(t, h.reports[1].Err)
	require.Equal(t, 2, h.reports[1].Facts)
	require.Contains(t, h.reports[1].Problems[0].String(), path+":2: ")

	write(t, path, "half a li")
	require.Equal(t, "a", st.Load(noon).HostLeaf("n1"))
	require.Len(t, h.reports, 3)
	require.True(t, h.reports[2].Kept)
	require.ErrorIs(t, h.reports[2].Err, parse.ErrNothing)

	require.NoError(t, os.Remove(path))
	require.Equal(t, "a", st.Load(noon).HostLeaf("n1"))
	st.Load(noon)
	require.Len(t, h.reports, 4, "a failure is told once")

	write(t, path, "SwitchName=b Nodes=n[1-2]\n")
	require.Equal(t, "b", st.Load(noon).HostLeaf("n1"))
	built := h.built
	st.Load(noon)
	require.Equal(t, built, h.built, "nothing new, nothing built")
}

func TestStorePatternNamesHosts(t *testing.T) {
	dir := t.TempDir()
	dump := "    Fabric\n        State : Completed\n        Status : Success\n        CliqueId : 1\n        ClusterUUID : x\n"
	for _, h := range []string{"n1", "n2"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, h), 0o755))
		write(t, filepath.Join(dir, h, "smi.txt"), dump)
	}
	st := NewStore(Options{Files: []File{{Kind: "nvidia_smi_fabric", Path: filepath.Join(dir, "*", "smi.txt")}}})
	require.Equal(t, []string{"n1", "n2"}, st.Load(noon).InDomain("x.1"))
	require.NoError(t, os.Remove(filepath.Join(dir, "n2", "smi.txt")))
	require.Equal(t, []string{"n1"}, st.Load(noon).InDomain("x.1"), "a dump that is gone is withdrawn")
}

// tick is a snapshot of NICs with their links, described as host and device.
func tick(at time.Time, links map[[2]string]string) *signals.Snapshot {
	s := &signals.Snapshot{Time: at, Entities: signals.NewEntities()}
	rate, link := &signals.Frame{}, &signals.Frame{}
	add := func(f *signals.Frame, e signals.Entity, v float64) {
		f.Entity = append(f.Entity, s.Entities.Intern(e))
		f.Value = append(f.Value, v)
	}
	for k, leaf := range links {
		add(rate, signals.Entity{Kind: signals.KindNIC, Host: k[0], Device: k[1], Port: "1"}, 5e10)
		if leaf != "" {
			add(link, signals.Entity{Kind: signals.KindSwitchPort, Device: leaf, Port: k[0] + k[1], Peer: k[0] + " " + k[1]}, 1)
		}
	}
	s.Frames[signals.NICRate], s.Frames[signals.SwitchLink] = rate, link
	return s
}

func twoRails(hosts int) map[[2]string]string {
	out := map[[2]string]string{}
	for h := range hosts {
		for k := range 2 {
			out[[2]string{hostName(h), fmt.Sprintf("mlx5_%d", k)}] = fmt.Sprintf("leaf-r%d", k)
		}
	}
	return out
}

func TestStoreNoticesARecabling(t *testing.T) {
	st := NewStore(Options{})
	at := noon
	st.Update(tick(at, twoRails(2)))
	swapped := twoRails(2)
	swapped[[2]string{"gpu-002", "mlx5_0"}], swapped[[2]string{"gpu-002", "mlx5_1"}] = "leaf-r1", "leaf-r0"
	at = at.Add(time.Minute)
	f := st.Update(tick(at, swapped))
	require.Equal(t, "leaf-r1", f.Port("gpu-002", "mlx5_0").Leaf)
	require.Equal(t, "leaf-r0", f.Port("gpu-002", "mlx5_0").ExpectedLeaf)
	require.Empty(t, f.Port("gpu-001", "mlx5_0").ExpectedLeaf)

	f = st.Update(tick(at.Add(time.Minute), twoRails(2)))
	require.Empty(t, f.Port("gpu-002", "mlx5_0").ExpectedLeaf, "it was set right")

	st.Update(tick(at.Add(2*time.Minute), swapped))
	f = st.Update(tick(at.Add(30*time.Hour), swapped))
	require.Empty(t, f.Port("gpu-002", "mlx5_0").ExpectedLeaf, "after a day it is how things are")
}

// TestStoreSeesTargetsOfAllPhases: targets are scraped once a minute, each at a time
// of its own, and a snapshot has only what is new.
func TestStoreSeesTargetsOfAllPhases(t *testing.T) {
	st := NewStore(Options{})
	var f *Fabric
	for i := range 40 {
		part := map[[2]string]string{}
		for k, leaf := range twoRails(8) {
			var n int
			_, err := fmt.Sscanf(k[0], "gpu-%d", &n)
			require.NoError(t, err)
			if n%4 == i%4 {
				part[k] = leaf
			}
		}
		s := tick(noon.Add(time.Duration(i)*15*time.Second), part)
		up := &signals.Frame{}
		for _, port := range []string{"33", "34"} {
			up.Entity = append(up.Entity, s.Entities.Intern(signals.Entity{Kind: signals.KindSwitchPort, Device: fmt.Sprintf("leaf-r%d", i%2), Port: port, Peer: "spine-1"}))
			up.Value = append(up.Value, 1)
		}
		s.Frames[signals.SwitchUplink] = up
		f = st.Update(s)
	}
	require.Len(t, f.Hosts(), 8)
	require.Len(t, f.Under("leaf-r0"), 8)
	for _, leaf := range []string{"leaf-r0", "leaf-r1"} {
		now, most := f.UplinkCount(leaf)
		require.Equal(t, [2]int{2, 2}, [2]int{now, most}, leaf)
	}
}

func TestStoreTakesAGapForAGap(t *testing.T) {
	st := NewStore(Options{})
	st.Update(tick(noon, twoRails(3)))
	gap := twoRails(3)
	for k := range gap {
		gap[k] = ""
	}
	f := st.Update(tick(noon.Add(time.Minute), gap))
	require.Equal(t, "leaf-r0", f.Port("gpu-001", "mlx5_0").Leaf)
	f = st.Update(tick(noon.Add(2*time.Minute), map[[2]string]string{}))
	require.Equal(t, "leaf-r0", f.Port("gpu-001", "mlx5_0").Leaf)
}

func TestStoreForgetsWhatIsGone(t *testing.T) {
	st := NewStore(Options{Forget: time.Hour, MaxNICs: 100})
	for i := range 500 {
		links := map[[2]string]string{}
		for h := range 10 {
			links[[2]string{fmt.Sprintf("pod-%d-%d", i, h), "mlx5_0"}] = "leaf"
		}
		st.Update(tick(noon.Add(time.Duration(i)*time.Minute), links))
		require.LessOrEqual(t, len(st.seen), 110)
	}
	f := st.Update(tick(noon.Add(24*time.Hour), twoRails(1)))
	require.Equal(t, []string{"gpu-001"}, f.Hosts())
}

func TestStoreRemembersUplinks(t *testing.T) {
	st := NewStore(Options{})
	with := func(at time.Time, n int) *Fabric {
		s := tick(at, twoRails(3))
		up := &signals.Frame{}
		for i := range n {
			up.Entity = append(up.Entity, s.Entities.Intern(signals.Entity{Kind: signals.KindSwitchPort, Device: "leaf-r0", Port: fmt.Sprint(33 + i), Peer: "spine-1", Detail: fmt.Sprint(i)}))
			up.Value = append(up.Value, 1)
		}
		s.Frames[signals.SwitchUplink] = up
		return st.Update(s)
	}
	with(noon, 32)
	now, most := with(noon.Add(time.Minute), 24).UplinkCount("leaf-r0")
	require.Equal(t, []int{24, 32}, []int{now, most})
}

func TestStoreWithoutSeriesLinks(t *testing.T) {
	st := NewStore(Options{NoSeries: true})
	f := st.Update(tick(noon, twoRails(3)))
	require.Len(t, f.Ports("gpu-001"), 2)
	require.Empty(t, f.Port("gpu-001", "mlx5_0").Leaf)
}

func BenchmarkBuildTenThousandHosts(b *testing.B) {
	devices := []string{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_7"}
	o := railLive(10_000, devices, func(h, k int) string { return fmt.Sprintf("%s mlx5_%d", hostName(h), k) })
	for i := range o.Links {
		o.Links[i].Switch = fmt.Sprintf("su%d-%s", i/8/32, o.Links[i].Switch)
	}
	b.ReportAllocs()
	for b.Loop() {
		fabricOf(o)
	}
}
