package diagnosis

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// lead ranks classes by how near they are to the cause: an initiating fact
// leads over what follows from it, a larger component over its members.
func lead(h *Hypothesis) int {
	switch h.Class {
	case NodeRestart:
		return 1
	case LeafDegraded, LeafRestart, NVLinkDomainFault:
		return 2
	case ThermalGroup:
		return 3
	case RoCELoss, PFCStorm, UplinkCongestion:
		return 4
	case LinkDown:
		return 5
	case CollectiveStall:
		switch h.Reason {
		case "gpu_fault", "rank_exited", "rank_behind", "signature_mismatch":
			return 6
		}
		return 13
	case GPUFault, PCIeDegraded, NVLinkDegraded, NICDegraded:
		return 7
	case GPUThrottle, HostPathDegraded, RailMiscabled, NICUnusedAfterFlap:
		return 8
	case LinkFlap, NICContention:
		return 9
	case RailDegraded:
		if len(h.Suspects) > 0 {
			return 3
		}
		return 12
	case NodeSuspect, FabricCongestion, ConfigSuspected:
		return 10
	case StragglerCompute:
		return 11
	case RoCECongestion:
		if len(h.Groups) > 0 {
			return 11 // before what only their times tell
		}
	case TelemetryGap:
		return 99
	}
	return 14
}

// stops says whether a fault of this class can stop a job, so that a stall
// which began with it is its consequence.
func stops(h *Hypothesis) bool {
	switch h.Class {
	case NodeRestart, LeafDegraded, LeafRestart, NVLinkDomainFault, LinkDown, LinkFlap, PFCStorm, RoCELoss:
		return true
	case RailDegraded:
		return len(h.Suspects) > 0
	case NICDegraded:
		return h.Reason != "rate_downtrained"
	}
	return false
}

// symptom says whether a class describes what a job suffers and not what is
// broken.
func symptom(h *Hypothesis) bool {
	switch h.Class {
	case RotatingStraggler, ComputeCommContention, InefficientCollective, RoCECongestion, ConfigSuspected:
		return true
	case RailDegraded:
		return len(h.Suspects) == 0
	case StragglerCompute:
		return h.Reason == "unexplained" || h.Reason == "gpu_contention" || h.Reason == ""
	}
	return false
}

const (
	// samplingSlack is how much later than its consequence a cause may be
	// seen: DCGM collects every 30 s and is scraped every 15 to 30 s.
	samplingSlack = 90 * time.Second
	// memberSlack is how much older than the fault of the whole the verdict
	// about a part may be and still be a consequence.
	memberSlack = 5 * time.Minute
	// bootSlack is how long a host may take from its last sign of life to the
	// boot time it reports afterwards.
	bootSlack = 10 * time.Minute
	// reasonSlack is how long before a stall its reason may have happened.
	reasonSlack = 20 * time.Minute
)

// explains says whether h is a consequence, a part or another face of l.
func explains(l, h *Hypothesis) bool {
	if l.Class == TelemetryGap || h.Class == TelemetryGap {
		return false
	}
	if sameThing(l, h) {
		return true
	}
	gap := l.StartedAt.Sub(h.StartedAt) // positive: l is younger
	if l.Class == NodeRestart {
		gap -= bootSlack
	}
	if len(h.Suspects) > 0 && l.covers(h.Suspects[0].entity()) {
		if l.Class == CollectiveStall {
			return gap <= reasonSlack
		}
		return gap <= memberSlack
	}
	if l.Class == RoCECongestion && len(h.Suspects) == 0 && h.Class == RailDegraded {
		return gap <= memberSlack && l.slows(h.Groups)
	}
	if !shareJob(l, h) || lead(l) > 10 {
		return false
	}
	if h.Class == CollectiveStall {
		return stops(l) && l.bringsStall(h.StartedAt, gap)
	}
	return symptom(h) && l.bringsSlowness(h.StartedAt, gap) && !laterElsewhere(l, h)
}

// slows says that all of some communicators are slow by l, as it tells itself.
func (l *Hypothesis) slows(groups []string) bool {
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(id string) bool { return !slices.Contains(l.Groups, id) })
}

// bringsStall says that a job which stands since t may do so by l, which is younger
// by gap. What gets worse can stop a job at any time; what happened at a moment does
// so then. A job that has gone on for long since does not stand because of it.
func (l *Hypothesis) bringsStall(t time.Time, gap time.Duration) bool {
	switch l.Class {
	case LinkFlap:
		return l.fellNear(t, samplingSlack)
	case LinkDown, LeafRestart, NodeRestart:
		return gap <= samplingSlack && -gap <= reasonSlack
	}
	return gap <= samplingSlack
}

// bringsSlowness says the same of what a job suffers.
func (l *Hypothesis) bringsSlowness(t time.Time, gap time.Duration) bool {
	switch l.Class {
	case LinkFlap:
		return l.fellNear(t, memberSlack)
	case LeafRestart, NodeRestart:
		return gap <= memberSlack && -gap <= reasonSlack
	}
	return gap <= memberSlack
}

// fellNear says that the link of a flap fell shortly before t, or after it by not
// more than slack.
func (l *Hypothesis) fellNear(t time.Time, slack time.Duration) bool {
	return slices.ContainsFunc(append(slices.Clone(l.Falls), l.StartedAt), func(fall time.Time) bool {
		return fall.Sub(t) <= slack && t.Sub(fall) <= memberSlack
	})
}

// outlasts says that a job stands though what stopped it is long over: by then it
// went on, or hangs for good and somebody has to end it. A notice must not hide
// that.
func (c *Case) outlasts(h, l *Hypothesis) bool {
	return h.Class == CollectiveStall && !l.Over.IsZero() && c.Now.Sub(l.Over) > fate
}

// laterElsewhere says that h is a lateness on another host than that of l which
// began long after both l and its job: a consequence begins with its cause. Else
// an old fault that a job lives with would explain away every later one.
func laterElsewhere(l, h *Hypothesis) bool {
	if h.Class != StragglerCompute || len(h.Suspects) == 0 || len(l.Suspects) == 0 || h.JobSince.IsZero() {
		return false
	}
	host := l.Suspects[0].Node
	return host != "" && host != h.Suspects[0].Node &&
		h.StartedAt.Sub(l.StartedAt) > memberSlack && h.StartedAt.Sub(h.JobSince) > memberSlack
}

// sameThing says whether both blame the same single thing.
func sameThing(l, h *Hypothesis) bool {
	if len(l.Suspects) == 0 || len(h.Suspects) == 0 {
		return false
	}
	a, b := l.Suspects[0].entity(), h.Suspects[0].entity()
	if a.Kind == signals.KindNone || b.Kind == signals.KindNone {
		return l.Suspects[0] == h.Suspects[0]
	}
	if a == b {
		return true
	}
	// A host named for being late is the same trouble as its sick device.
	return b.Kind == signals.KindHost && a.Host == b.Host && shareJob(l, h) &&
		(h.Class == StragglerCompute || h.Class == NodeSuspect)
}

func shareJob(l, h *Hypothesis) bool {
	if h.Job != "" && l.harms(h.Job) {
		return true
	}
	return slices.ContainsFunc(h.Jobs, l.harms)
}

// arbitrate decides which hypotheses become verdicts and folds the others into
// the ones that explain them.
func (c *Case) arbitrate(all []Hypothesis) []Verdict {
	c.memory.recallFalls(all)
	sort.SliceStable(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		if x, y := lead(a), lead(b); x != y {
			return x < y
		}
		if a.Severity != b.Severity {
			return a.Severity > b.Severity
		}
		if !a.StartedAt.Equal(b.StartedAt) {
			return a.StartedAt.Before(b.StartedAt)
		}
		return a.Key() < b.Key()
	})
	var leaders []*Hypothesis
	folded := map[*Hypothesis][]*Hypothesis{}
	for i := range all {
		h := &all[i]
		var by *Hypothesis
		for _, l := range leaders {
			if explains(l, h) && !c.outlasts(h, l) {
				by = l
				break
			}
		}
		if by == nil {
			leaders = append(leaders, h)
			continue
		}
		folded[by] = append(folded[by], h)
	}
	c.noteExplained(leaders)
	var out []Verdict
	for _, l := range leaders {
		if l.Mute {
			continue
		}
		c.fold(l, folded[l])
		l.Evidence = tidy(l.Evidence)
		l.fillCommand()
		c.memory.settle(&l.Verdict, c.Now)
		out = append(out, l.Verdict)
	}
	c.withholdCordon(out)
	return out
}

// noteExplained remembers which communicators are slow by one of the leaders.
func (c *Case) noteExplained(leaders []*Hypothesis) {
	for _, x := range c.Pattern(detectors.SlowTransfer) {
		g := c.groups[x.Group]
		if g == nil {
			continue
		}
		slow := newHypothesis(RailDegraded, "timing_only")
		slow.Job, slow.StartedAt, slow.Groups = g.Job, x.Since, []string{g.ID}
		if slices.ContainsFunc(leaders, func(l *Hypothesis) bool { return explains(l, &slow) }) {
			c.memory.explain(slow.Groups, c.Now)
		}
	}
}

// fold writes what h explains into its consequences: members as counts, jobs
// by name, each once.
func (c *Case) fold(l *Hypothesis, parts []*Hypothesis) {
	members := map[Class]int{}
	var order []Class
	for _, p := range parts {
		switch {
		case p.Class == CollectiveStall:
			word := "stalled"
			if p.JobEnded {
				word = "terminated"
			}
			l.Consequences = append(l.Consequences, fmt.Sprintf("job %s %s since %s", p.Job, word, p.StartedAt.UTC().Format("15:04:05 UTC")))
			l.Severity = max(l.Severity, p.Severity)
			if l.Job == "" && len(l.Jobs) <= 1 {
				l.Job = p.Job
			}
		case sameThing(l, p):
			l.Evidence = append(l.Evidence, p.Evidence...)
			l.Severity = max(l.Severity, foldedSeverity(l, p))
		case symptom(p):
			l.Consequences = append(l.Consequences, "job "+p.Job+": "+words(p.Class))
		default:
			if members[p.Class] == 0 {
				order = append(order, p.Class)
			}
			members[p.Class]++
		}
	}
	for _, class := range order {
		l.Consequences = append(l.Consequences, fmt.Sprintf("%s: %s below it", words(class), count(members[class], "component")))
	}
	slices.Sort(l.Consequences)
	l.Consequences = slices.Compact(l.Consequences)
}

// foldedSeverity is what a verdict about the same thing adds: a critical face
// of a fault makes the whole critical, but the cause of a mere notice does not
// rise by it.
func foldedSeverity(l, p *Hypothesis) Severity {
	if l.Class == NICUnusedAfterFlap {
		return l.Severity
	}
	return p.Severity
}

// words is a class as people read it.
func words(c Class) string { return strings.ReplaceAll(string(c), "_", " ") }

// withholdCordon drops the advice to take hosts out when so many are suspect
// at once that the fault is more likely common to them: acting on it would
// empty the cluster.
func (c *Case) withholdCordon(vs []Verdict) {
	hosts := map[string]bool{}
	wide := 0
	for i := range vs {
		if vs[i].Severity < Warning {
			continue
		}
		for _, s := range vs[i].Suspects {
			if s.Node != "" {
				hosts[s.Node] = true
			}
		}
		wide = max(wide, vs[i].AffectedHosts)
	}
	n, total := max(len(hosts), wide), c.Hosts()
	if n <= 3 || float64(n) <= c.opts.CordonShare*float64(total) {
		return
	}
	for i := range vs {
		if cut := strings.Index(vs[i].Next, cordonAdvice); cut >= 0 {
			vs[i].Next = vs[i].Next[:cut] + fmt.Sprintf("; do not take hosts out of service on this alone: %d of %d hosts are affected at once", n, total)
		}
	}
}
