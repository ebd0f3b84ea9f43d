package compare

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Fault is an incident that the daemon's evaluation finds in the time of a record.
// A comparison knows two runs and nothing of why they differ; a NIC that trained
// down in one of them is no property of a change.
type Fault struct {
	Class    string `json:"class"`
	Severity string `json:"severity"`
	// Suspect is the component named, "" if none could be.
	Suspect string `json:"suspect"`
	// Infrastructure says that a part of the cluster is ill, not what runs on it.
	Infrastructure bool `json:"infrastructure"`
	// Share is the part of the time looked at that it covers, 0 to 1.
	Share float64   `json:"share"`
	From  time.Time `json:"from"`
	// To is zero if it lasted to the end.
	To time.Time `json:"to,omitzero"`
}

// faultShare is the part of the time that a fault must cover to explain a shift of
// medians: less of it hardly moves them.
const faultShare = 0.2

// String is the fault for people: "nic_degraded of gpu-007/mlx5_3".
func (f Fault) String() string {
	if f.Suspect == "" {
		return f.Class
	}
	return f.Class + " of " + f.Suspect
}

// moves says that a fault is of the cluster and long enough to move a median.
func (f Fault) moves() bool {
	return f.Infrastructure && f.Share >= faultShare && (f.Severity == "warning" || f.Severity == "critical")
}

// onlyIn are the faults of a that move medians and that b has not.
func onlyIn(a, b *Record) []string {
	var out []string
	for _, f := range a.Faults {
		same := func(o Fault) bool { return o.Class == f.Class && o.Suspect == f.Suspect && o.moves() }
		if f.moves() && !slices.ContainsFunc(b.Faults, same) {
			out = append(out, f.String())
		}
	}
	return out
}

// excuse tells what a verdict owes to faults that only one side had: a regression
// may be the candidate's, and what is no regression may be one that the
// baseline's fault hides. The verdict stays: a gate asks for equal figures, and
// who reads it sees what to do.
func (res *Result) excuse() {
	if list := onlyIn(res.Cand, res.Base); len(list) > 0 && res.Verdict == Regression {
		res.Why += fmt.Sprintf("; the candidate ran with a fault of the cluster that may be the reason: %s. Run it again without that before you blame the change", few(list))
	}
	if list := onlyIn(res.Base, res.Cand); len(list) > 0 && (res.Verdict == NoDifference || res.Verdict == Improvement) {
		res.Why += fmt.Sprintf("; but the baseline was taken with a fault of the cluster, which may hide a regression: %s. Take it again without that", few(list))
	}
}

// faultNotes list the faults of a side, the longest first.
func faultNotes(name string, r *Record) []string {
	list := slices.Clone(r.Faults)
	slices.SortStableFunc(list, func(a, b Fault) int { return cmp.Compare(b.Share, a.Share) })
	var out []string
	for i, f := range list {
		if i == maxNotes {
			out = append(out, fmt.Sprintf("the %s had %d more incidents", name, len(list)-i))
			break
		}
		until := "its end"
		if !f.To.IsZero() {
			until = f.To.UTC().Format(time.RFC3339)
		}
		out = append(out, fmt.Sprintf("the %s had an incident: %s (%s), from %s to %s", name, f, f.Severity, f.From.UTC().Format(time.RFC3339), until))
	}
	return out
}

// maxNotes is how many incidents of a side are listed.
const maxNotes = 3

// maxSuspects is the longest text about who is suspected, in bytes.
const maxSuspects = 2048

func checkFaults(list []Fault) error {
	if len(list) > maxFaults {
		return fmt.Errorf("%d faults, at most %d", len(list), maxFaults)
	}
	for i, f := range list {
		if f.Class == "" || len(f.Class) > maxString || len(f.Severity) > maxString || len(f.Suspect) > maxSuspects ||
			single(f.Class+f.Severity+f.Suspect) != f.Class+f.Severity+f.Suspect {
			return fmt.Errorf("fault %d: class, severity and suspect must be short texts without control characters, and class not empty", i+1)
		}
		if !(f.Share >= 0 && f.Share <= 1) || year(f.From) || (!f.To.IsZero() && year(f.To)) {
			return fmt.Errorf("fault %d: its share or its time is impossible", i+1)
		}
	}
	return nil
}
