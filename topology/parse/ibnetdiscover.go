package parse

import (
	"regexp"
	"strings"
)

// The lines of ibnetdiscover that matter. A port line of a switch is
//
//	[1]  "H-b800000000000103"[1](b800000000000103)  # "gpu-001 mlx5_3" lid 203 4xNDR
//
// and one of an adapter has its own port's GUID after the number and lids before
// the description. With -p a line is
//
//	CA   134  1 0xb800000000000103 4x EDR - SW  1719 10 0xb8000000000000a0 ( 'gpu-001 HCA-1' - 'leaf-r0' )
var (
	ibHeader = regexp.MustCompile(`^(Switch|Ca|Rt)\s+(\d+)\s+"[SHR]-([0-9a-fA-F]{1,16})"\s*#\s*"(.*)"`)
	ibPort   = regexp.MustCompile(`^\[(\d+)\](?:\[ext \d+\])?(?:\(([0-9a-fA-F]+)\))?\s+"([SHR])-([0-9a-fA-F]{1,16})"\[(\d+)\](?:\[ext \d+\])?(?:\(([0-9a-fA-F]+)\))?\s*(?:#\s*(.*))?$`)
	ibQuoted = regexp.MustCompile(`"(.*)"`)
	ibSpeed  = regexp.MustCompile(`\b(\d{1,2}x)\s?([A-Za-z]+\d*)\b`)
	ibTable  = regexp.MustCompile(`^(CA|SW|RT)\s+\d+\s+(\d+)\s+0x([0-9a-fA-F]+)\s+(\S+)\s+(\S+)(?:\s+-\s+(CA|SW|RT)\s+\d+\s+(\d+)\s+0x([0-9a-fA-F]+)\s+\(\s*'(.*)'\s+-\s+'(.*)'\s*\)|\s+'(.*)')\s*$`)
)

// end is one side of an InfiniBand link.
type end struct {
	kind           byte // S, H or R
	guid, portGUID string
	port, desc     string
}

// IBNetDiscover reads the output of ibnetdiscover, with or without -p.
func IBNetDiscover(src Source) (*Facts, error) {
	s := newSink(src)
	d := &fabricDump{sink: s, seen: map[[2]string]bool{}}
	var node end
	ports := ""
	err := s.lines(func(n int, line string) {
		text := strings.TrimRight(line, " \t")
		switch {
		case text == "" || text[0] == '#':
			return
		case text[0] == '[':
			d.port(n, node, text)
		case strings.HasPrefix(text, "Switch") || strings.HasPrefix(text, "Ca") || strings.HasPrefix(text, "Rt"):
			m := ibHeader.FindStringSubmatch(text)
			if m == nil {
				node = end{}
				s.fail(n, "no header of a node: %q", shorten(text))
				return
			}
			d.gaps(node, ports)
			node, ports = end{kind: map[string]byte{"Switch": 'S', "Ca": 'H', "Rt": 'R'}[m[1]], guid: GUID(m[3]), desc: m[4]}, m[2]
			d.at = n
		case strings.HasPrefix(text, "CA ") || strings.HasPrefix(text, "SW ") || strings.HasPrefix(text, "RT "):
			d.tableLine(n, text)
		case strings.Contains(text, "="): // vendid, devid, sysimgguid, switchguid, caguid
		default:
			s.fail(n, "no line of ibnetdiscover: %q", shorten(text))
		}
	})
	d.gaps(node, ports)
	return s.done(err)
}

// fabricDump is what several tools print: links with both ends.
type fabricDump struct {
	*sink
	seen map[[2]string]bool // switch GUID, port: told already from the other end
	at   int                // line of the present node
	used map[string]bool    // ports of the present switch that lead to hosts
}

func (d *fabricDump) port(n int, node end, text string) {
	m := ibPort.FindStringSubmatch(text)
	if m == nil || node.kind == 0 {
		d.fail(n, "no port of a node: %q", shorten(text))
		return
	}
	near, far := node, end{kind: m[3][0], guid: GUID(m[4]), portGUID: GUID(m[6]), port: m[5]}
	near.port, near.portGUID = m[1], GUID(m[2])
	if q := ibQuoted.FindStringSubmatch(m[7]); q != nil {
		far.desc = q[1]
	}
	rate := 0.0
	if sp := ibSpeed.FindAllStringSubmatch(ibQuoted.ReplaceAllString(m[7], ""), -1); sp != nil {
		rate = speedRate(sp[len(sp)-1][1], sp[len(sp)-1][2])
	}
	d.connect(Link{Rate: rate, Line: n}, near, far)
	if near.kind == 'S' && far.kind == 'H' && d.used != nil {
		d.used[near.port] = true
	} else if near.kind == 'S' && far.kind == 'H' {
		d.used = map[string]bool{near.port: true}
	}
}

func (d *fabricDump) tableLine(n int, text string) {
	m := ibTable.FindStringSubmatch(text)
	if m == nil {
		d.fail(n, "no line of ibnetdiscover -p: %q", shorten(text))
		return
	}
	if m[6] == "" { // a port without a link
		return
	}
	kind := map[string]byte{"CA": 'H', "SW": 'S', "RT": 'R'}
	near := end{kind: kind[m[1]], guid: GUID(m[3]), port: m[2], desc: m[9]}
	far := end{kind: kind[m[6]], guid: GUID(m[8]), port: m[7], desc: m[10]}
	// The table has port GUIDs of adapters and node GUIDs of switches.
	if near.kind == 'H' {
		near.portGUID = near.guid
	}
	if far.kind == 'H' {
		far.portGUID = far.guid
	}
	d.connect(Link{Rate: speedRate(m[4], m[5]), Line: n}, near, far)
}

// connect adds the link between two ends, once.
func (d *fabricDump) connect(l Link, a, b end) {
	if a.kind == 'H' && b.kind == 'S' {
		a, b = b, a
	}
	if a.kind != 'S' || aggregation(a.desc) || aggregation(b.desc) {
		return
	}
	k := [2]string{a.guid, a.port}
	if d.seen[k] {
		return
	}
	d.seen[k] = true
	switch b.kind {
	case 'H':
		l.Switch, l.SwitchGUID, l.SwitchPort = switchName(a), a.guid, a.port
		l.Host, l.Device, l.Slot = Description(b.desc)
		l.GUID, l.NodeGUID, l.Port = b.portGUID, b.guid, b.port
		d.link(l)
	case 'S':
		d.seen[[2]string{b.guid, b.port}] = true
		d.trunk(Trunk{
			Switch: switchName(a), SwitchGUID: a.guid, Port: a.port, Peer: switchName(b), PeerGUID: b.guid, PeerPort: b.port,
			Rate: l.Rate, Hint: l.Hint, Down: l.Down, Line: l.Line,
		})
	}
}

// aggregation holds for the SHARP node inside a switch, which is no host.
func aggregation(desc string) bool { return strings.Contains(desc, "Aggregation Node") }

// switchName is the name of a switch, or its GUID where nobody named it: two
// unnamed switches must stay two.
func switchName(e end) string {
	name := printable(SwitchName(e.desc))
	if name == "" || strings.Contains(strings.ToLower(name), "mellanox technologies") || strings.Contains(strings.ToLower(name), "infiniband switch") {
		return e.guid
	}
	return name
}

// gaps notes port numbers without a link between ports of hosts: a dead link has
// no line at all.
func (d *fabricDump) gaps(node end, ports string) {
	used := d.used
	d.used = nil
	if node.kind != 'S' || len(used) < 3 || len(ports) > 4 {
		return
	}
	first, last := 0, 0
	for p := 1; p <= 9999; p++ {
		if used[itoa(p)] {
			if first == 0 {
				first = p
			}
			last = p
		}
	}
	var missing []string
	for p := first + 1; p < last; p++ {
		if !used[itoa(p)] && !d.seen[[2]string{node.guid, itoa(p)}] {
			missing = append(missing, itoa(p))
		}
	}
	// A switch cabled to every other port, or half empty, has no gaps.
	if n := len(missing); n > 0 && 4*n <= len(used) {
		d.note(d.at, "%s: no link at port %s between ports of hosts", switchName(node), shorten(strings.Join(missing, ", ")))
	}
}
