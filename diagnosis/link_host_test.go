package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

// TestHostThatLosesAllItsLinks: a host without network is one fault, whether it has
// two ports or eight; two ports that fall one after another are two.
func TestHostThatLosesAllItsLinks(t *testing.T) {
	two := func() snaptest.Shape { return snaptest.Rails("gpu-%03d", 8, 2) }
	const host = "gpu-003"
	ports := func(r *rig) []signals.Entity {
		var out []signals.Entity
		for _, d := range r.Shape.NICs {
			out = append(out, snaptest.NIC(host, d))
		}
		return out
	}
	const down = "link_down port_not_active critical medium node:gpu-003"
	const flap = "link_flap single info high node:gpu-003"
	first, second := "link_down port_not_active critical high link:gpu-003/mlx5_0", "link_down port_not_active critical high link:gpu-003/mlx5_1"
	died := func(t *testing.T, v diagnosis.Verdict) {
		require.Equal(t, "48213", v.Job)
		require.True(t, v.JobEnded)
	}
	runAll(t, []scenario{
		{
			name: "two ports", shape: two, after: 2 * time.Minute, fault: func(r *rig) { drop(r, ports(r)...) }, want: []string{down},
			check: func(t *testing.T, v diagnosis.Verdict) {
				require.Equal(t, "48213", v.Job)
				require.Contains(t, v.Evidence[0].Text, "mlx5_0, mlx5_1")
			},
		},
		{name: "eight ports", after: 2 * time.Minute, fault: func(r *rig) { drop(r, ports(r)...) }, want: []string{down}},
		{name: "two ports without topology", shape: func() snaptest.Shape { s := two(); s.Leaf = nil; return s }, after: 2 * time.Minute, fault: func(r *rig) { drop(r, ports(r)...) }, want: []string{down}},
		{
			name: "the job stands", shape: two, after: time.Minute,
			fault: func(r *rig) { drop(r, ports(r)...); r.stand(8 * time.Minute) }, want: []string{down},
		},
		{
			name: "they come back one by one, and the job went on", shape: two, after: 70 * time.Minute,
			fault: func(r *rig) {
				drop(r, ports(r)...)
				r.run(3 * time.Minute)
				restore(r, ports(r)[0])
				r.run(2 * time.Minute)
				restore(r, ports(r)[1])
			},
			also: []string{down},
		},
		{
			name: "for half a minute", shape: two, after: 5 * time.Minute,
			fault: func(r *rig) { drop(r, ports(r)...); r.run(30 * time.Second); restore(r, ports(r)...) },
			want:  []string{flap},
		},
		{
			name: "for half a minute, and the job dies of it", shape: two, after: 5 * time.Minute,
			fault: func(r *rig) {
				drop(r, ports(r)...)
				r.run(30 * time.Second)
				r.End("48213")
				r.run(15 * time.Second)
				restore(r, ports(r)...)
			},
			want: []string{down}, check: died,
		},
		{
			name: "the host shuts down after its job, and boots", shape: two, after: 20 * time.Minute,
			fault: func(r *rig) {
				r.End("48213")
				drop(r, ports(r)...)
				r.run(15 * time.Second)
				r.Gone(signals.None, snaptest.Host(host))
				r.run(4 * time.Minute)
				r.Back(signals.None, snaptest.Host(host))
				r.Set(signals.HostBootTime, float64(r.Now.Unix()-60), snaptest.Host(host))
				r.run(time.Minute)
				restore(r, ports(r)...)
			},
			want: []string{"node_restart boot_time_changed info high node:gpu-003"}, also: []string{"telemetry_gap zero_rows info high node:gpu-003"},
		},
		{
			name: "one after another", shape: two, after: 2 * time.Minute,
			fault: func(r *rig) { drop(r, ports(r)[0]); r.run(10 * time.Minute); drop(r, ports(r)[1]) },
			want:  []string{first, second},
			also:  []string{"link_flap single info high nic:gpu-003/mlx5_0", "link_flap single info high nic:gpu-003/mlx5_1"},
		},
		{
			name: "one port and the storage card", shape: two, after: 2 * time.Minute,
			fault: func(r *rig) { drop(r, ports(r)[0], snaptest.NIC(host, "mlx5_2")) },
			want:  []string{first, "link_down port_not_active warning high link:gpu-003/mlx5_2"},
			also:  []string{"link_flap single info high nic:gpu-003/mlx5_0", "link_flap single info high nic:gpu-003/mlx5_2"},
		},
	})
}

// TestHostWithoutLinksOverARestart: it is told once, also by another daemon.
func TestHostWithoutLinksOverARestart(t *testing.T) {
	r := newRig(snaptest.New(snaptest.Rails("gpu-%03d", 8, 2), 11))
	r.run(20 * time.Minute)
	nics := []signals.Entity{snaptest.NIC("gpu-003", "mlx5_0"), snaptest.NIC("gpu-003", "mlx5_1")}
	drop(r, nics...)
	r.run(10 * time.Minute)
	want := []string{"link_down port_not_active critical medium node:gpu-003"}
	require.Equal(t, want, r.told)
	again := r.restarted(t)
	again.run(2 * time.Minute)
	restore(again, nics...)
	again.run(10 * time.Minute)
	require.Subset(t, want, again.told)
	require.Empty(t, again.verdicts())
}
