package parse

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ansi are the escapes of the underlined header that nvidia-smi prints.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// maxMatrix bounds the devices of one host.
const maxMatrix = 512

// matrix is the table of nvidia-smi topo -m.
type matrix struct {
	*sink
	host    string
	columns []string
	rows    map[string]map[string]string
	lines   map[string]int
	names   map[string]string // NIC0 to mlx5_0
}

// NvidiaSMITopo reads the output of "nvidia-smi topo -m" of one host.
func NvidiaSMITopo(src Source) (*Facts, error) {
	src.Limits.Bytes = min(src.Limits.filled().Bytes, maxDump)
	s := newSink(src)
	m := &matrix{sink: s, host: canonical(src.Host), rows: map[string]map[string]string{}, lines: map[string]int{}, names: map[string]string{}}
	if m.host == "" {
		s.fail(0, "host of the output is unknown: name it or let the path tell it")
		return s.done(nil)
	}
	legend := false
	err := s.lines(func(n int, line string) {
		line = ansi.ReplaceAllString(line, "")
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case strings.HasSuffix(text, "Legend:"):
			legend = true
		case legend:
			if nic, name, ok := strings.Cut(text, ":"); ok && isNIC(strings.TrimSpace(nic)) {
				m.names[strings.TrimSpace(nic)] = printable(strings.TrimSpace(name))
			}
		case m.columns == nil:
			m.header(n, text)
		default:
			m.row(n, text)
		}
	})
	m.finish()
	return s.done(err)
}

func isGPU(s string) bool { return strings.HasPrefix(s, "GPU") && digits(s[3:]) }

func isNIC(s string) bool {
	return strings.HasPrefix(s, "NIC") && digits(s[3:]) || looksLikeDevice(s)
}

func (m *matrix) header(n int, text string) {
	for f := range strings.FieldsSeq(text) {
		if isGPU(f) || isNIC(f) {
			m.columns = append(m.columns, f)
		} else if f == "CPU" {
			break
		}
	}
	if len(m.columns) == 0 || len(m.columns) > maxMatrix {
		m.fail(n, "no header with GPUs: %q", shorten(text))
		m.columns = nil
	}
}

func (m *matrix) row(n int, text string) {
	f := strings.Fields(text)
	if len(f) < 2 || !isGPU(f[0]) && !isNIC(f[0]) {
		m.fail(n, "no row of a device: %q", shorten(text))
		return
	}
	if len(m.rows) >= maxMatrix {
		m.overflow(n, "devices", maxMatrix)
		return
	}
	cells := map[string]string{}
	for i, c := range f[1:] {
		if i >= len(m.columns) {
			break
		}
		cells[m.columns[i]] = c
	}
	if len(cells) < len(m.columns) {
		m.fail(n, "%s has %d of %d cells", f[0], len(cells), len(m.columns))
	}
	m.rows[f[0]], m.lines[f[0]] = cells, n
}

func (m *matrix) finish() {
	var gpus, nics []string
	for _, c := range m.columns {
		switch {
		case m.rows[c] == nil:
		case isGPU(c):
			gpus = append(gpus, c)
		case isNIC(c):
			nics = append(nics, c)
		}
	}
	m.nvlinks(gpus)
	shown := func(nic string) string {
		if name := m.names[nic]; name != "" {
			return name
		}
		return nic
	}
	for _, nic := range nics {
		if strings.HasPrefix(nic, "NIC") && m.names[nic] == "" {
			m.note(m.lines[nic], "%s has no name in the legend", nic)
			return
		}
		m.facts.NICs = append(m.facts.NICs, NIC{Host: m.host, Device: shown(nic), Line: m.lines[nic]})
	}
	far := len(pathClasses())
	dist := func(g, n int) int {
		if r := PathRank(m.rows[gpus[g]][nics[n]]); r >= 0 {
			return r
		}
		return far
	}
	for _, p := range pairUp(len(gpus), len(nics), dist) {
		path := m.rows[gpus[p.gpu]][nics[p.nic]]
		if PathRank(path) < 0 {
			continue // the cell is missing
		}
		m.facts.Near = append(m.facts.Near, Near{
			Host: m.host, GPU: gpus[p.gpu], NIC: shown(nics[p.nic]), Path: path, Assumed: p.assumed, Of: len(gpus), Line: m.lines[gpus[p.gpu]],
		})
	}
}

// nvlinks notes a GPU with fewer links than the others have among themselves.
func (m *matrix) nvlinks(gpus []string) {
	count := map[int]int{}
	least := map[string]int{}
	for _, g := range gpus {
		for _, o := range gpus {
			k, err := strconv.Atoi(strings.TrimPrefix(m.rows[g][o], "NV"))
			if err != nil || !strings.HasPrefix(m.rows[g][o], "NV") {
				continue
			}
			count[k]++
			least[g] = max(least[g], k)
		}
	}
	usual := 0
	for k, n := range count {
		if n > count[usual] || n == count[usual] && k > usual {
			usual = k
		}
	}
	var low []string
	for _, g := range gpus {
		if k, ok := least[g]; ok && k < usual {
			low = append(low, g)
		}
	}
	slices.Sort(low)
	for _, g := range low {
		m.note(m.lines[g], "%s: %s has %d NVLinks where others have %d", m.host, g, least[g], usual)
	}
}

// NvidiaSMIFabric reads the Fabric sections of "nvidia-smi -q" of one host: its
// NVLink domain is the cluster's UUID and the clique's number. The state alone
// is not enough: "Completed" exists together with a failure.
func NvidiaSMIFabric(src Source) (*Facts, error) {
	src.Limits.Bytes = min(src.Limits.filled().Bytes, maxDump)
	s := newSink(src)
	host := canonical(src.Host)
	if host == "" {
		s.fail(0, "host of the output is unknown: name it or let the path tell it")
		return s.done(nil)
	}
	f := &fabricSections{sink: s, host: host, domains: map[string]int{}}
	err := s.lines(f.line)
	f.close()
	if len(f.domains) == 1 {
		for d, line := range f.domains {
			s.place(line, src.Host, Domain, d)
		}
	} else if len(f.domains) > 1 {
		s.note(0, "%s: GPUs of %d NVLink domains on one host; none is used", host, len(f.domains))
	}
	return s.done(err)
}

type fabricSections struct {
	*sink
	host    string
	inside  bool
	start   int
	indent  int
	keys    map[string]string
	domains map[string]int
}

func (f *fabricSections) line(n int, line string) {
	text := strings.TrimSpace(line)
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if text == "Fabric" {
		f.close()
		f.inside, f.start, f.indent, f.keys = true, n, indent, map[string]string{}
		return
	}
	if !f.inside || text == "" {
		return
	}
	if indent <= f.indent {
		f.close()
		return
	}
	if key, value, ok := strings.Cut(text, ":"); ok && len(f.keys) < 64 {
		k := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(key), " ", ""))
		if _, twice := f.keys[k]; !twice { // nested health values come after
			f.keys[k] = strings.TrimSpace(value)
		}
	}
}

func (f *fabricSections) close() {
	if !f.inside {
		return
	}
	f.inside = false
	state, status, uuid, clique := f.keys["state"], f.keys["status"], f.keys["clusteruuid"], f.keys["cliqueid"]
	switch {
	case unknown(state) || strings.EqualFold(state, "Not Supported") || unknown(uuid) || unknown(clique):
	case strings.Trim(uuid, "0-") == "": // a single host without a domain
	case !strings.EqualFold(state, "Completed"):
		f.note(f.start, "%s: fabric state is %s", f.host, shorten(state))
	case !unknown(status) && !strings.EqualFold(status, "Success"):
		f.note(f.start, "%s: fabric is completed with status %s", f.host, shorten(status))
	default:
		if d := strings.ToLower(uuid) + "." + clique; len(f.domains) < 16 && f.domains[d] == 0 {
			f.domains[d] = f.start
		}
	}
}
