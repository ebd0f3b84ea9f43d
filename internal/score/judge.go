package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/collwatch/collwatch/diagnosis"
	"github.com/collwatch/collwatch/incidents"
	"github.com/collwatch/collwatch/sim"
)

// Verdict is the judgement of one outcome.
type Verdict struct {
	Name      string // of the run, so that it can be made again
	ID, Title string // of the scenario
	Telemetry string // "" for the scenario's own
	Severity  float64
	Graded    bool // the scenario has several severities
	Quiet     bool // nothing had to be said
	// Want is the class asked for, Expected the same with its suspects.
	Want, Expected string
	// Found is set when an alert of a right class opened after the onset,
	// Timely when it did within the time allowed, Severe when it reached the
	// least severity asked for.
	Found, Timely, Severe bool
	// Class and Reason are the first right ones, or the first of all.
	Class, Reason string
	Latency       time.Duration // from onset to the opening
	Evaluations   int
	// Kind groups latencies: see kindOf. Dated is set when the fault has an
	// onset to count from.
	Kind  string
	Dated bool
	// Nameable is set when the truth has somebody to name. Top1 and Top3 say
	// that the first, or one of the first three, suspects or candidates of the
	// right incident is guilty.
	Nameable, Top1, Top3 bool
	// Wrong are names said that were neither guilty nor harmless; OverClaim is
	// set if one was said though nobody could be named.
	Wrong     []string
	OverClaim bool
	// False are alerts of warning or above that are no part of the truth,
	// Noise those of info.
	False, Noise []string
	// Opens are the openings of right incidents, where one that takes the place
	// of another counts with it; Closes are their ends.
	Opens, Closes int
	// Notices are the messages about the fault: openings, rises of severity,
	// ends.
	Notices int
	// Tied compares the names and candidates of the right incident with the
	// guilty: F1, NaN-free, 0 where nobody is to be named.
	Tied     float64
	NodeDays float64
}

// OK says that nothing is wrong with the outcome.
func (v *Verdict) OK() bool {
	return v.Found != v.Quiet && (v.Quiet || v.Timely && v.Severe && (!v.Nameable || v.Top1) && v.Opens <= 1) && len(v.Wrong) == 0 && len(v.False) == 0
}

// Judge compares an outcome with its truth.
func Judge(o *Outcome) Verdict {
	t := &o.Truth
	v := Verdict{
		Name: o.Case.String(), ID: o.Case.Scenario.ID, Title: o.Case.Scenario.Title, Telemetry: o.Case.Telemetry,
		Severity: o.Case.Params.Severity, Graded: len(o.Case.Scenario.Levels) > 1, Dated: t.Onset.After(o.Start.Add(time.Minute)),
		Quiet: t.Quiet(), Want: t.Class, Expected: expected(t), Nameable: !t.Quiet() && len(t.Suspects) > 0, NodeDays: o.Until.Sub(o.Start).Hours() / 24 * float64(o.Nodes), Severe: true,
	}
	v.Kind = kindOf(t.Class)
	reached := diagnosis.Recorded
	first := map[string]bool{}  // incidents that opened right
	thread := map[string]bool{} // chains of incidents: one message each
	for i := range o.Events {
		e := &o.Events[i]
		inc := &e.Incident
		class := string(inc.Verdict.Class)
		right := t.Right(class) && !e.Time.Before(t.Onset)
		v.names(t, e)
		switch {
		case e.Kind == incidents.EventResolve:
			if first[inc.ID] {
				v.Closes++
				v.Notices++
			}
		case right:
			if e.Kind == incidents.EventOpen || inc.Severity > reached {
				v.Notices++
			}
			reached = max(reached, inc.Severity)
			if e.Kind == incidents.EventOpen {
				if id := cmp.Or(inc.Thread, inc.ID); !thread[id] {
					thread[id] = true
					v.Opens++
				}
				first[inc.ID] = true
			}
			if !v.Found {
				v.Found, v.Class, v.Reason = true, class, inc.Verdict.Reason
				v.Latency = e.Time.Sub(t.Onset)
				v.Evaluations = int(math.Ceil(v.Latency.Seconds() / Interval.Seconds()))
			}
			v.rank(t, inc)
			v.Tied = tied(t, inc)
		case e.Kind == incidents.EventOpen && !t.MaySay(class):
			if inc.Severity >= diagnosis.Warning {
				v.False = append(v.False, class+"/"+inc.Verdict.Reason)
			} else if inc.Severity == diagnosis.Info {
				v.Noise = append(v.Noise, class+"/"+inc.Verdict.Reason)
			}
		}
	}
	v.Timely = v.Found && (t.Within == 0 || v.Latency <= t.Within+2*Interval)
	v.Severe = t.Severity == "" || reached >= severity(t.Severity)
	return v
}

// names notes whom an event wrongly names.
func (v *Verdict) names(t *sim.Truth, e *incidents.Event) {
	inc := &e.Incident
	if inc.Severity <= diagnosis.Recorded || e.Kind == incidents.EventResolve {
		return
	}
	for _, s := range inc.NamedSuspects() {
		if t.MayBlame(component(s)) || aboutJob(s) {
			continue
		}
		name := fmt.Sprintf("%s: %s", inc.Verdict.Class, incidents.SuspectText(s))
		if !slices.Contains(v.Wrong, name) {
			v.Wrong = append(v.Wrong, name)
			v.OverClaim = v.OverClaim || len(t.Suspects) == 0
		}
	}
}

func expected(t *sim.Truth) string {
	if t.Quiet() {
		return strings.Join(append([]string{"nothing"}, t.Allowed...), " or ")
	}
	who := "nobody named"
	for i, s := range t.Suspects {
		if i == 0 {
			who = ""
		}
		who += strings.TrimSpace(strings.Join([]string{s.Node, s.Device, s.Switch}, " ")) + ", "
	}
	return fmt.Sprintf("%s/%s %s", t.Class, t.Reason, strings.TrimSuffix(who, ", "))
}

// rank looks for the guilty among the names of a right incident.
func (v *Verdict) rank(t *sim.Truth, inc *incidents.Incident) {
	if !v.Nameable {
		return
	}
	for i, s := range slices.Concat(inc.Verdict.Suspects, inc.Verdict.Candidates) {
		if t.Guilty(component(s)) {
			v.Top1 = v.Top1 || i == 0
			v.Top3 = v.Top3 || i < 3
		}
	}
}

// tied is the F1 of the suspects and candidates of an incident against the
// guilty.
func tied(t *sim.Truth, inc *incidents.Incident) float64 {
	said := slices.Concat(inc.Verdict.Suspects, inc.Verdict.Candidates)
	if len(said) == 0 || len(t.Suspects) == 0 {
		return 0
	}
	hits := 0
	for _, s := range said {
		if t.Guilty(component(s)) {
			hits++
		}
	}
	precision, recall := float64(hits)/float64(len(said)), min(1, float64(hits)/float64(len(t.Suspects)))
	if !t.Together {
		recall = min(1, float64(hits)) // any one of them is right
	}
	if hits == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}

// kindOf groups classes by what they are found from, because that bounds how
// fast they can be found.
func kindOf(class string) string {
	switch class {
	case "link_down", "link_flap", "leaf_restart", "node_restart", "gpu_fault", "nvlink_domain_fault", "pcie_degraded", "nic_unused_after_flap":
		return "hard facts"
	case "collective_stall", "init_stall":
		return "stalls"
	case "node_suspect", "host_path_degraded", "config_suspected", "inefficient_collective", "compute_comm_contention":
		return "across jobs"
	case "thermal_group", "nvlink_degraded":
		return "slow to appear"
	case "":
		return ""
	}
	return "counters and times"
}

// component translates a suspect. Domains and racks are named in whatever field
// the diagnosis has for them.
func component(s diagnosis.Suspect) sim.Component {
	c := sim.Component{Kind: s.Kind, Node: s.Node, Device: s.Device, Switch: s.Switch}
	switch s.Kind {
	case "domain", "rack":
		for _, n := range []string{s.Device, s.Switch, s.Node} {
			if n != "" {
				return sim.Component{Kind: s.Kind, Device: n}
			}
		}
	case "switch", "link":
		if s.Node == "" {
			c.Device = s.Port
		}
	}
	return c
}

// aboutJob says that a suspect is no component that could be innocent.
func aboutJob(s diagnosis.Suspect) bool { return s.Kind == "job" || s.Kind == "rail" }

func severity(word string) diagnosis.Severity {
	for s := diagnosis.Recorded; s <= diagnosis.Critical; s++ {
		if s.String() == word {
			return s
		}
	}
	return diagnosis.Recorded
}

// Got describes what was said, for a list of failures.
func (v *Verdict) Got() string {
	var parts []string
	if v.Found {
		parts = append(parts, fmt.Sprintf("%s/%s after %s", v.Class, v.Reason, v.Latency))
	} else if !v.Quiet {
		parts = append(parts, "not found")
	}
	if v.Found && !v.Timely {
		parts = append(parts, "late")
	}
	if v.Found && !v.Severe {
		parts = append(parts, "severity too low")
	}
	if v.Found && v.Nameable && !v.Top1 {
		parts = append(parts, "guilty not first")
	}
	if v.Opens > 1 {
		parts = append(parts, fmt.Sprintf("opened %d times", v.Opens))
	}
	for _, w := range v.Wrong {
		parts = append(parts, "WRONG NAME "+w)
	}
	for _, f := range v.False {
		parts = append(parts, "false "+f)
	}
	for _, f := range v.Noise {
		parts = append(parts, "noise "+f)
	}
	return strings.Join(parts, "; ")
}
