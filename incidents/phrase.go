package incidents

import (
	"fmt"
	"strings"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
)

// phrases name the classes for people, symptom first.
func phrase(c diagnosis.Class) string {
	switch c {
	case diagnosis.LinkDown:
		return "Link down"
	case diagnosis.LinkFlap:
		return "Link flaps"
	case diagnosis.NICDegraded:
		return "NIC degraded"
	case diagnosis.NICContention:
		return "NIC shared with other traffic"
	case diagnosis.NICUnusedAfterFlap:
		return "NIC unused after a flap"
	case diagnosis.RailMiscabled:
		return "Rail cables exchanged"
	case diagnosis.PFCStorm:
		return "PFC storm"
	case diagnosis.RoCECongestion:
		return "RoCE congestion"
	case diagnosis.RoCELoss:
		return "RoCE loss"
	case diagnosis.PCIeDegraded:
		return "PCIe degraded"
	case diagnosis.NVLinkDegraded:
		return "NVLink degraded"
	case diagnosis.NVLinkDomainFault:
		return "NVLink domain fault"
	case diagnosis.GPUThrottle:
		return "GPU throttled"
	case diagnosis.GPUFault:
		return "GPU fault"
	case diagnosis.StragglerCompute:
		return "Straggler"
	case diagnosis.ComputeCommContention:
		return "Compute and communication compete"
	case diagnosis.CollectiveStall:
		return "Collective stalled"
	case diagnosis.InitStall:
		return "Job stuck in initialisation"
	case diagnosis.TelemetryGap:
		return "Telemetry gap"
	case diagnosis.ConfigSuspected:
		return "Job configuration suspected"
	case diagnosis.ThermalGroup:
		return "GPUs hot together"
	case diagnosis.NodeSuspect:
		return "Host suspected"
	case diagnosis.LeafDegraded:
		return "Leaf degraded"
	case diagnosis.LeafRestart:
		return "Leaf restarted"
	case diagnosis.NodeRestart:
		return "Host restarted"
	case Storm:
		return "Many incidents at once"
	}
	words := spaced(string(c))
	if words == "" {
		return "Unknown fault"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// NamedSuspects returns the components that the incident names, none if the
// evidence cannot tell them apart.
func (i *Incident) NamedSuspects() []diagnosis.Suspect {
	if !i.component().named() {
		return nil
	}
	return i.Verdict.Suspects
}

// SuspectText names a component with its other end: "gpu-007/mlx5_3 (leaf-r3)".
func SuspectText(s diagnosis.Suspect) string {
	var parts []string
	for _, p := range []string{s.Node, s.Device} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	name := strings.Join(parts, "/")
	other := s.Switch
	if other != "" && s.Port != "" {
		other += " port " + s.Port
	}
	switch {
	case name == "" && other == "":
		return s.Kind
	case name == "":
		return s.Kind + " " + other
	case s.Node == "":
		name = s.Kind + " " + name
	}
	if other != "" {
		name += " (" + other + ")"
	}
	return name
}

func suspectTexts(list []diagnosis.Suspect, limit int) string {
	var parts []string
	for i, s := range list {
		if i == limit {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-limit))
			break
		}
		parts = append(parts, SuspectText(s))
	}
	return strings.Join(parts, ", ")
}

// Title is one line for a lock screen: the symptom, the suspect, the job.
func (i *Incident) Title() string {
	t, job := phrase(i.Verdict.Class), i.Verdict.Job
	switch named := i.NamedSuspects(); {
	case len(named) > 0:
		t += ": " + suspectTexts(named, 2)
	case i.Verdict.TieSet > 1:
		t += fmt.Sprintf(": one of %d, not told apart", i.Verdict.TieSet)
	case i.Verdict.Class == Storm || i.Folded:
	case i.Blameless() && i.wholeJob():
		t += ": whole job " + i.Verdict.Job
		job = ""
	case i.Blameless():
		t += ": no single host"
	default:
		t += ": suspect unknown"
	}
	if i.Folded {
		t += ", " + count(i.Verdict.AffectedHosts, "host")
	}
	// A rack that is hot as a rack is said once.
	if r := i.Verdict.Reason; r != "" && (len(i.NamedSuspects()) == 0 || r != i.Verdict.Suspects[0].Kind) {
		t += ", " + ReasonText(r)
	}
	if job != "" {
		t += ", job " + job
	}
	return t
}

// describe says what, since when, how bad and how sure in full sentences.
func (i *Incident) describe() string {
	v := &i.Verdict
	var b strings.Builder
	fmt.Fprintf(&b, "%s since %s, severity %s.", i.Title(), stamp(i.StartedAt), i.Severity)
	if i.State == Resolved {
		fmt.Fprintf(&b, " Over since %s after %s (%s): %s.", stamp(i.ResolvedAt),
			Span(i.ResolvedAt.Sub(i.StartedAt)), spaced(string(i.ResolveReason)), i.RecoveryText)
	}
	named := len(i.NamedSuspects()) > 0
	if v.Confidence != diagnosis.Unknown && (named || v.TieSet > 1 || i.Blameless()) {
		fmt.Fprintf(&b, " Confidence %s.", v.Confidence)
	}
	if !named && v.Class != Storm {
		b.WriteString(" " + i.Nobody())
	}
	if a := i.affected(); a != "" {
		fmt.Fprintf(&b, " Affected: %s.", a)
	}
	if i.JobEnded {
		fmt.Fprintf(&b, " Job %s has ended.", v.Job)
	}
	if i.Repeats > 0 {
		fmt.Fprintf(&b, " The component was named in %s within the last days.", count(i.Repeats, "other incident"))
	}
	if i.Held != "" {
		fmt.Fprintf(&b, " Cannot be judged at present (%s); the state is kept.", i.Held)
	}
	return b.String()
}

func (i *Incident) affected() string {
	var parts []string
	if len(i.Jobs) > 0 {
		word := "job "
		if len(i.Jobs) > 1 {
			word = "jobs "
		}
		parts = append(parts, word+strings.Join(i.Jobs, ", "))
	}
	for _, n := range []struct {
		count int
		word  string
	}{{i.Verdict.AffectedHosts, "host"}, {i.Verdict.AffectedGPUs, "GPU"}} {
		if n.count > 0 {
			parts = append(parts, count(n.count, n.word))
		}
	}
	return strings.Join(parts, ", ")
}

// count writes "1 host" or "3 hosts".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
