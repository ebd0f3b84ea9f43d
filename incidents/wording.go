package incidents

import (
	"fmt"
	"strings"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// Blameless says that no single component can be guilty of the incident: its
// class is about how a whole job or fabric works. Of any other class, nobody
// named means that somebody could not be found.
func (i *Incident) Blameless() bool {
	if i.Folded || len(i.NamedSuspects()) > 0 || i.Verdict.TieSet > 1 {
		return false
	}
	switch i.Verdict.Class {
	case diagnosis.ConfigSuspected, diagnosis.FabricCongestion, diagnosis.RoCECongestion, diagnosis.InefficientCollective,
		diagnosis.InitStall, diagnosis.ComputeCommContention, diagnosis.RotatingStraggler, diagnosis.RoleImbalance:
		return true
	}
	return false
}

// Nobody says in a sentence why no component is named.
func (i *Incident) Nobody() string {
	switch {
	case i.Verdict.Class == Storm:
		return "It stands for many incidents, each with suspects of its own."
	case i.Verdict.TieSet > 1:
		return fmt.Sprintf("Nobody is named: the available series cannot tell %d components apart.", i.Verdict.TieSet)
	case i.Blameless() && i.wholeJob():
		return "No single node is at fault: it concerns the whole job."
	case i.Blameless():
		return "No single node is at fault: it concerns all of them alike."
	case i.Folded:
		return "Nobody is named: what many have in common is the better suspect."
	}
	return "Nobody is named: nothing separates the candidates."
}

func (i *Incident) wholeJob() bool { return i.Verdict.Scope == "job" && i.Verdict.Job != "" }

// ReasonText writes a reason for people: "rate_downtrained" is "rate
// downtrained"; abbreviations of the vocabulary are spelled out.
func ReasonText(reason string) string {
	switch reason {
	case "gdr_suspected":
		return "GPUDirect suspected"
	case "gdr_off_everywhere":
		return "GPUDirect off everywhere"
	case "tcp_fallback":
		return "TCP instead of RDMA"
	case "no_topology":
		return "its switch is not known"
	case "burst_down":
		return "all its ports went down at once"
	case "boot_time_changed":
		return "booted anew"
	case "host_cpu":
		return "short of CPU"
	case "host_memory":
		return "short of memory"
	case "intersection":
		return "slow jobs share it"
	case "xid":
		return "hardware Xid"
	case "xid_family":
		return "NVLink Xids"
	case "gpu_lost":
		return "GPU lost"
	case "gpu_fault":
		return "GPU fault"
	case "hw_slowdown":
		return "hardware slowdown"
	case "row_remap_failure":
		return "row remapping failed"
	case "numa":
		return "NUMA"
	case "sm_sharing":
		return "SMs shared"
	case "single":
		return "once"
	case "width":
		return "lanes lost"
	case "generation":
		return "lower generation"
	case "stage":
		return "one pipeline stage"
	}
	return spaced(reason)
}

// spaced writes a word of the vocabulary without its underscores.
func spaced(word string) string { return strings.ReplaceAll(word, "_", " ") }

// Span writes a duration as people say it: "45 s", "10 min", "1 h 5 min",
// "3 days".
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d.Round(time.Second) < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d.Round(time.Minute) < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		hours, minutes := int(d.Round(time.Minute).Hours()), int(d.Round(time.Minute).Minutes())%60
		if minutes == 0 {
			return fmt.Sprintf("%d h", hours)
		}
		return fmt.Sprintf("%d h %d min", hours, minutes)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24+0.5))
}
