//go:build long

package topology

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// simulated is a fabric for ibsim: two leaves, two spines, four hosts. The link of
// gpu-002's second adapter came up with one lane.
const simulated = `
Switch 8 "leaf-r0"
[1] "gpu-001 mlx5_0"[1]
[2] "gpu-002 mlx5_0"[1]
[3] "gpu-003 mlx5_0"[1]
[4] "gpu-004 HCA-1"[1]
[7] "spine-1"[1]
[8] "spine-2"[1]

Switch 8 "leaf-r1"
[1] "gpu-001 mlx5_1"[1]
[2] "gpu-002 mlx5_1"[1] w=1 s=1
[3] "gpu-003 mlx5_1"[1]
[4] "gpu-004 HCA-2"[1]
[7] "spine-1"[2]
[8] "spine-2"[2]

Switch 8 "spine-1"
[1] "leaf-r0"[7]
[2] "leaf-r1"[7]

Switch 8 "spine-2"
[1] "leaf-r0"[8]
[2] "leaf-r1"[8]

Hca 1 "gpu-001 mlx5_0"
[1] "leaf-r0"[1]

Hca 1 "gpu-001 mlx5_1"
[1] "leaf-r1"[1]

Hca 1 "gpu-002 mlx5_0"
[1] "leaf-r0"[2]

Hca 1 "gpu-002 mlx5_1"
[1] "leaf-r1"[2] w=1 s=1

Hca 1 "gpu-003 mlx5_0"
[1] "leaf-r0"[3]

Hca 1 "gpu-003 mlx5_1"
[1] "leaf-r1"[3]

Hca 1 "gpu-004 HCA-1"
[1] "leaf-r0"[4]

Hca 1 "gpu-004 HCA-2"
[1] "leaf-r1"[4]
`

// TestLongRealToolsOnASimulatedFabric brings up a fabric with ibsim and opensm and
// reads what the real ibnetdiscover and iblinkinfo print about it.
func TestLongRealToolsOnASimulatedFabric(t *testing.T) {
	libs, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	for _, tool := range []string{"ibsim", "opensm", "ibnetdiscover", "iblinkinfo"} {
		if _, err := exec.LookPath(tool); err != nil || len(libs) == 0 {
			t.Skipf("no %s: install infiniband-diags, opensm and ibsim-utils", tool)
		}
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	net := filepath.Join(dir, "net")
	require.NoError(t, os.WriteFile(net, []byte(simulated), 0o644))
	socket := fmt.Sprintf("IBSIM_SOCKNAME=collwatch-%d", os.Getpid())

	sim := exec.CommandContext(ctx, "ibsim", "-s", "--no-console", net)
	sim.Env = append(os.Environ(), socket)
	require.NoError(t, sim.Start())
	defer func() {
		_ = sim.Process.Kill()
		_ = sim.Wait()
	}()
	run := func(name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Env = append(os.Environ(), socket, "SIM_HOST=gpu-001 mlx5_0", "LD_PRELOAD="+libs[0], "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)
		return cmd.Output()
	}
	require.Eventually(t, func() bool { // the simulator needs a moment
		_, err := run("opensm", "-o", "-f", filepath.Join(dir, "osm.log"))
		return err == nil
	}, time.Minute, 500*time.Millisecond, "the subnet manager does not come up")

	for _, tt := range []struct{ kind, args string }{{"ibnetdiscover", ""}, {"ibnetdiscover", "-p"}, {"iblinkinfo", ""}, {"iblinkinfo", "-l"}} {
		t.Run(strings.TrimSpace(tt.kind+" "+tt.args), func(t *testing.T) {
			out, err := run(tt.kind, strings.Fields(tt.args)...)
			require.NoError(t, err)
			s := textOf(t, 0, tt.kind, "", string(out))
			require.Empty(t, s.facts.Problems)
			require.Len(t, s.facts.Links, 8)
			require.Len(t, s.facts.Trunks, 4)
			for _, l := range s.facts.Links {
				trained := l.Host == "gpu-002" && l.Device == "mlx5_1"
				require.Equal(t, map[bool]float64{true: 2.5e9 / 8, false: 10e9 / 8}[trained], l.Rate, "%+v", l)
			}
			f := fabricOf(Observed{}, s)
			require.Len(t, f.Leaves(), 2)
			require.Len(t, f.Uplinks("leaf-r1"), 2)
			require.Equal(t, "leaf-r1", f.Port("gpu-003", "mlx5_1").Leaf)
			require.Equal(t, "1", f.Port("gpu-003", "mlx5_1").Rail)
			require.Equal(t, []string{"leaf-r0", "leaf-r1"}, f.HostLeaves("gpu-004"))
		})
	}
}
