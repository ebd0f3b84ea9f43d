package diagnosis

import (
	"math"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// linkFamily judges links that went down: for good, for so long that a job died
// of it, or again and again.
type linkFamily struct {
	opts *Options
	// told are the outages that were told as link_down. The port may be up
	// again: while it is open whether the job dies of it, and for a while
	// after it did, the same outage is told, and never as a flap as well.
	told map[signals.Entity]*outage
	// cut are leaves that lost most of their ports at once.
	cut map[stage]*cutLeaf
	// others are devices that are another name of a card, with the newest event
	// that was the card's.
	others map[signals.Entity]time.Time
	// hostsCut are hosts that lost all their ports at once.
	hostsCut map[string]*cutHost
}

type outage struct {
	began time.Time
	back  time.Time // when the port was seen up again, zero before
	job   string    // that died of it
}

// fate is how long after a port came back a job may still die of the outage:
// the timer of NCCL is 30 s by default and a good two minutes at its longest
// in use.
const fate = 3 * time.Minute

// flapSettle is the number of evaluations for which a single flap is not told. A
// low rate is believed from the second sample on, and samples are seldom rarer
// than evaluations.
const flapSettle = 2

func newLinkFamily(o *Options) Family {
	f := &linkFamily{opts: o, told: map[signals.Entity]*outage{}, cut: map[stage]*cutLeaf{}, others: map[signals.Entity]time.Time{}, hostsCut: map[string]*cutHost{}}
	return Family{Name: "link", Judge: f.judge, Memory: f}
}

// port is what is known about the link of one NIC.
type portCase struct {
	nic                               signals.Entity
	down, downtime, downs, recoveries *detectors.Finding
	since                             time.Time // of the newest event
	seconds                           float64   // down in the last 10 min
	events, recent                    float64   // in the last hour, in the last 10 min
	downNow                           bool
	downFor                           time.Duration
}

func (f *linkFamily) judge(c *Case) []Hypothesis {
	things, by := c.ofCode(detectors.CodePortNotActive, detectors.CodePortDowntime, detectors.CodeLinkDowned, detectors.CodeLinkRecovery)
	ports := make([]portCase, 0, len(things))
	for _, nic := range things {
		if c.excused(nic.Host, f.opts.LinkBootGrace) {
			continue
		}
		if p := newPortCase(c, nic, by[nic]); !f.ofBoot(c, &p) {
			ports = append(ports, p)
		}
	}
	out, rest := f.leaves(c, f.otherNames(c, ports))
	rest, hosts := f.hosts(c, rest)
	out = append(out, hosts...)
	for i := range rest {
		if h, ok := f.port(c, &rest[i]); ok {
			out = append(out, h)
		}
	}
	for nic, o := range f.told {
		if c.Now.Sub(o.began) > 2*f.opts.FlapMemory && !o.back.IsZero() {
			delete(f.told, nic)
		}
	}
	return out
}

// ofBoot says whether the newest event of a port that is up belongs to a restart
// of its host: it is forgotten, and not told when the grace is over.
func (f *linkFamily) ofBoot(c *Case, p *portCase) bool {
	boot := c.restarted(p.nic.Host, f.opts.LinkBootGrace+f.opts.FlapMemory+bootSlack)
	return boot != nil && !p.downNow && !p.since.Before(boot.Since.Add(-bootSlack)) && !p.since.After(boot.Since.Add(f.opts.LinkBootGrace))
}

func newPortCase(c *Case, nic signals.Entity, findings []*detectors.Finding) portCase {
	p := portCase{nic: nic}
	for _, x := range findings {
		switch x.Code {
		case detectors.CodePortNotActive:
			p.down, p.downNow, p.downFor = x, true, c.Now.Sub(x.Since)
		case detectors.CodePortDowntime:
			p.downtime, p.seconds = x, p.seconds+x.Value
		case detectors.CodeLinkDowned:
			p.downs = x
		case detectors.CodeLinkRecovery:
			p.recoveries = x
		}
	}
	for _, x := range []*detectors.Finding{p.downtime, p.downs} {
		if x == nil {
			continue
		}
		p.events = math.Max(p.events, x.Count)
		if x.Since.After(p.since) {
			p.since = x.Since
		}
	}
	if p.downs != nil {
		p.recent = p.downs.Value
	}
	if p.down != nil {
		p.since = p.down.Since
	}
	if p.since.IsZero() && p.recoveries != nil {
		p.since = p.recoveries.Since
	}
	return p
}

// port judges one port.
func (f *linkFamily) port(c *Case, p *portCase) (Hypothesis, bool) {
	if o := f.told[p.nic]; o != nil && o.covers(p) {
		return f.goOn(c, p, o)
	}
	jobs, ended := c.Harmed(p.nic, p.since)
	jobs = c.users(p.nic, jobs)
	died := ended && len(jobs) > 0 && (p.downNow || p.seconds > 0)
	least := f.opts.Interval
	if p.events >= 2 || len(jobs) == 0 {
		// One that comes and goes is a flap for longer, and where no job
		// waits, there is time to see whether the link only trains anew.
		least = f.opts.FlapDown
	}
	long := p.downNow && p.downFor >= least
	if !died && !long && (!p.downNow || !c.stalled(jobs)) {
		return f.flap(c, p)
	}
	o := &outage{began: p.since}
	f.told[p.nic] = o
	return f.goOn(c, p, o)
}

// covers says whether the newest event of a port belongs to an outage that was
// told.
func (o *outage) covers(p *portCase) bool {
	if p.downNow && o.back.IsZero() {
		return true
	}
	end := o.back
	if end.IsZero() {
		end = o.began.Add(time.Hour)
	}
	return !p.since.After(end)
}

// goOn tells an outage again: while the port is down, until it is clear that
// no job died of it, and for a while if one did.
func (f *linkFamily) goOn(c *Case, p *portCase, o *outage) (Hypothesis, bool) {
	if !p.downNow && o.back.IsZero() {
		o.back = c.Now
	}
	ids, ended := c.Harmed(p.nic, o.began)
	if ids = c.users(p.nic, ids); ended && len(ids) == 1 && o.job == "" {
		o.job = ids[0]
	}
	since := time.Duration(0)
	if !o.back.IsZero() {
		since = c.Now.Sub(o.back)
	}
	if since > fate && o.job == "" || since > f.opts.JobMemory {
		return Hypothesis{}, false
	}
	p.since = o.began
	return f.down(c, p, o.job), true
}

// stalled says whether one of the jobs makes no progress.
func (c *Case) stalled(jobs []string) bool {
	for _, id := range jobs {
		if p := c.Progress(id); p != nil && (p.Stalled || p.Hung) {
			return true
		}
	}
	return false
}

func (f *linkFamily) down(c *Case, p *portCase, died string) Hypothesis {
	reason := "port_not_active"
	if p.down == nil && p.downtime == nil {
		reason = "carrier_lost"
	}
	h := c.about(LinkDown, reason, p.nic, p.since)
	h.Suspects[0].Kind = "link"
	if died != "" {
		h.Job, h.JobEnded, h.Scope = died, true, "job"
		h.Consequences = append(h.Consequences, "job "+died+" terminated")
	}
	h.Immediate = h.JobEnded || p.downFor >= f.opts.FlapDown
	h.Evidence = p.evidence(c)
	f.role(c, &h, p.nic)
	return h
}

// role lowers what is said about a card that carries no collectives.
func (f *linkFamily) role(c *Case, h *Hypothesis, nic signals.Entity) {
	c.unplaced(h, nic)
	if p := c.Port(nic); p != nil && !p.Compute && h.Severity > Warning {
		h.Severity = Warning
	}
}

func (p *portCase) evidence(c *Case) []Evidence {
	var out []Evidence
	if p.down != nil {
		out = append(out, tell(signals.NICState, p.nic, true, "%s: port not active (state %s against 4, active) for %s; it was active before",
			p.nic, figure(p.down.Value), Span(p.downFor)))
	} else if p.downtime != nil && p.seconds > 0 {
		out = append(out, tell(signals.NICState, p.nic, true, "%s: port not active for %s in the last 10 min, against 30 s after which NCCL gives a connection up",
			p.nic, Span(time.Duration(p.seconds*float64(time.Second)))))
	}
	if p.downs != nil {
		out = append(out, tell(signals.NICLinkDowned, p.nic, true, "%s: link went down %s in the last hour, %s in the last 10 min, newest at %s",
			p.nic, times(p.downs.Count), times(p.downs.Value), p.downs.Since.UTC().Format("15:04:05 UTC")))
	}
	if p.recoveries != nil {
		out = append(out, tell(signals.NICLinkRecovery, p.nic, p.downs == nil, "%s: link recovered %s in the last hour without going down", p.nic, times(p.recoveries.Count)))
	}
	if ids, effect := c.SlowGroups(p.nic); len(ids) > 0 {
		out = append(out, tell(signals.CollExecTime, p.nic, false, "%s", slowUsers(len(ids), effect)))
	}
	return out
}

func times(n float64) string {
	if n == 1 {
		return "once"
	}
	return figure(n) + " times"
}

// flap judges a port that is up again, or down for a moment only. One event is
// a notice, the second a warning, the third within the window or enough seconds
// in sum are critical. A notice has time until the rate of the port was seen
// again: a link that comes back with fewer lanes is degraded, and one fault is
// told once.
func (f *linkFamily) flap(c *Case, p *portCase) (Hypothesis, bool) {
	events := p.events
	if events == 0 {
		if p.recoveries == nil || p.recoveries.Count < 2 || c.hasBitErrors(p.nic) {
			return Hypothesis{}, false
		}
		h := c.about(LinkFlap, "repeated", p.nic, p.since)
		h.Evidence = p.evidence(c)
		if p.recoveries.Value >= 3 {
			h.Severity = Warning
		}
		f.role(c, &h, p.nic)
		return h, true
	}
	reason, severity := "single", Info
	if events >= 2 {
		reason, severity = "repeated", Warning
	}
	recent := p.recent
	if p.downtime != nil && p.downs == nil {
		recent = p.downtime.Count // without a counter the hour must do
	}
	if recent >= float64(f.opts.FlapCritical) || (events >= 2 && p.seconds >= f.opts.FlapDown.Seconds()) {
		severity = Critical
	}
	settle := flapSettle * f.opts.Interval
	if c.strange(p.nic) {
		settle = max(settle, strangeHold)
	}
	if severity == Info && c.Now.Sub(p.since) < settle {
		return Hypothesis{}, false
	}
	h := c.about(LinkFlap, reason, p.nic, p.since)
	h.Severity = severity
	h.Evidence = p.evidence(c)
	h.Immediate = severity == Critical
	f.role(c, &h, p.nic)
	return h, true
}

func (c *Case) hasBitErrors(nic signals.Entity) bool {
	return c.Has(nic, detectors.CodeBitErrors) != nil
}
