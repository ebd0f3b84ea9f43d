package rules

import (
	"slices"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

// metricFact is what the catalogue knows of a name.
type metricFact struct {
	gauge, counter, optional bool
}

// metricFacts are those of all names of the catalogue.
func metricFacts() map[string]metricFact {
	out := map[string]metricFact{}
	for _, d := range signals.Catalogue() {
		for _, x := range d.Rules {
			if x.Pattern {
				continue
			}
			f := out[x.Metric]
			switch x.Type {
			case signals.Counter, signals.CountingGauge:
				f.counter = true
			case signals.Gauge:
				f.gauge = true
			default:
			}
			f.optional = f.optional || x.Enable != ""
			out[x.Metric] = f
		}
	}
	return out
}

// book is what is known of names, made once for a file.
type book struct {
	facts map[string]metricFact
	// known are all names of exporters that are known, ports those of ports'
	// counters, here those that exist on the source; each sorted.
	known, ports, here []string
	// near remembers what was found for names that are not known.
	near map[string]string
}

// slip is the known name of which another is a slip of the pen: one or two
// letters off, unless a digit differs, since p50 and p95, load1 and load5 are
// different series.
func (k *book) slip(name string) string {
	near, ok := k.near[name]
	if !ok {
		near = nearest(name, k.known)
		if near != "" && (edits(name, near, 3) > allowedEdits(name) || digitless(name) == digitless(near)) {
			near = ""
		}
		k.near[name] = near
	}
	return near
}

func newBook(metrics []string) *book {
	k := &book{near: map[string]string{}, facts: metricFacts(), here: slices.Sorted(slices.Values(metrics))}
	for m := range k.facts {
		k.known = append(k.known, m)
	}
	for f := range strings.FieldsSeq(nodeInfiniband) {
		k.ports = append(k.ports, "node_infiniband_"+f)
	}
	k.known = append(k.known, k.ports...)
	for f := range strings.FieldsSeq(dcgmNames) {
		k.known = append(k.known, "DCGM_FI_DEV_"+f)
	}
	slices.Sort(k.known)
	return k
}

// nodeInfiniband are the names of node_exporter's InfiniBand collector (1.12).
const nodeInfiniband = `info legacy_multicast_packets_received_total legacy_multicast_packets_transmitted_total legacy_data_received_bytes_total
legacy_packets_received_total legacy_unicast_packets_received_total legacy_unicast_packets_transmitted_total legacy_data_transmitted_bytes_total
legacy_packets_transmitted_total excessive_buffer_overrun_errors_total link_downed_total link_error_recovery_total local_link_integrity_errors_total
multicast_packets_received_total multicast_packets_transmitted_total physical_state_id port_constraint_errors_received_total
port_constraint_errors_transmitted_total port_data_received_bytes_total port_data_transmitted_bytes_total port_discards_received_total
port_discards_transmitted_total port_errors_received_total port_packets_received_total port_packets_transmitted_total port_transmit_wait_total
rate_bytes_per_second state_id unicast_packets_received_total unicast_packets_transmitted_total port_receive_remote_physical_errors_total
port_receive_switch_relay_errors_total symbol_error_total vl15_dropped_total duplicate_requests_packets_total implied_nak_seq_errors_total lifespan_seconds
local_ack_timeout_errors_total np_cnp_packets_sent_total np_ecn_marked_roce_packets_received_total out_of_buffer_drops_total
out_of_sequence_packets_received_total packet_sequence_errors_total req_cqes_errors_total req_cqes_flush_errors_total req_remote_access_errors_total
req_remote_invalid_request_errors_total resp_cqes_errors_total resp_cqes_flush_errors_total resp_local_length_errors_total resp_remote_access_errors_total
rnr_nak_retry_packets_received_total roce_adp_retransmits_total roce_adp_retransmits_timeout_total roce_slow_restart_used_total
roce_slow_restart_cnps_total roce_slow_restart_total rp_cnp_packets_handled_total rp_cnp_ignored_packets_received_total rx_atomic_requests_total
rx_dct_connect_requests_total rx_read_requests_total rx_write_requests_total rx_icrc_encapsulated_errors_total`

// dcgmNames are further fields of DCGM that rules use, so that a name near one
// of the catalogue is not taken for a slip of the pen.
const dcgmNames = `APP_SM_CLOCK APP_MEM_CLOCK VIDEO_CLOCK MAX_SM_CLOCK MAX_MEM_CLOCK GPU_MAX_OP_TEMP MEM_MAX_OP_TEMP SLOWDOWN_TEMP SHUTDOWN_TEMP POWER_USAGE_INSTANT
POWER_MGMT_LIMIT ENFORCED_POWER_LIMIT FAN_SPEED PSTATE PCIE_MAX_LINK_GEN PCIE_MAX_LINK_WIDTH MEM_COPY_UTIL ENC_UTIL DEC_UTIL FB_FREE FB_TOTAL FB_RESERVED
FB_USED_PERCENT VGPU_LICENSE_STATUS PCIE_TX_THROUGHPUT PCIE_RX_THROUGHPUT BAR1_USED BAR1_FREE ECC_CURRENT PERSISTENCE_MODE COUNT COMPUTE_MODE`

// likelyNames are wrong names that were seen, with what was meant.
func likelyNames() map[string]string {
	return map[string]string{
		"node_infiniband_port_receive_errors_total":    "node_infiniband_port_errors_received_total",
		"node_infiniband_symbol_error_counter_total":   "node_infiniband_symbol_error_total",
		"node_infiniband_port_transmit_errors_total":   "node_infiniband_port_discards_transmitted_total",
		"node_infiniband_port_rcv_errors_total":        "node_infiniband_port_errors_received_total",
		"node_infiniband_port_transmit_discards_total": "node_infiniband_port_discards_transmitted_total",
		"node_infiniband_port_xmit_wait_total":         "node_infiniband_port_transmit_wait_total",
		"node_infiniband_port_xmit_data_total":         "node_infiniband_port_data_transmitted_bytes_total",
		"node_infiniband_port_rcv_data_total":          "node_infiniband_port_data_received_bytes_total",
		"node_infiniband_port_data_transmitted_total":  "node_infiniband_port_data_transmitted_bytes_total",
		"node_infiniband_port_data_received_total":     "node_infiniband_port_data_received_bytes_total",
		"node_infiniband_rate":                         "node_infiniband_rate_bytes_per_second",
		"node_infiniband_port_state":                   "node_infiniband_state_id",
		"node_infiniband_state":                        "node_infiniband_state_id",
		"DCGM_FI_DEV_GPU_TEMPERATURE":                  "DCGM_FI_DEV_GPU_TEMP",
		"DCGM_FI_DEV_GPU_UTILIZATION":                  "DCGM_FI_DEV_GPU_UTIL",
		"DCGM_FI_DEV_POWER_DRAW":                       "DCGM_FI_DEV_POWER_USAGE",
		"DCGM_FI_DEV_MEMORY_USED":                      "DCGM_FI_DEV_FB_USED",
		"DCGM_FI_DEV_ECC_DBE_TOTAL":                    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
		"DCGM_FI_DEV_ECC_SBE_TOTAL":                    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
	}
}

// noSuchMetric looks for names of the known exporters that they do not have.
func noSuchMetric(r *lintRule) string {
	likely := likelyNames()
	for _, n := range r.names() {
		if _, ok := slices.BinarySearch(r.book.known, n); ok {
			continue
		}
		r.uses(oneOf(n))
		if use := likely[n]; use != "" {
			return n + " does not exist: the name is " + use
		}
		if f, ok := strings.CutPrefix(n, "DCGM_FI_DEV_PROF_"); ok {
			return n + " does not exist: the name is DCGM_FI_PROF_" + f
		}
		if strings.HasPrefix(n, "node_infiniband_") { // the list is complete
			return n + " does not exist" + suggest(n, r.book.ports)
		}
		if near := r.book.slip(n); near != "" {
			return n + " is not known, did you mean " + near + "?"
		}
	}
	return ""
}

// allowedEdits is how far a slip of the pen goes: two letters in long names.
func allowedEdits(name string) int {
	if len(name) >= 18 {
		return 2
	}
	return 1
}

func digitless(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, s)
}

// uncovered looks for names that the source does not have.
func uncovered(r *lintRule) string {
	if r.metrics == nil {
		return ""
	}
	for _, n := range r.names() {
		if r.metrics[n] {
			continue
		}
		r.uses(oneOf(n))
		return "no series " + n + " here" + suggest(n, r.book.here)
	}
	return ""
}
