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
	case Storm:
		return "Many incidents at once"
	}
	words := strings.ReplaceAll(string(c), "_", " ")
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
	t := phrase(i.Verdict.Class)
	switch named := i.NamedSuspects(); {
	case len(named) > 0:
		t += ": " + suspectTexts(named, 2)
	case i.Verdict.TieSet > 1:
		t += fmt.Sprintf(": one of %d, not told apart", i.Verdict.TieSet)
	case i.Verdict.Class != Storm && !i.Folded:
		t += ": suspect unknown"
	}
	if i.Folded {
		t += fmt.Sprintf(", %d hosts", i.Verdict.AffectedHosts)
	}
	if i.Verdict.Reason != "" {
		t += ", " + strings.ReplaceAll(i.Verdict.Reason, "_", " ")
	}
	if i.Verdict.Job != "" {
		t += ", job " + i.Verdict.Job
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
			i.ResolvedAt.Sub(i.StartedAt).Round(time.Second), strings.ReplaceAll(string(i.ResolveReason), "_", " "), i.RecoveryText)
	}
	switch named := i.NamedSuspects(); {
	case len(named) > 0:
		fmt.Fprintf(&b, " Confidence %s.", v.Confidence)
	case v.TieSet > 1:
		fmt.Fprintf(&b, " Confidence %s: the available series cannot tell %d components apart, so none is named.", v.Confidence, v.TieSet)
	case v.Class != Storm:
		b.WriteString(" Nobody is named: nothing separates the candidates.")
	}
	if a := i.affected(); a != "" {
		fmt.Fprintf(&b, " Affected: %s.", a)
	}
	if i.JobEnded {
		fmt.Fprintf(&b, " Job %s has ended.", v.Job)
	}
	if i.Repeats > 0 {
		fmt.Fprintf(&b, " The component was named in %d other incidents within the last days.", i.Repeats)
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
		if n.count == 1 {
			parts = append(parts, "1 "+n.word)
		} else if n.count > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss", n.count, n.word))
		}
	}
	return strings.Join(parts, ", ")
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
