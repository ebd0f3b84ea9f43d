package diagnosis_test

import (
	"testing"
	"time"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestSocketsOfAJob: bytes through sockets are those of collectives only while the
// job works.
func TestSocketsOfAJob(t *testing.T) {
	sockets := func(r *rig, rate float64) {
		for _, h := range r.Shape.Hosts {
			r.Set(signals.HostNetTx, rate, signals.Entity{Kind: signals.KindHost, Host: h, Device: "eth0"})
		}
	}
	idle := func(r *rig) {
		r.SetAll(signals.NICTx, 0, nil)
		r.SetAll(signals.NICRx, 0, nil)
	}
	const fallback = "config_suspected tcp_fallback warning medium"
	runAll(t, []scenario{
		{
			name: "it talks through them", after: 5 * time.Minute, setup: func(r *rig) { sockets(r, 1e6) },
			fault: func(r *rig) { sockets(r, 6e8); idle(r) }, want: []string{fallback},
		},
		{
			name: "it saves", after: 5 * time.Minute, setup: func(r *rig) { sockets(r, 1e6) },
			fault: func(r *rig) {
				sockets(r, 6e8)
				r.stand(150 * time.Second)
				sockets(r, 1e6)
				for id, v := range map[signals.ID]float64{
					signals.NICTx: r.Shape.Traffic, signals.NICRx: r.Shape.Traffic, signals.GPUTensorActive: 0.41,
					signals.GPUDRAMActive: 0.46, signals.GPUPower: 690, signals.InspectorAge: 10,
				} {
					r.SetAll(id, v, nil)
				}
			},
		},
		{
			name: "its data are fetched before it begins", after: 10 * time.Minute, fault: func(*rig) {},
			setup: func(r *rig) {
				sockets(r, 6e8)
				idle(r)
				for _, id := range []signals.ID{signals.CollExecTime, signals.CollBusBandwidth, signals.InspectorAge} {
					r.Gone(id, r.Series(id)...)
				}
				r.SetAll(signals.GPUTensorActive, 0, nil)
				r.SetAll(signals.GPUPower, 75, nil)
				r.SetAll(signals.GPUUtil, 0, nil)
				r.SetAll(signals.GPUMemUsed, 0, nil)
			},
		},
		{
			name: "only its power is known", shape: func() snaptest.Shape { return snaptest.E8() }, after: 5 * time.Minute,
			setup: func(r *rig) {
				r.Without(signals.CollExecTime, signals.CollBusBandwidth, signals.InspectorAge, signals.GPUTensorActive)
				sockets(r, 1e6)
			},
			fault: func(r *rig) { sockets(r, 6e8); idle(r) }, want: []string{fallback},
		},
	})
}
