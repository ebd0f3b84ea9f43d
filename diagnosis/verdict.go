package diagnosis

import (
	"time"

	"github.com/collwatch/collwatch/signals"
)

// Class says what kind of thing is wrong. The words are stable: alerts, rules
// and silences refer to them.
type Class string

// The classes.
const (
	LinkDown              Class = "link_down"
	LinkFlap              Class = "link_flap"
	NICDegraded           Class = "nic_degraded"
	NICContention         Class = "nic_contention"
	NICUnusedAfterFlap    Class = "nic_unused_after_flap"
	RailMiscabled         Class = "rail_miscabled"
	LeafDegraded          Class = "leaf_degraded"
	RailDegraded          Class = "rail_degraded"
	LeafRestart           Class = "leaf_restart"
	UplinkCongestion      Class = "uplink_congestion"
	RoCECongestion        Class = "roce_congestion"
	RoCELoss              Class = "roce_loss"
	PFCStorm              Class = "pfc_storm"
	FabricCongestion      Class = "fabric_congestion"
	HostPathDegraded      Class = "host_path_degraded"
	ConfigSuspected       Class = "config_suspected"
	NodeSuspect           Class = "node_suspect"
	NodeRestart           Class = "node_restart"
	PCIeDegraded          Class = "pcie_degraded"
	NVLinkDegraded        Class = "nvlink_degraded"
	NVLinkDomainFault     Class = "nvlink_domain_fault"
	GPUThrottle           Class = "gpu_throttle"
	ThermalGroup          Class = "thermal_group"
	GPUFault              Class = "gpu_fault"
	StragglerCompute      Class = "straggler_compute"
	RotatingStraggler     Class = "rotating_straggler"
	RoleImbalance         Class = "role_imbalance"
	ComputeCommContention Class = "compute_comm_contention"
	CollectiveStall       Class = "collective_stall"
	InefficientCollective Class = "inefficient_collective"
	InitStall             Class = "init_stall"
	TelemetryGap          Class = "telemetry_gap"
)

// Severity orders how soon a person should look.
type Severity uint8

// Severities.
const (
	Recorded Severity = iota // kept and shown, never sent
	Info
	Warning
	Critical
)

// String returns the word used as a label.
func (s Severity) String() string { return [...]string{"recorded", "info", "warning", "critical"}[s] }

// Confidence says how far the evidence carries.
type Confidence uint8

// Confidences. Unknown goes with suspect "unknown".
const (
	Unknown Confidence = iota
	Low
	Medium
	High
)

// String returns the word used as an annotation.
func (c Confidence) String() string { return [...]string{"unknown", "low", "medium", "high"}[c] }

// Owner says who acts.
type Owner string

// Owner domains.
const (
	Infrastructure Owner = "infrastructure"
	Platform       Owner = "platform"
	Workload       Owner = "workload"
	OwnerUnknown   Owner = "unknown"
)

// Suspect is a component that could be to blame.
type Suspect struct {
	Kind   string // nic, gpu, node, link, switch, rail, domain, rack, rank or job
	Node   string
	Device string
	Switch string // the other end, or the switch itself
	Port   string
	Score  float64 // 0..1, share of the evidence explained
}

// Evidence is one statement that supports a verdict, with its numbers.
type Evidence struct {
	Signal signals.ID
	Entity signals.Entity
	// Text has the numbers with units and what they are compared with.
	Text string
	// Decisive marks the fact without which the verdict would not stand.
	Decisive bool
}

// Verdict is the diagnosis of one fault at one tick.
type Verdict struct {
	Class      Class
	Reason     string
	Severity   Severity
	Confidence Confidence
	Owner      Owner

	// Job is the job harmed, "" if none or several.
	Job string
	// Scope bounds what is affected: job, rail:3, leaf:leaf-r2, cluster.
	Scope string
	// Suspects are the components named, the most important first; empty when
	// nobody can be named. Several are named only if they are guilty together
	// (two exchanged cables), never because one of them is: that is a tie set.
	Suspects []Suspect
	// TieSet is the number of components that the evidence cannot tell apart,
	// 0 if nobody is suspect.
	TieSet int
	// Candidates are shown, never named, when TieSet is above 1.
	Candidates []Suspect

	Evidence []Evidence
	// Consequences are other things that this fault explains, in words.
	Consequences []string
	// Affected counts.
	AffectedHosts, AffectedGPUs int
	// JobEnded marks a verdict whose job died with it.
	JobEnded bool

	// StartedAt is the onset.
	StartedAt time.Time
	// Immediate skips the pending time: the evidence is about to vanish.
	Immediate bool
	// Next is what to do, one line; Command an optional command for it.
	Next, Command string

	// Hosts are the hosts whose inputs the verdict needs: a gap there holds
	// it. Needs are the signals it needs.
	Hosts []string
	Needs []signals.ID
}

// Key identifies the fault over ticks: verdicts with one key belong to one
// incident. The reason is no part of it, because it may become more exact.
func (v Verdict) Key() string {
	k := string(v.Class) + "|" + v.Job + "|" + v.Scope
	if len(v.Suspects) > 0 && v.TieSet == 1 {
		s := v.Suspects[0]
		k += "|" + s.Kind + "|" + s.Node + "|" + s.Device
		if s.Node == "" {
			k += "|" + s.Switch
		}
	}
	return k
}

// Hold says that verdicts of some classes cannot be judged at this tick. An
// incident that matches keeps its state.
type Hold struct {
	// Classes held; empty means all.
	Classes []Class
	// Host and Job limit it; both empty means everywhere.
	Host, Job string
	Reason    string
}

// Result is the diagnosis of one tick.
type Result struct {
	Time     time.Time
	Verdicts []Verdict
	Holds    []Hold
	// Ended are the jobs that ended, for the reason of a resolve.
	Ended []string
	// Suspects are the things whose baselines have to be frozen.
	Suspect []signals.Entity
	// Whole is false when the tick saw so little that nothing can be
	// resolved.
	Whole bool
}
