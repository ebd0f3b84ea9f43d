package diagnosis_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// trouble is a fault of one device, placed anywhere.
type trouble struct {
	name  string
	class diagnosis.Class
	cause func(r *rig, host string, k int)
}

func troubles() []trouble {
	return []trouble{
		{"rate", diagnosis.NICDegraded, func(r *rig, h string, k int) { r.Set(signals.NICRate, 1.25e10, snaptest.NIC(h, r.Shape.NICs[k])) }},
		{"bit errors", diagnosis.NICDegraded, func(r *rig, h string, k int) { r.Set(signals.NICSymbolErrors, 20, snaptest.NIC(h, r.Shape.NICs[k])) }},
		{"link", diagnosis.LinkDown, func(r *rig, h string, k int) { drop(r, snaptest.NIC(h, r.Shape.NICs[k])) }},
		{"heat", diagnosis.GPUThrottle, func(r *rig, h string, k int) {
			g := snaptest.GPU(h, k)
			r.Set(signals.GPUSMClock, 1100e6, g)
			r.Set(signals.GPUClockReasons, 0x40, g)
			r.Set(signals.GPUTemp, 90, g)
		}},
		{"rows", diagnosis.GPUFault, func(r *rig, h string, k int) { r.Set(signals.GPURowRemapFailure, 1, snaptest.GPU(h, k)) }},
		{"lanes", diagnosis.PCIeDegraded, func(r *rig, h string, k int) { r.Set(signals.GPUPCIeWidth, 4, snaptest.GPU(h, k)) }},
	}
}

// seen runs a trouble on a cluster and returns what stands at the end.
func seen(shape snaptest.Shape, x trouble, host, k int, missing []signals.ID, idle bool) []string {
	r := newRig(snaptest.New(shape, 5))
	r.Without(missing...)
	if idle {
		for i := range 3 {
			n := snaptest.NIC("zz-spare-"+string(rune('a'+i)), "mlx5_0")
			r.Set(signals.NICState, 4, n)
			r.Set(signals.NICRate, shape.Rate, n)
		}
	}
	r.run(6 * time.Minute)
	x.cause(r, shape.Hosts[host], k)
	r.run(5 * time.Minute)
	return r.verdicts()
}

// TestFactsAnywhere places one fault anywhere in clusters of other sizes and
// names: exactly its device is named, other names change only names, healthy
// hosts change nothing, and what is missing never lets another one be named.
func TestFactsAnywhere(t *testing.T) {
	optional := []signals.ID{
		signals.SwitchLink, signals.NICModel, signals.GPUClockReasons, signals.NICTransmitWait, signals.HostParent, signals.GPUMemTemp,
		signals.NICPhysState, signals.GPUXid, signals.StepTime, signals.HostCPUPressure, signals.NICTx,
	}
	list := troubles()
	rapid.Check(t, func(t *rapid.T) {
		x := list[rapid.IntRange(0, len(list)-1).Draw(t, "trouble")]
		hosts := rapid.IntRange(5, 12).Draw(t, "hosts")
		gpus := rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "gpus")
		host, k := rapid.IntRange(0, hosts-1).Draw(t, "host"), rapid.IntRange(0, gpus-1).Draw(t, "device")
		missing := rapid.SliceOfNDistinct(rapid.SampledFrom(optional), 0, 3, rapid.ID[signals.ID]).Draw(t, "missing")

		shape := snaptest.Rails("node-%02d", hosts, gpus)
		got := seen(shape, x, host, k, missing, rapid.Bool().Draw(t, "spare hosts"))
		if len(got) != 1 || !strings.HasPrefix(got[0], string(x.class)+" ") {
			t.Fatalf("%s: got %v", x.name, got)
		}
		device := shape.NICs[k]
		if x.class == diagnosis.GPUThrottle || x.class == diagnosis.GPUFault || x.class == diagnosis.PCIeDegraded {
			device = snaptest.GPU("", k).Device
		}
		if want := ":" + shape.Hosts[host] + "/" + device; !strings.HasSuffix(got[0], want) {
			t.Fatalf("%s: %v does not name %s", x.name, got, want)
		}
		other := snaptest.Rails("r%d-gpu", hosts, gpus)
		renamed := seen(other, x, host, k, missing, false)
		if want := strings.ReplaceAll(got[0], shape.Hosts[host], other.Hosts[host]); len(renamed) != 1 || renamed[0] != want {
			t.Fatalf("renamed: got %v instead of %s", renamed, want)
		}
	})
}
