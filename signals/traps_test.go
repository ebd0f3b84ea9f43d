package signals_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

const (
	node14 = `instance="gpu-014:9100",job="node"`
	dcgm14 = `gpu="3",UUID="GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22",Hostname="gpu-014",instance="gpu-014:9400",job="dcgm"`
	g2     = `version="v5.1",slurm_job_id="48213",node="gpu-014",gpu="GPU3",comm_name="unknown",n_nodes="16",nranks="16",` +
		`collective="AllReduce",message_size="134-135MB",algo_proto="RING_SIMPLE",` + node14
	file3 = `node_textfile_mtime_seconds{file="textfile/nccl_inspector_metrics_GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22.prom",` + node14 + `}`
)

// run loads scrapes and reads n ticks, one a scrape.
func run(t *testing.T, s *scrapes, n int, each func(i int, s *signals.Snapshot)) *signals.Reader {
	t.Helper()
	r := reader(t, load(t, s.b.String()), signals.Options{})
	for i := range n {
		snap := r.Read(t.Context(), unix(t0+int64(15*i)))
		if each != nil {
			each(i, snap)
		}
	}
	return r
}

// values reads one entity over all ticks; NaN where it has no row.
func values(t *testing.T, s *scrapes, n int, id signals.ID, e signals.Entity) []float64 {
	t.Helper()
	var out []float64
	run(t, s, n, func(_ int, snap *signals.Snapshot) { out = append(out, snap.Get(id, e)) })
	return out
}

func TestCounterTraps(t *testing.T) {
	wait := `node_infiniband_port_transmit_wait_total{device="mlx5_3",port="1",` + node14 + `}`
	nan := math.NaN()
	cases := map[string]struct {
		raw  []float64
		want []float64
	}{
		"steady": {[]float64{0, 150, 300, 450}, []float64{nan, 10, 10, 10}},
		"a fall is a reset, one interval is lost":  {[]float64{900, 1050, 15, 165}, []float64{nan, 10, nan, 10}},
		"back at the old total is no count":        {[]float64{900, 1050, 0, 15, 1200, 1350}, []float64{nan, 10, nan, 1, nan, 10}},
		"twice, as two exporters answer in turn":   {[]float64{900, 1050, 0, 1200, 15, 1350}, []float64{nan, 10, nan, nan, nan, nan}},
		"counting on below the old total":          {[]float64{900, 1050, 0, 150, 300}, []float64{nan, 10, nan, 10, 10}},
		"saturated is unknown, not unchanged":      {[]float64{4294967280, 4294967295, 4294967295, 4294967295}, []float64{nan, nan, nan, nan}},
		"a rate over a gap is the average over it": {[]float64{0, 150, -1, 450}, []float64{nan, 10, nan, 10}},
		"nothing is nothing":                       {[]float64{7, 7, 7, 7}, []float64{nan, 0, 0, 0}},
		"misread for a scrape is no increase":      {[]float64{900, 0, 900, 1050}, []float64{nan, nan, nan, 10}},
		"misread for a while is no increase":       {[]float64{900, 0, 0, 915, 1065}, []float64{nan, nan, 0, nan, 10}},
		"anew, and past where it was by and by":    {[]float64{150, 0, 75, 150, 225}, []float64{nan, nan, 5, nan, 5}},
		"misread twice":                            {[]float64{900, 30, 0, 900, 1050}, []float64{nan, nan, nan, nan, 10}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			s.add(wait, len(c.raw), func(i int) (float64, bool) { return c.raw[i], c.raw[i] >= 0 })
			got := values(t, &s, len(c.raw), signals.NICTransmitWait, nic("gpu-014", "mlx5_3"))
			for i := range c.want {
				if math.IsNaN(c.want[i]) {
					require.True(t, math.IsNaN(got[i]), "scrape %d: %v", i, got)
				} else {
					require.InDelta(t, c.want[i], got[i], 1e-9, "scrape %d: %v", i, got)
				}
			}
		})
	}
}

func TestLimits(t *testing.T) {
	port := func(name string) string {
		return `node_infiniband_` + name + `{device="mlx5_3",port="1",` + node14 + `}`
	}
	nan := math.NaN()
	wide := float64(1 << 32) // a register of 32 bits that became one of 64
	cases := map[string]struct {
		series string
		id     signals.ID
		raw    []float64
		want   []float64
	}{
		"no state":                  {port("state_id"), signals.NICState, []float64{4, 0, 255, 1}, []float64{4, nan, nan, 1}},
		"no rate, and other blanks": {port("rate_bytes_per_second"), signals.NICRate, []float64{5e10, 65535, 1.8446744073709552e19, 1.25e10, 0}, []float64{5e10, nan, nan, 1.25e10, 0}},
		"falls of a link":           {port("link_downed_total"), signals.NICLinkDowned, []float64{3, 3 + wide, 3 + wide, 18 + wide}, []float64{nan, nan, 0, 1}},
		"errors":                    {port("symbol_error_total"), signals.NICSymbolErrors, []float64{0, 150, 150 + wide, 300 + wide}, []float64{nan, 10, nan, 10}},
		"more than all of the time": {`node_pressure_cpu_waiting_seconds_total{` + node14 + `}`, signals.HostCPUPressure, []float64{0, 3, 3000, 3003}, []float64{nan, 0.2, nan, 0.2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := nic("gpu-014", "mlx5_3")
			if c.id == signals.HostCPUPressure {
				e = host("gpu-014")
			}
			var s scrapes
			s.add(c.series, len(c.raw), func(i int) (float64, bool) { return c.raw[i], true })
			got := values(t, &s, len(c.raw), c.id, e)
			for i := range c.want {
				if math.IsNaN(c.want[i]) {
					require.True(t, math.IsNaN(got[i]), "scrape %d: %v", i, got)
				} else {
					require.InDelta(t, c.want[i], got[i], 1e-9, "scrape %d: %v", i, got)
				}
			}
		})
	}
}

func TestBootResetsCountersThatDidNotFall(t *testing.T) {
	var s scrapes
	s.add(`node_boot_time_seconds{`+node14+`}`, 6, func(i int) (float64, bool) {
		if i >= 3 {
			return t0 + 40, true
		}
		return t0 - 1e6, true
	})
	s.add(`node_infiniband_symbol_error_total{device="mlx5_5",port="1",`+node14+`}`, 6, func(i int) (float64, bool) {
		if i >= 3 {
			return 1500, true // links coming up after the boot
		}
		return 0, true
	})
	got := values(t, &s, 6, signals.NICSymbolErrors, nic("gpu-014", "mlx5_5"))
	require.Equal(t, 0.0, got[2])
	require.True(t, math.IsNaN(got[3]), "the interval of the boot is unknown")
	require.Equal(t, 0.0, got[4])
}

func TestGaugeTraps(t *testing.T) {
	field := func(name string) string { return name + `{` + dcgm14 + `}` }
	gpu3 := gpu("gpu-014", "GPU3")
	detail := func(d string) signals.Entity { e := gpu3; e.Detail = d; return e }
	nan := math.NaN()
	cases := map[string]struct {
		series string
		raw    []float64
		id     signals.ID
		e      signals.Entity
		last   float64
	}{
		"DCGM's blank is no power":             {field("DCGM_FI_DEV_POWER_USAGE"), []float64{9223372036854775794}, signals.GPUPower, gpu3, nan},
		"negative is no temperature":           {field("DCGM_FI_DEV_GPU_TEMP"), []float64{-1}, signals.GPUTemp, gpu3, nan},
		"clock in Hz":                          {field("DCGM_FI_DEV_SM_CLOCK"), []float64{1755}, signals.GPUSMClock, gpu3, 1755e6},
		"memory in bytes":                      {field("DCGM_FI_DEV_FB_USED"), []float64{71000}, signals.GPUMemUsed, gpu3, 71000 << 20},
		"utilisation is percent":               {field("DCGM_FI_DEV_GPU_UTIL"), []float64{100}, signals.GPUUtil, gpu3, 1},
		"energy in mJ is mean power":           {field("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), []float64{0, 15 * 690e3}, signals.GPUPower, gpu3, 690},
		"ratio":                                {field("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), []float64{0.41, 0.41, 0.41, 0.41}, signals.GPUTensorActive, gpu3, 0.41},
		"percent read as ratio":                {field("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), []float64{41, 41, 41, 41}, signals.GPUTensorActive, gpu3, 0.41},
		"percent stays percent when idle":      {field("DCGM_FI_PROF_DRAM_ACTIVE"), []float64{46, 46, 46, 1}, signals.GPUDRAMActive, gpu3, 0.01},
		"one artefact does not decide":         {field("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), []float64{41, 0.4, 0.4, 0.4}, signals.GPUTensorActive, gpu3, 0.4},
		"field 449 is a rate in MB/s":          {field("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"), []float64{24000, 12000, 25000}, signals.NVLinkRate, detail("total"), 25e9},
		"field 449 may fall":                   {field("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"), []float64{24000, 12000}, signals.NVLinkRate, detail("total"), 12e9},
		"field 449 already in B/s":             {field("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"), []float64{24e9, 24e9, 24e9, 25e9}, signals.NVLinkRate, detail("total"), 25e9},
		"violation in ns":                      {field("DCGM_FI_DEV_THERMAL_VIOLATION"), []float64{0, 7.5e9, 15e9, 22.5e9, 30e9}, signals.GPUThrottleTime, detail("thermal"), 0.5},
		"violation that may be ns or us":       {field("DCGM_FI_DEV_THERMAL_VIOLATION"), []float64{0, 1.5e6, 3e6, 4.5e6}, signals.GPUThrottleTime, detail("thermal"), nan},
		"no violation in any unit":             {field("DCGM_FI_DEV_POWER_VIOLATION"), []float64{5, 5, 5}, signals.GPUThrottleTime, detail("power"), 0},
		"violation that is us, all the time":   {field("DCGM_FI_DEV_POWER_VIOLATION"), ramp(9, 15e6), signals.GPUThrottleTime, detail("power"), 1},
		"generation 1 is passed on as it is":   {field("DCGM_FI_DEV_PCIE_LINK_GEN"), []float64{1}, signals.GPUPCIeGen, gpu3, 1},
		"NaN is no value":                      {field("DCGM_FI_DEV_SM_CLOCK"), []float64{nan}, signals.GPUSMClock, gpu3, nan},
		"node_exporter's bytes are bytes":      {`node_infiniband_port_data_received_bytes_total{device="mlx5_3",port="1",` + node14 + `}`, []float64{0, 15e9}, signals.NICRx, nic("gpu-014", "mlx5_3"), 1e9},
		"rdma_exporter's data are words":       {`rdma_port_xmit_data_total{device="mlx5_3",port="1",instance="gpu-014:9879",job="rdma"}`, []float64{0, 15e9}, signals.NICTx, nic("gpu-014", "mlx5_3"), 4e9},
		"OCI's gauges count":                   {`rdma_out_of_sequence{hostname="gpu-021",interface="rdma3",instance="gpu-021:9500",job="oci"}`, []float64{8841, 8871}, signals.NICOutOfSequence, nic("gpu-021", "rdma3"), 2},
		"OCI's link state":                     {`ib_link_state{hostname="gpu-021",interface="rdma3",instance="gpu-021:9500",job="oci"}`, []float64{1}, signals.NICState, nic("gpu-021", "rdma3"), 4},
		"EFA's counters lack _total":           {`node_amazonefa_retrans_bytes{device="rdmap113s0",port="1",instance="efa-03:9109",job="efa"}`, []float64{0, 1500}, signals.NICRetransmitBytes, nic("efa-03", "rdmap113s0"), 100},
		"CloudWatch's values are increments":   {`efa_tx_bytes{device="rdmap113s0",instance="efa-03:9109",job="cw"}`, []float64{100, 1500}, signals.NICTx, nic("efa-03", "rdmap113s0"), 100},
		"the first slow restart is the kernel": {`node_infiniband_roce_slow_restart_used_total{device="mlx5_3",port="1",` + node14 + `}`, []float64{0, 15}, signals.NICRetransmits, withDetail(nic("gpu-014", "mlx5_3"), "slow_restart"), 1},
		"pause in us with its priority":        {`node_ethtool_transmitted_prio3_pause_duration{device="eth2",` + node14 + `}`, []float64{0, 5.7e6}, signals.NICPauseTx, withDetail(nic("gpu-014", "eth2"), "prio3"), 0.38},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var s scrapes
			s.add(c.series, len(c.raw), func(i int) (float64, bool) { return c.raw[i], true })
			got := values(t, &s, len(c.raw), c.id, c.e)
			last := got[len(got)-1]
			if math.IsNaN(c.last) {
				require.True(t, math.IsNaN(last), "%v", got)
				return
			}
			require.InEpsilon(t, c.last+1e-12, last+1e-12, 1e-9, "%v", got)
		})
	}
}

func ramp(n int, step float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i) * step
	}
	return out
}

func withDetail(e signals.Entity, d string) signals.Entity { e.Detail = d; return e }

// The Xid gauge keeps its code for days: only a change is news, and dcgm's
// label with the code makes another series of it.
func TestXidIsNewsOnlyWhenItChanges(t *testing.T) {
	var s scrapes
	s.add(`DCGM_FI_DEV_XID_ERRORS{`+dcgm14+`,err_code="31"}`, 6, func(i int) (float64, bool) { return 31, i < 4 })
	s.add(`DCGM_FI_DEV_XID_ERRORS{`+dcgm14+`,err_code="79"}`, 6, func(i int) (float64, bool) { return 79, i >= 4 })
	run(t, &s, 6, func(i int, snap *signals.Snapshot) {
		f := snap.Frame(signals.GPUXid)
		require.Equal(t, 1, f.Len(), "one value for a GPU")
		if i < 4 {
			require.Equal(t, 31.0, f.Value[0])
			require.Zero(t, f.Changed[0], "known since before we looked")
			return
		}
		require.Equal(t, 79.0, f.Value[0])
		require.Equal(t, int64(t0+60)*1000, f.Changed[0])
	})
}

func TestGPUOfTwoJobsIsOneGPU(t *testing.T) {
	var s scrapes
	for _, job := range []string{"101", "102"} {
		s.add(`DCGM_FI_DEV_GPU_UTIL{`+dcgm14+`,hpc_job="`+job+`"}`, 4, always(99))
	}
	var last *signals.Snapshot
	run(t, &s, 4, func(_ int, snap *signals.Snapshot) {
		require.Equal(t, 1, snap.Frame(signals.GPUUtil).Len())
		last = snap
	})
	require.Len(t, last.JobsOn("gpu-014"), 2, "the set of jobs is kept")
}

func TestAllToAllBandwidthIsNoBandwidth(t *testing.T) {
	var s scrapes
	all := `nccl_bus_bandwidth_gbs{slurm_job_id="1",node="a",gpu="GPU0",comm_name="ep",n_nodes="2",nranks="16",collective="AlltoAll",message_size="1-2MB",instance="a:9100",job="node"}`
	s.add(all, 4, func(i int) (float64, bool) { return float64(i % 2), true })
	run(t, &s, 4, func(_ int, snap *signals.Snapshot) { require.Zero(t, snap.Frame(signals.CollBusBandwidth).Len()) })
}

// A file that is not rewritten goes on being scraped.
func TestFrozenFileHasNoRows(t *testing.T) {
	var s scrapes
	dump := func(i int) int { return min(i/2, 4) } // every second scrape, until it stops
	s.add(file3, 20, func(i int) (float64, bool) { return t0 - 3 + 30*float64(dump(i)), true })
	s.add(`nccl_collective_exec_time_microseconds{`+g2+`}`, 20, func(i int) (float64, bool) { return 6000 + float64(dump(i)), true })
	s.add(`nccl_bus_bandwidth_gbs{`+g2+`}`, 20, always(43.5)) // equal in each window, new nevertheless
	rows := map[signals.ID]int{}
	var last *signals.Snapshot
	run(t, &s, 20, func(i int, snap *signals.Snapshot) {
		for _, id := range []signals.ID{signals.CollExecTime, signals.CollBusBandwidth} {
			f := snap.Frame(id)
			rows[id] += f.Len()
			for k := range f.Len() {
				require.Equal(t, int64(t0-3+30*dump(i))*1000, f.Dump[k], "the file's time, not the scrape's")
			}
		}
		last = snap
	})
	require.Equal(t, 5, rows[signals.CollExecTime])
	require.Equal(t, 5, rows[signals.CollBusBandwidth], "a sibling or the mtime proves the write")
	require.InDelta(t, 19*15+3-120, last.Get(signals.InspectorAge, gpu("gpu-014", "GPU3")), 1e-6)
}

// At the start of the daemon a file of last week is no performance data.
func TestOldFileAtFirstSight(t *testing.T) {
	var s scrapes
	s.add(file3, 6, always(t0-7*86400))
	s.add(`nccl_collective_exec_time_microseconds{`+g2+`}`, 6, always(6000))
	run(t, &s, 6, func(_ int, snap *signals.Snapshot) { require.Zero(t, snap.Frame(signals.CollExecTime).Len()) })
}

// A message mix that changes must not move a series.
func TestSizesAreNotAveraged(t *testing.T) {
	var s scrapes
	size := func(bucket string) string {
		return fmt.Sprintf(`nccl_collective_exec_time_microseconds{slurm_job_id="1",node="a",gpu="GPU0",comm_name="x",n_nodes="2",nranks="2",collective="AllReduce",message_size="%s",algo_proto="Ring_ll",instance="a:9100",job="node"}`, bucket)
	}
	s.add(size("134-135MB"), 12, func(i int) (float64, bool) { return 6000 + float64(i/2), i < 6 })
	s.add(size("201-202MB"), 12, func(i int) (float64, bool) { return 9000 + float64(i/2), i >= 6 })
	s.add(size("8-9MB"), 12, func(i int) (float64, bool) { return 700 + float64(i/2), true })
	got := map[string][]float64{}
	run(t, &s, 12, func(_ int, snap *signals.Snapshot) {
		f := snap.Frame(signals.CollExecTime)
		for i := range f.Len() {
			e := snap.Entities.Of(f.Entity[i])
			require.Equal(t, "ring_ll", e.Algo)
			got[e.Size] = append(got[e.Size], f.Value[i])
		}
	})
	require.Len(t, got, 3, "three sizes, three series: %v", got)
	for size, vs := range got {
		for _, v := range vs {
			require.InEpsilon(t, vs[0], v, 0.01, "size %s: %v", size, vs)
		}
	}
}

func TestTwoDialectsOfOneThing(t *testing.T) {
	var s scrapes
	counter := `{device="mlx5_3",port="1",`
	s.add(`node_infiniband_port_data_transmitted_bytes_total`+counter+node14+`}`, 5, linear(0, 15e9))
	s.add(`rdma_port_xmit_data_total`+counter+`instance="gpu-014:9879",job="rdma"}`, 5, linear(0, 15e9/4))
	s.add(`rdma_port_info`+counter+`netdev="eth2",pci_addr="0000:1a:00.0",link_layer="Ethernet",instance="gpu-014:9879",job="rdma"}`, 5, always(1))
	s.add(`node_ethtool_received_prio3_pause_duration{device="eth2",`+node14+`}`, 5, linear(0, 15e6*0.12))
	var last *signals.Snapshot
	run(t, &s, 5, func(_ int, snap *signals.Snapshot) { last = snap })
	require.Equal(t, 1, last.Frame(signals.NICTx).Len(), "not counted twice")
	require.InDelta(t, 1e9, last.Get(signals.NICTx, nic("gpu-014", "mlx5_3")), 1)
	require.InDelta(t, 0.12, last.Get(signals.NICPauseRx, withDetail(nic("gpu-014", "mlx5_3"), "prio3")), 1e-9, "the network device is the NIC")
}
