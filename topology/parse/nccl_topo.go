package parse

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Bounds of a dump of one host: NCCL itself knows 640 children and a depth of
// few bridges.
const (
	maxDepth    = 64
	maxElements = 100_000
	maxDump     = 16 << 20
)

// NCCLTopo reads the file that NCCL writes with NCCL_TOPO_DUMP_FILE: which GPUs
// and NICs hang below which PCI bridges of one host.
func NCCLTopo(src Source) (*Facts, error) {
	s, host := dumpOfHost(src)
	if host == "" {
		return s.done(nil)
	}
	t := &ncclTree{sink: s, host: host}
	err := s.xml("system", t.start, t.end)
	t.finish()
	return s.done(err)
}

// dumpOfHost begins to read what NCCL wrote about one host. Without a host the
// reason is noted.
func dumpOfHost(src Source) (s *sink, host string) {
	src.Limits.Bytes = min(src.Limits.filled().Bytes, maxDump)
	s = newSink(src)
	if host = canonical(src.Host); host == "" {
		s.fail(0, "host of the dump is unknown: name it or let the path tell it")
	}
	return s, host
}

// xml walks over the elements of a document, bounded in number and depth. A
// document that breaks off is used up to there.
func (s *sink) xml(root string, start func(line int, e xml.StartElement), end func(name string)) error {
	dec := xml.NewDecoder(s.bounded())
	dec.Entity = map[string]string{} // none is needed, and none is expanded
	depth, count := 0, 0
	for {
		tok, err := dec.Token()
		line, _ := dec.InputPos()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
			s.fail(syntax.Line, "%s: the rest is left out", syntax.Msg)
			return nil
		}
		if err != nil {
			return err
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if depth++; depth == 1 && e.Name.Local != root {
				s.fail(line, "<%s> where <%s> is expected", shorten(e.Name.Local), root)
				return nil
			}
			if count++; count > maxElements || depth > maxDepth {
				s.fail(line, "more than %d elements or %d levels: the rest is left out", maxElements, maxDepth)
				return nil
			}
			start(line, e)
		case xml.EndElement:
			depth--
			end(e.Name.Local)
		}
	}
}

// ncclTree is the tree in the making; path holds the open elements.
type ncclTree struct {
	*sink
	host       string
	path       []string // one entry an open element: an id that is equal only for the same one
	pci        []string
	next       int
	gpus, nets []leafDevice
	gdr        [2]int // number of GPUs and NICs without and with GPUDirect
}

type leafDevice struct {
	name string
	pci  string
	dev  int
	path []string
	line int
}

func (t *ncclTree) start(line int, e xml.StartElement) {
	t.next++
	id := strconv.Itoa(t.next)
	switch e.Name.Local {
	case "pci":
		t.pci = append(t.pci, PCI(attr(e, "busid")))
	case "gpu":
		dev, err := strconv.Atoi(attr(e, "dev"))
		if err != nil || dev < 0 || len(t.pci) == 0 {
			t.fail(line, "a gpu without dev or outside of pci")
			break
		}
		if len(t.gpus) >= maxMatrix {
			t.overflow(line, "GPUs", maxMatrix)
			break
		}
		t.gpus = append(t.gpus, leafDevice{pci: t.pci[len(t.pci)-1], dev: dev, path: t.above(), line: line})
	case "net":
		t.net(line, e)
	case "system", "cpu", "nic", "nvlink", "c2c", "pcilink":
	default:
		t.facts.Skipped++
	}
	t.path = append(t.path, id)
}

func (t *ncclTree) end(name string) {
	if len(t.path) > 0 {
		t.path = t.path[:len(t.path)-1]
	}
	if name == "pci" && len(t.pci) > 0 {
		t.pci = t.pci[:len(t.pci)-1]
	}
}

// above are the elements above the function that a device is: its own pci
// element (and the nic element within) do not count.
func (t *ncclTree) above() []string {
	n := len(t.path)
	return append([]string(nil), t.path[:max(0, n-1)]...)
}

func (t *ncclTree) net(line int, e xml.StartElement) {
	name := attr(e, "name")
	dev, err := strconv.Atoi(attr(e, "dev"))
	if name == "" || err != nil {
		t.fail(line, "a net without name or dev")
		return
	}
	if len(t.facts.NICs) >= maxMatrix {
		t.overflow(line, "NICs", maxMatrix)
		return
	}
	switch attr(e, "gdr") {
	case "0":
		t.gdr[0]++
	case "1":
		t.gdr[1]++
	}
	mbit, _ := strconv.ParseFloat(attr(e, "speed"), 64)
	nic := NIC{
		Host: t.host, Device: printable(name), Port: stated(attr(e, "port")), GUID: GUID(attr(e, "guid")), Rate: max(0, mbit) * 1e6 / 8,
		Rail: stated(attr(e, "rail")), Plane: stated(attr(e, "plane")), Line: line,
	}
	d := leafDevice{name: nic.Device, dev: dev, line: line}
	if len(t.pci) > 0 {
		nic.PCI = t.pci[len(t.pci)-1]
		d.pci = nic.PCI
	}
	if n := len(t.path); n >= 2 {
		d.path = append([]string(nil), t.path[:n-2]...) // without pci and nic
	}
	t.facts.NICs = append(t.facts.NICs, nic)
	if d.pci != "" { // sockets are below no function
		t.nets = append(t.nets, d)
	}
}

// stated is a value that may be "-1" or empty where nothing is known.
func stated(v string) string {
	if v == "-1" || unknown(v) {
		return ""
	}
	return printable(v)
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			if len(a.Value) > 255 {
				return a.Value[:255]
			}
			return a.Value
		}
	}
	return ""
}

func (t *ncclTree) finish() {
	if len(t.gpus) == 0 || len(t.nets) == 0 {
		return
	}
	names := gpuNames(t.gpus)
	near := func(g, n int) int { return -common(t.gpus[g].path, t.nets[n].path) }
	nets := make([]string, len(t.nets))
	for i, n := range t.nets {
		nets[i] = n.name
	}
	for _, p := range pairUp(len(names), len(nets), near) {
		t.facts.Near = append(t.facts.Near, Near{
			Host: t.host, GPU: names[p.gpu], NIC: nets[p.nic], Path: t.class(t.gpus[p.gpu], t.nets[p.nic]), Assumed: p.assumed,
			Of: len(names), Line: t.gpus[p.gpu].line,
		})
	}
	if t.gdr[0] > 0 && t.gdr[1] > 0 {
		t.note(0, "%s: %d of %d NICs without GPUDirect", t.host, t.gdr[0], t.gdr[0]+t.gdr[1])
	}
}

// class is NCCL's word for how far two functions are apart: PIX below one
// bridge, PXB below several, PHB below one CPU, SYS otherwise.
func (t *ncclTree) class(a, b leafDevice) string {
	switch n := common(a.path, b.path); {
	case n < 2: // the system alone
		return "SYS"
	case n == 2:
		return "PHB"
	case len(a.path) == n && len(b.path) == n:
		return "PIX"
	default:
		return "PXB"
	}
}

// gpuNames numbers GPUs by PCI address, as the driver does; the dump's own
// numbers depend on what the process could see.
func gpuNames(gpus []leafDevice) []string {
	out := make([]string, len(gpus))
	for i, g := range gpus {
		before := 0
		for j, o := range gpus {
			if o.pci < g.pci || (o.pci == g.pci && j < i) {
				before++
			}
		}
		out[i] = fmt.Sprintf("GPU%d", before)
	}
	return out
}

func common(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
