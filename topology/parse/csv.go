package parse

import (
	"encoding/csv"
	"errors"
	"strings"
)

// column names a field of a CSV by any of several words.
func column(header string) string {
	switch strings.ToLower(strings.TrimSpace(strings.TrimPrefix(header, "\ufeff"))) {
	case "host", "node", "hostname", "ip", "name":
		return "host"
	case "device", "nic", "hca":
		return "device"
	case "port", "nic_port":
		return "port"
	case "guid", "port_guid":
		return "guid"
	case "leaf", "tor", "asw", "switch", "leaf_switch":
		return "leaf"
	case "leaf_port", "switch_port":
		return "leaf_port"
	case "spine", "psw", "agg":
		return "spine"
	case "core", "dsw":
		return "core"
	case "rail":
		return "rail"
	case "rack":
		return "rack"
	case "domain", "nvlink_domain", "clique":
		return "domain"
	case "pod", "superpod", "block":
		return "pod"
	}
	return ""
}

// CSV reads a table with a header: host and any of device, port, guid, leaf,
// leaf_port, rail, rack, domain, pod, spine, core. Rows with a device are a plan
// of cables, rows without place whole hosts. A name of a leaf that occurs under
// several spines is several switches: they are told apart by their whole path,
// and the conflict is noted.
func CSV(src Source) (*Facts, error) {
	t := table{sink: newSink(src), paths: map[string]map[string]bool{}, row: map[string]int{}}
	var head []string // words of column, "" for a column that means nothing here
	err := t.lines(func(n int, line string) {
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			return
		}
		rec, err := fields(line)
		if err != nil {
			t.fail(n, "%v", err)
			return
		}
		if head == nil {
			head = t.header(n, rec)
			return
		}
		row := csvRow{line: n}
		for i, v := range rec {
			if v = strings.TrimSpace(v); i < len(head) && !unknown(v) {
				row.set(head[i], printable(v))
			}
		}
		t.add(row)
	})
	t.finish()
	return t.done(err)
}

// fields splits one line. A quoted field cannot span lines, so that a quote that
// is never closed costs one line and not the rest of the file.
func fields(line string) ([]string, error) {
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ","), nil
	}
	rd := csv.NewReader(strings.NewReader(line))
	rd.TrimLeadingSpace = true
	rec, err := rd.Read()
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		err = bad.Err
	}
	return rec, err
}

// header reads the names of columns. Without a host the whole file is of no use,
// and each row says so.
func (t *table) header(line int, rec []string) []string {
	head := make([]string, len(rec))
	seen := map[string]bool{}
	for i, h := range rec {
		name := column(h)
		if name == "" || seen[name] {
			t.facts.Skipped++
			continue
		}
		seen[name], head[i] = true, name
	}
	if !seen["host"] {
		t.fail(line, "no column host in the header %q", shorten(strings.Join(rec, ",")))
	}
	return head
}

type csvRow struct {
	host, device, port, guid, leaf, leafPort, spine, core, rail, rack, domain, pod string

	line int
}

func (r *csvRow) set(name, v string) {
	switch name {
	case "host":
		r.host = v
	case "device":
		r.device = v
	case "port":
		r.port = v
	case "guid":
		r.guid = v
	case "leaf":
		r.leaf = v
	case "leaf_port":
		r.leafPort = v
	case "spine":
		r.spine = v
	case "core":
		r.core = v
	case "rail":
		r.rail = v
	case "rack":
		r.rack = v
	case "domain":
		r.domain = v
	case "pod":
		r.pod = v
	}
}

// above is the path of a row's leaf without the leaf.
func (r *csvRow) above() string {
	if r.core != "" && r.spine != "" {
		return r.core + "/" + r.spine
	}
	return r.core + r.spine
}

type table struct {
	*sink
	rows     []csvRow
	paths    map[string]map[string]bool // leaf to the paths above it
	conflict bool                       // a name of a leaf occurs twice
	row      map[string]int             // host without device to its line
}

func (t *table) add(r csvRow) {
	switch {
	case r.host == "":
		t.fail(r.line, "a row without host")
		return
	case len(t.rows) >= t.lim.Links:
		t.overflow(r.line, "rows", t.lim.Links)
		return
	}
	if r.device == "" {
		if first, ok := t.row[canonical(r.host)]; ok {
			t.note(r.line, "%s is in line %d too", shorten(r.host), first)
		} else {
			t.row[canonical(r.host)] = r.line
		}
	}
	if r.leaf != "" && r.device == "" {
		if t.paths[r.leaf] == nil {
			t.paths[r.leaf] = map[string]bool{}
		}
		t.paths[r.leaf][r.above()] = true
	}
	t.rows = append(t.rows, r)
}

func (t *table) finish() {
	conflicts, example := 0, ""
	for leaf, above := range t.paths {
		if len(above) > 1 {
			if conflicts++; example == "" || leaf < example {
				example = leaf
			}
		}
	}
	if t.conflict = conflicts > 0; t.conflict {
		t.note(0, "%d of %d names of leaves occur under several switches, such as %s under %d: leaves are named by their whole path",
			conflicts, len(t.paths), shorten(example), len(t.paths[example]))
	}
	for i := range t.rows {
		t.emit(&t.rows[i])
	}
	t.dedupeTrunks()
	t.loops()
}

func (t *table) emit(r *csvRow) {
	t.place(r.line, r.host, Rack, r.rack)
	t.place(r.line, r.host, Domain, r.domain)
	t.place(r.line, r.host, Pod, r.pod)
	leaf, sp := r.leaf, r.spine
	if r.device != "" {
		if leaf != "" {
			t.link(Link{Switch: leaf, SwitchPort: r.leafPort, Host: canonical(r.host), Device: r.device, Port: r.port, GUID: GUID(r.guid), Plan: true, Line: r.line})
		}
		if r.rail != "" || r.guid != "" {
			t.facts.NICs = append(t.facts.NICs, NIC{Host: canonical(r.host), Device: r.device, Port: r.port, GUID: GUID(r.guid), Rail: r.rail, Line: r.line})
		}
	} else {
		if leaf != "" && t.conflict && r.above() != "" {
			leaf = r.above() + "/" + leaf
		}
		t.place(r.line, r.host, Leaf, leaf)
	}
	if leaf != "" && sp != "" {
		t.trunk(Trunk{Switch: leaf, Peer: sp, Line: r.line})
	}
	if sp != "" && r.core != "" {
		t.trunk(Trunk{Switch: sp, Peer: r.core, Line: r.line})
	}
	if r.leaf == "" && r.rack == "" && r.domain == "" && r.pod == "" && r.rail == "" {
		t.fail(r.line, "%s has no place", shorten(r.host))
	}
}
