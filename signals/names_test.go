package signals

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCanonicalHost(t *testing.T) {
	for in, want := range map[string]string{
		"gpu-014": "gpu-014", "GPU-014.cluster.local:9100": "gpu-014", "gpu-014.": "gpu-014", "10.1.0.14:9400": "10.1.0.14",
		"10.1.0.14": "10.1.0.14", "[fe80::1]:9100": "fe80::1", "http://gpu-014:9100/metrics": "gpu-014", "": "", ":9100": "",
	} {
		require.Equal(t, want, CanonicalHost(in), in)
	}
}

func TestDeviceNames(t *testing.T) {
	for in, want := range map[string]string{"3": "GPU3", "GPU3": "GPU3", "nvidia3": "GPU3", "cuda:3": "GPU3", "03": "GPU3", "0": "GPU0", "pid217": "pid217", "x": "x"} {
		require.Equal(t, want, gpuDevice(in), in)
	}
	for in, want := range map[string][2]string{"mlx5_0_1": {"mlx5_0", "1"}, "mlx5_3": {"mlx5_3", ""}, "mlx5_bond_0": {"mlx5_bond_0", ""}, "mlx5_0/1": {"mlx5_0", "1"}} {
		dev, port := nicPort(in)
		require.Equal(t, want, [2]string{dev, port}, in)
	}
	uuid, ok := fileUUID("textfile/nccl_inspector_metrics_GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22.prom")
	require.True(t, ok)
	require.Equal(t, "0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22", uuid)
	_, ok = fileUUID("/var/lib/node_exporter/smartmon.prom")
	require.False(t, ok)
}

func TestSizeClass(t *testing.T) {
	for in, want := range map[string]string{
		"134-135MB": "128M", "135-136MB": "128M", "128-129MB": "128M", "127-128MB": "128M", "201-202MB": "215M", "2.00GB": "2G", "1-2MB": "1M-2M",
		"4-5GB": "4.8G", "140509184": "128M", "134217728": "128M", "0B": "0", "unknown": "unknown", "": "", "mixed": "mixed",
	} {
		got, _ := sizeClass(in)
		require.Equal(t, want, got, in)
	}
	_, bytes := sizeClass("134-135MB")
	require.InEpsilon(t, 134.5*(1<<20), bytes, 1e-9)
}

func TestWordKindNeedsWholeWords(t *testing.T) {
	for in, want := range map[string]GroupKind{
		"DP Group 0": GroupData, "PP Group 12": GroupPipeline, "TP Group 1": GroupTensor, "Embedding Group 0": GroupEmbed, "fsdp_shard": GroupData,
		"unknown": GroupUnknown, "input": GroupUnknown, "mesh_pp": GroupPipeline, "EXPERT_PARALLEL": GroupTensor, "adapter": GroupUnknown,
	} {
		require.Equal(t, want, wordKind(in), in)
	}
}

func FuzzSizeClass(f *testing.F) {
	for _, s := range []string{"134-135MB", "2.00GB", "0B", "-1MB", "1e308GB", "9-1MB", "KB-MB", "512KB-1MB", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		class, bytes := sizeClass(s)
		require.LessOrEqual(t, len(class), 64)
		require.False(t, bytes < 0 || bytes != bytes, "bytes %v of %q", bytes, s)
		again, _ := sizeClass(s)
		require.Equal(t, class, again)
	})
}

func FuzzCanonicalHost(f *testing.F) {
	for _, s := range []string{"gpu-014.x:9100", "[::1]:1", "http://", "a..b", strings.Repeat("x", 9999), "\xff\x00:9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := CanonicalHost(s)
		require.LessOrEqual(t, len(h), 3*maxName)
		require.True(t, utf8.ValidString(h), "%q", h)
		require.NotContains(t, h, "\n")
		gpuDevice(s)
		nicPort(s)
		fileUUID(s)
	})
}

func FuzzRankMap(f *testing.F) {
	f.Add("rank,dp,stage,tp,node,gpu\n0,0,0,0,a,GPU0\n")
	f.Add("rank,node,gpu\nx,,\n")
	f.Add("\ufeffRank, Node ,gpu\n1,h,2\n")
	f.Add("rank,rank\n")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseRankMap(strings.NewReader(s))
		if err != nil {
			require.Nil(t, m)
			return
		}
		for _, places := range m.Jobs {
			for _, p := range places {
				require.NotEmpty(t, p.Host)
				require.GreaterOrEqual(t, p.Rank, int32(0))
			}
		}
	})
}

func TestRankMapReportsAllMistakes(t *testing.T) {
	_, err := ParseRankMap(strings.NewReader("rank,node,gpu,dp\n0,a,GPU0,0\nx,a,GPU1,0\n2,,3,0\n3,b,1,-4\n"))
	require.ErrorContains(t, err, `line 3: rank: "x" is no number`)
	require.ErrorContains(t, err, "line 4: rank 2 has no node or no gpu")
	require.ErrorContains(t, err, `line 5: dp: "-4" is no number`)
	_, err = ParseRankMap(strings.NewReader("dp,node\n"))
	require.ErrorContains(t, err, `no column "rank"`)
}
