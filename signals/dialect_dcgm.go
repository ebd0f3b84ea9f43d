package signals

const dcgmFields = "dcgm-exporter's counters CSV: "

// dcgm is NVIDIA's dcgm-exporter. The host label was Hostname up to 4.8 and
// is hostname in later trees; link rows use gpu_uuid and model_name.
func dcgm() Dialect {
	const f, e, p = "DCGM_FI_DEV_", "DCGM_EXP_", "DCGM_FI_PROF_"
	stock := func(name string, id ID) Rule { return Rule{Metric: name, Signal: id} }
	optional := func(r Rule) Rule { r.Enable = dcgmFields + r.Metric; return r }
	rules := []Rule{
		{Metric: f + "SM_CLOCK", Signal: GPUSMClock, Scale: 1e6, Max: 1e5},
		{Metric: f + "MEM_CLOCK", Signal: GPUMemClock, Scale: 1e6, Max: 1e5},
		{Metric: f + "GPU_TEMP", Signal: GPUTemp, Max: 200},
		{Metric: f + "MEMORY_TEMP", Signal: GPUMemTemp, Max: 200},
		{Metric: f + "POWER_USAGE", Signal: GPUPower, Max: 2e4, Join: JoinGPUJob},
		{Metric: f + "TOTAL_ENERGY_CONSUMPTION", Signal: GPUPower, Type: Counter, Scale: 1e-3, Second: true, Note: "mJ; its rate is the mean power"},
		{Metric: f + "GPU_UTIL", Signal: GPUUtil, Scale: 0.01, Max: 101, Join: JoinGPUJob, Note: "100 during a hang: no health signal alone"},
		{Metric: f + "PCIE_REPLAY_COUNTER", Signal: GPUPCIeReplays, Type: Counter},
		{Metric: f + "XID_ERRORS", Signal: GPUXid, Max: 1e6, Note: "sticky: only a change is news"},
		{Metric: f + "FB_USED", Signal: GPUMemUsed, Scale: 1 << 20, Max: 1e9},
		{
			Metric: f + "NVLINK_BANDWIDTH_TOTAL", Signal: NVLinkRate, Type: RateCounter, Scale: 1e6, Detail: "total", Repair: MegaOrBase,
			Note: "field 449: MB/s at the instant, falls between scrapes",
		},
		{Metric: f + "UNCORRECTABLE_REMAPPED_ROWS", Signal: GPURemappedRows, Type: Counter, Detail: "uncorrectable"},
		{Metric: f + "CORRECTABLE_REMAPPED_ROWS", Signal: GPURemappedRows, Type: Counter, Detail: "correctable"},
		stock(f+"ROW_REMAP_FAILURE", GPURowRemapFailure),
		{Metric: p + "PIPE_TENSOR_ACTIVE", Signal: GPUTensorActive, Repair: PercentOrRatio, Max: 101},
		{Metric: p + "DRAM_ACTIVE", Signal: GPUDRAMActive, Repair: PercentOrRatio, Max: 101},
	}
	for _, r := range []Rule{
		{Metric: p + "SM_ACTIVE", Signal: GPUSMActive, Repair: PercentOrRatio, Max: 101},
		{Metric: p + "NVLINK_TX_BYTES", Signal: NVLinkRate, Type: RateCounter, Detail: "tx"},
		{Metric: p + "NVLINK_RX_BYTES", Signal: NVLinkRate, Type: RateCounter, Detail: "rx"},
		{Metric: f + "CLOCKS_EVENT_REASONS", Signal: GPUClockReasons, Max: 1<<16 - 1},
		{Metric: f + "CLOCK_THROTTLE_REASONS", Signal: GPUClockReasons, Max: 1<<16 - 1, Second: true},
		{Metric: f + "PCIE_LINK_GEN", Signal: GPUPCIeGen, Max: 10, Note: "generation 1 is legal while idle"},
		{Metric: f + "PCIE_LINK_WIDTH", Signal: GPUPCIeWidth, Max: 32},
		{Metric: e + "XID_ERRORS_COUNT", Signal: GPUXidCount, Detail: "{xid}", Note: "count in a sliding window"},
		{Metric: e + "CLOCK_EVENTS_COUNT", Signal: GPUClockEvents, Detail: "{clock_event}", Note: "count in a sliding window"},
	} {
		rules = append(rules, optional(r))
	}
	for _, cause := range []string{"power", "thermal", "sync_boost", "board_limit", "low_util", "reliability"} {
		rules = append(rules, optional(Rule{
			Metric: f + upper(cause) + "_VIOLATION", Signal: GPUThrottleTime, Type: Counter, Scale: 1e-9,
			Detail: cause, Repair: NanoOrMicro,
		}))
	}
	for _, kind := range []string{"sbe_vol", "dbe_vol", "sbe_agg", "dbe_agg"} {
		rules = append(rules, optional(Rule{Metric: f + "ECC_" + upper(kind) + "_TOTAL", Signal: GPUECC, Type: Counter, Detail: kind}))
	}
	for _, kind := range []string{"sbe", "dbe", "pending"} {
		rules = append(rules, optional(Rule{Metric: f + "RETIRED_" + upper(kind), Signal: GPUECC, Type: Counter, Detail: "retired_" + kind}))
	}
	for _, kind := range []string{"crc_flit", "crc_data", "replay", "recovery"} {
		rules = append(rules, optional(Rule{
			Metric: f + "NVLINK_" + upper(kind) + "_ERROR_COUNT_TOTAL", Signal: NVLinkErrors, Type: Counter,
			Detail: kind, Columns: Columns{Port: "nvlink"},
		}))
	}
	return Dialect{
		Name: "dcgm", Exporter: "dcgm", Family: "dcgm", Rank: 10, Kind: KindGPU, NonNegative: true, Steady: true,
		About: "NVIDIA dcgm-exporter, host label Hostname or hostname, pod labels plain or exported_",
		Columns: Columns{
			Host: "Hostname|hostname|exported_node|node|kubernetes_node|instance", Device: "gpu|device", UUID: "UUID|gpu_uuid|uuid", Job: "hpc_job",
			Pod: "exported_pod|pod|pod_name", Namespace: "exported_namespace|namespace|pod_namespace",
		},
		Rules: rules,
	}
}
