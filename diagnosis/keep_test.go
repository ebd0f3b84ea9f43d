package diagnosis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/internal/snaptest"
)

// restart replaces the diagnosis by one that knows only what was saved.
func (r *rig) restart(t *testing.T) {
	t.Helper()
	saved, err := r.diag.Save()
	require.NoError(t, err)
	d := diagnosis.New(diagnosis.Options{Interval: r.Interval})
	require.NoError(t, d.Restore(saved))
	again, err := d.Save()
	require.NoError(t, err)
	require.JSONEq(t, string(saved), string(again))
	r.diag = d
}

func TestRestart(t *testing.T) {
	nic := snaptest.NIC("gpu-003", "mlx5_0")
	for name, tc := range map[string]struct {
		before, after func(r *rig)
		// want is what the last tick must say; job the job of it.
		want, job string
	}{
		"a job that died of an outage": {
			before: func(r *rig) {
				drop(r, nic)
				r.run(45 * time.Second)
				restore(r, nic)
				r.End("48213")
				r.run(time.Minute)
			},
			after: func(r *rig) { r.run(3 * time.Minute) },
			want:  "link_down port_not_active critical high link:gpu-003/mlx5_0", job: "48213",
		},
		"an outage that was told is no flap": {
			before: func(r *rig) {
				drop(r, nic)
				r.run(time.Minute)
				restore(r, nic)
				r.run(15 * time.Second)
			},
			after: func(r *rig) { r.run(time.Minute) },
			want:  "link_down port_not_active critical high link:gpu-003/mlx5_0", job: "48213",
		},
		"a leaf that was down": {
			before: func(r *rig) {
				all := onRail(r, 0, 16)
				drop(r, all...)
				r.run(6 * time.Minute)
				restore(r, all...)
				r.run(15 * time.Second)
			},
			after: func(r *rig) { r.run(time.Minute) },
			want:  "leaf_degraded leaf_down critical high switch:leaf-r0", job: "48213",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(snaptest.New(snaptest.R16(), 11))
			r.run(20 * time.Minute)
			tc.before(r)
			require.Contains(t, r.verdicts(), tc.want, "before the restart")
			r.restart(t)
			tc.after(r)
			require.Equal(t, []string{tc.want}, r.verdicts())
			require.Equal(t, tc.job, r.last.Verdicts[0].Job)
		})
	}
}

func TestRestartSeesAJobThatEndedMeanwhile(t *testing.T) {
	r := newRig(snaptest.New(snaptest.R16(), 11))
	r.run(5 * time.Minute)
	r.End("48213")
	r.restart(t)
	r.run(r.Interval)
	require.Equal(t, []string{"48213"}, r.last.Ended)
}

func TestRestoreRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"no JSON":         {"\x00\x01", "memories"},
		"half written":    {`{"version":1,"families":{"li`, "unexpected end"},
		"another version": {`{"version":9}`, "version 9"},
		"another kind":    {`{"version":1,"offences":[{"kind":"toaster","times":1}]}`, `"toaster"`},
		"an odd outage":   {`{"version":1,"families":{"link":{"outages":[{"kind":"x"}]}}}`, "link"},
		"another form":    {`{"version":1,"families":{"share":{"a":1}}}`, "share"},
	} {
		t.Run(name, func(t *testing.T) {
			d := diagnosis.New(diagnosis.Options{})
			require.ErrorContains(t, d.Restore([]byte(tc.in)), tc.want)
			_, err := d.Save()
			require.NoError(t, err)
		})
	}
}

// FuzzRestore reads what stands in a file that anybody may have written to.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"version":1,"running":["1"],"stays":[{"host":"a","job":"1"}],"episodes":[{"key":"x"}],"offences":[{"kind":"nic","host":"a","device":"b","times":99}]}`))
	f.Add([]byte(`{"version":1,"families":{"link":{"outages":[{"kind":"nic"}],"leaves":[{"ports":[{"kind":"nic"}]}]},"nvlink":[{"kind":"gpu"}],"throttle":[{"hosts":[""]}],"share":[{"kind":"nic"}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := diagnosis.New(diagnosis.Options{})
		if d.Restore(data) != nil {
			return
		}
		s := snaptest.New(snaptest.Rails("h-%02d", 2, 2), 1).Next()
		d.Diagnose(s, newRig(snaptest.New(snaptest.Rails("h-%02d", 2, 2), 1)).bank.Observe(s), nil)
		_, err := d.Save()
		require.NoError(t, err)
	})
}
