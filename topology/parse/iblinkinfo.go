package parse

import (
	"regexp"
	"strconv"
	"strings"
)

// The lines of iblinkinfo, headed by a node or (with -l) with everything in one.
var (
	linkHeader = regexp.MustCompile(`^(CA|Switch|RT|Router):\s*(?:0x([0-9a-fA-F]+)\s+)?(.*?):?\s*$`)
	linkLine   = regexp.MustCompile(`^\s*(?:0x([0-9a-fA-F]+)\s+)?(?:"\s*([^"]*?)\s*"\s+)?(\d+)\s+(\d+)\[([^\]]*)\]\s*==\(\s*(.*?)\)==>\s*(?:0x([0-9a-fA-F]+)\s+)?(?:(\d+)\s+(\d+))?\s*\[([^\]]*)\]\s*"(.*)"\s*\(\s*(.*?)\s*\)\s*$`)
	linkState  = regexp.MustCompile(`^(?:(\d{1,2})X\s+([0-9.]+)\s+Gbps)?(?:\s*\(FEC[^)]*\))?\s*(\S+?)\s*/\s*(\S+)\s*$`)
)

// IBLinkInfo reads the output of iblinkinfo. Unlike ibnetdiscover it shows ports
// without a link, and its own verdict on links below what both ends can do.
func IBLinkInfo(src Source) (*Facts, error) {
	s := newSink(src)
	d := &linkDump{fabricDump: fabricDump{sink: s, seen: map[[2]string]bool{}}, lids: map[string]end{}}
	var node end
	err := s.lines(func(n int, line string) {
		text := strings.TrimRight(line, " \t")
		if text == "" || text[0] == '#' {
			return
		}
		if m := linkHeader.FindStringSubmatch(text); m != nil && !strings.Contains(text, "==(") {
			kind := map[string]byte{"CA": 'H', "Switch": 'S', "RT": 'R', "Router": 'R'}[m[1]]
			node = end{kind: kind, guid: GUID(m[2]), desc: strings.TrimSpace(m[3])}
			return
		}
		d.row(n, node, text)
	})
	d.connectAll()
	return s.done(err)
}

// linkDump holds the rows until all nodes are known: a row names its far end by
// LID only, and what that is stands elsewhere.
type linkDump struct {
	fabricDump
	rows []linkRow
	lids map[string]end // LID to node
}

type linkRow struct {
	link    Link
	near    end
	farLID  string
	farPort string
	farGUID string
	farDesc string
}

func (d *linkDump) row(n int, node end, text string) {
	m := linkLine.FindStringSubmatch(text)
	if m == nil {
		d.fail(n, "no line of iblinkinfo: %q", shorten(text))
		return
	}
	st := linkState.FindStringSubmatch(m[6])
	if st == nil {
		d.fail(n, "no state of a link: %q", shorten(m[6]))
		return
	}
	near := node
	if m[2] != "" || (node.kind == 0 && m[1] != "") { // one line has all
		near = end{guid: GUID(m[1]), desc: m[2]}
	} else if m[1] != "" && node.kind == 'H' {
		near.guid = GUID(m[1])
	}
	near.port = m[4]
	if near.guid == "" && near.desc == "" {
		d.fail(n, "a link without a node")
		return
	}
	if len(d.rows) >= d.lim.Links {
		d.overflow(n, "links", d.lim.Links)
		return
	}
	l := Link{Line: n, Hint: printable(m[12]), Down: !strings.EqualFold(st[3], "Active")}
	if gbps, err := strconv.ParseFloat(st[2], 64); err == nil {
		width, _ := strconv.Atoi(st[1])
		l.Rate = float64(width) * rawLane(gbps) / 8
	}
	d.lids[m[3]] = d.merged(d.lids[m[3]], near)
	d.rows = append(d.rows, linkRow{link: l, near: near, farLID: m[8], farPort: m[9], farGUID: GUID(m[7]), farDesc: strings.TrimSpace(m[11])})
}

func (d *linkDump) merged(old, e end) end {
	if old.guid != "" && e.guid == "" {
		e.guid = old.guid
	}
	if e.kind == 0 {
		e.kind = old.kind
	}
	return e
}

// connectAll joins both ends of each row. One-line output does not say what is a
// switch: a node is one if it has links to several nodes or the name of one.
func (d *linkDump) connectAll() {
	peers := map[string]map[string]bool{}
	for _, r := range d.rows {
		if r.farLID == "" {
			continue
		}
		for _, p := range [][2]string{{d.key(r.near), r.farLID}} {
			if peers[p[0]] == nil {
				peers[p[0]] = map[string]bool{}
			}
			peers[p[0]][p[1]] = true
		}
	}
	kind := func(e end) byte {
		switch {
		case e.kind != 0:
			return e.kind
		case strings.HasPrefix(e.desc, "MF0;") || len(peers[d.key(e)]) > 1:
			return 'S'
		}
		if _, dev, slot := Description(e.desc); dev != "" || slot != "" {
			return 'H'
		}
		if peers[d.key(e)] == nil { // adapters have no lines of their own with -S
			return 'H'
		}
		return 'S'
	}
	for _, r := range d.rows {
		near := r.near
		near.kind = kind(near)
		if r.farLID == "" {
			if r.link.Down && near.kind == 'S' {
				continue
			}
			continue
		}
		far := d.lids[r.farLID]
		if r.farGUID != "" {
			far.guid = r.farGUID
		}
		far.desc, far.port = r.farDesc, r.farPort
		far.kind = kind(far)
		for _, e := range []*end{&near, &far} {
			if e.kind == 'H' {
				e.portGUID = e.guid // this tool prints the GUID of the port
			}
		}
		d.connect(r.link, near, far)
	}
}

func (d *linkDump) key(e end) string {
	if e.guid != "" {
		return e.guid
	}
	return "\x00" + e.desc
}

func itoa(n int) string { return strconv.Itoa(n) }
