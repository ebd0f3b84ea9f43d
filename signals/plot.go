package signals

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/common/model"

	"github.com/collwatch/collwatch/promapi"
)

// Plots knows the PromQL that shows a signal of a thing here, with the label
// names that its exporter really uses. It is immutable and safe for concurrent
// use. All methods accept a nil receiver.
type Plots struct {
	rows     map[ID][]plotRow
	selector string
	window   time.Duration // of rates
}

// Plot is PromQL over time, in the canonical unit of the signal.
type Plot struct {
	// Source is the querier to ask.
	Source string
	// Unit is that of Meta, "" where the exporter's own unit is in doubt.
	Unit string
	// Thing gives the series of the thing; "" for a whole job.
	Thing string
	// Peers gives those of everything that is comparable, the thing included.
	Peers string
}

// plotRow is how one rule of the catalogue looks here.
type plotRow struct {
	source, metric string
	matchers       []string
	kind           Kind
	rate           bool
	scale          float64
	unit           string
	rank           uint8

	host       string // labels; "" where the thing cannot be told by one
	port       bool   // values of host have a port or a domain
	folded     bool   // or capital letters
	named      bool   // host is an address that node_uname_info names
	device     string
	numbered   bool   // values of device are an index, after a prefix
	prefix     string // such as "nvidia" of "nvidia3"
	portLabel  string
	job, op    string
	detail     string // fixed
	detailFrom string // label
}

// Plots looks at what was read so far. Call it now and then, from the
// goroutine of the tick.
func (r *Reader) Plots() *Plots {
	p := &Plots{rows: map[ID][]plotRow{}, selector: strings.Trim(strings.TrimSpace(r.opts.Selector), "{}"), window: max(2*time.Minute, 4*r.opts.Scrape)}
	done := map[int16]bool{}
	for _, name := range r.names {
		src := r.sources[name]
		for ref := range src.state {
			st := &src.state[ref]
			if st.rule < 0 || st.slot < 0 || done[st.rule] || r.now-st.lastT > freshFor.Milliseconds() {
				continue
			}
			c := &r.book.rules[st.rule]
			if c.custom != nil || c.Type == Info {
				continue
			}
			if row, ok := r.plotRow(c, name, src.in.Labels(refOf(ref)), r.entities.Of(r.slots[st.slot].entity)); ok {
				done[st.rule] = true
				p.rows[c.Signal] = append(p.rows[c.Signal], row)
			}
		}
	}
	for _, rows := range p.rows {
		slices.SortStableFunc(rows, func(a, b plotRow) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.metric, b.metric)) })
	}
	return p
}

// plotRow reads from one example which labels tell things apart. ok is false
// if the host cannot be found by labels.
func (r *Reader) plotRow(c *compiled, source string, ls promapi.Labels, e Entity) (row plotRow, ok bool) {
	row = plotRow{
		source: source, metric: ls.Get("__name__"), kind: c.Kind, rate: c.Type.counts(), scale: c.scale, unit: c.Signal.Meta().Unit, rank: c.rank,
	}
	if row.metric == "" {
		row.metric = c.Metric // an aggregation dropped it
	}
	if c.Repair != NoRepair {
		row.unit = ""
	}
	for _, w := range c.where {
		row.matchers = append(row.matchers, w.matcher())
	}
	switch d := c.Detail; {
	case !strings.ContainsAny(d, "{$"):
		row.detail = d
	case strings.HasPrefix(d, "{") && strings.IndexByte(d, '}') == len(d)-1:
		row.detailFrom = d[1 : len(d)-1]
	}
	if e.Host != "" {
		label, value := present(ls, c.columns.host)
		switch {
		case label == "":
			return row, false
		case CanonicalHost(value) == e.Host || hostWithDomain(value) == e.Host:
			row.port, row.folded = strings.ContainsAny(value, ".:"), strings.ToLower(value) != value
		case label == "instance":
			row.named = true
		default:
			return row, false
		}
		row.host = label
	}
	if label, value := present(ls, c.columns.device); label != "" && e.Device != "" {
		switch {
		case value == e.Device:
			row.device = label
		case gpuDevice(value) == e.Device:
			row.device, row.numbered, row.prefix = label, true, strings.TrimRightFunc(value, unicode.IsDigit)
		}
	}
	if label, value := present(ls, c.columns.port); value == e.Port && c.Kind != KindGPU {
		row.portLabel = label
	}
	if label, value := present(ls, c.columns.job); value == e.Job && value != "" {
		row.job = label
	}
	if label, value := present(ls, c.columns.op); label != "" && canonicalOp(value) == e.Op {
		row.op = label
	}
	return row, true
}

// present returns the first label of a column that is there.
func present(ls promapi.Labels, names []string) (label, value string) {
	for _, n := range names {
		if v := ls.Get(n); v != "" {
			return n, v
		}
	}
	return "", ""
}

// matcher is the condition in PromQL.
func (c condition) matcher() string {
	switch c.mode {
	case '=':
		return c.label + "=" + strconv.Quote(c.value)
	case '-':
		return c.label + `=""`
	default:
		return c.label + `!=""`
	}
}

// Of returns the PromQL for a signal of a thing. hosts limits the peers, none
// allows all. step is the distance of two points, so that no event falls
// between two rates; 0 takes the usual window.
func (p *Plots) Of(id ID, e Entity, hosts []string, step time.Duration) (Plot, bool) {
	if p == nil {
		return Plot{}, false
	}
	for _, exact := range []bool{true, false} {
		for i := range p.rows[id] {
			row := &p.rows[id][i]
			if exact && row.detailFrom == "" && row.detail != e.Detail {
				continue
			}
			return p.build(row, e, hosts, max(p.window, step)), true
		}
	}
	return Plot{}, false
}

func (p *Plots) build(row *plotRow, e Entity, hosts []string, window time.Duration) Plot {
	base := slices.Clone(row.matchers)
	if p.selector != "" {
		base = append(base, p.selector)
	}
	if row.detailFrom != "" && e.Detail != "" {
		base = append(base, row.detailFrom+"=~"+strconv.Quote("(?i)"+regexp.QuoteMeta(e.Detail)))
	}
	if row.job != "" && e.Job != "" {
		base = append(base, row.job+"="+strconv.Quote(e.Job))
	}
	if row.op != "" && e.Op != "" {
		base = append(base, row.op+"=~"+strconv.Quote("(?i)"+opPattern(e.Op)))
	}
	thing, peers := slices.Clone(base), base
	if row.device != "" && e.Device != "" {
		m := row.device + "=" + strconv.Quote(row.deviceValue(e.Device))
		thing = append(thing, m)
		if row.kind == KindNIC {
			peers = append(peers, m) // the same place in other hosts has the same role
		}
	}
	if row.portLabel != "" && e.Port != "" {
		thing = append(thing, row.portLabel+"="+strconv.Quote(e.Port))
	}
	suffix := ""
	if row.host != "" && e.Host != "" {
		if row.named {
			suffix = " and on (instance) node_uname_info{nodename=~" + strconv.Quote(hostPattern([]string{e.Host}, true, true)) + "}"
		} else {
			thing = append(thing, row.hostMatcher([]string{e.Host}))
		}
	}
	if row.host != "" && !row.named && len(hosts) > 0 {
		peers = append(peers, row.hostMatcher(hosts))
	}
	out := Plot{Source: row.source, Unit: row.unit, Peers: row.expr(peers, "", window)}
	if e.Host != "" || e.Device != "" {
		out.Thing = row.expr(thing, suffix, window)
	}
	return out
}

func (row *plotRow) deviceValue(device string) string {
	if digits, ok := strings.CutPrefix(device, "GPU"); ok && row.numbered {
		return row.prefix + digits
	}
	return device
}

func (row *plotRow) hostMatcher(hosts []string) string {
	if len(hosts) == 1 && !row.port && !row.folded {
		return row.host + "=" + strconv.Quote(hosts[0])
	}
	return row.host + "=~" + strconv.Quote(hostPattern(hosts, row.port, row.folded))
}

// hostPattern matches hosts as labels write them. PromQL anchors it.
func hostPattern(hosts []string, port, folded bool) string {
	quoted := make([]string, len(hosts))
	for i, h := range hosts {
		quoted[i] = regexp.QuoteMeta(h)
	}
	out := strings.Join(quoted, "|")
	if len(hosts) > 1 && port {
		out = "(?:" + out + ")"
	}
	if port {
		out += "([.:].*)?"
	}
	if folded {
		out = "(?i)" + out
	}
	return out
}

// opPattern allows for both ways to write an operation: AllReduce, all_reduce.
func opPattern(op string) string {
	var b strings.Builder
	for i, r := range op {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteString("_?")
		}
		b.WriteString(regexp.QuoteMeta(string(r)))
	}
	return b.String()
}

func (row *plotRow) expr(matchers []string, suffix string, window time.Duration) string {
	out := row.metric
	if !model.LegacyValidation.IsValidMetricName(out) {
		matchers = append([]string{"__name__=" + strconv.Quote(out)}, matchers...)
		out = ""
	}
	if len(matchers) > 0 {
		out += "{" + strings.Join(matchers, ",") + "}"
	}
	if row.rate {
		out = "rate(" + out + "[" + promDuration(window) + "])"
	}
	out += suffix
	if row.scale != 1 {
		if suffix != "" {
			out = "(" + out + ")"
		}
		out += " * " + strconv.FormatFloat(row.scale, 'g', -1, 64)
	}
	if row.kind == KindComm || row.kind == KindRank {
		// Sizes and communicators of one member: the mix is the same for all.
		by := slices.DeleteFunc([]string{row.host, row.device}, func(s string) bool { return s == "" })
		out = "avg by (" + strings.Join(by, ", ") + ") (" + out + ")"
	}
	return out
}
