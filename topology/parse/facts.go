package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/collwatch/collwatch/signals"
)

// Levels of a Place: what a host hangs on.
const (
	Leaf   = "leaf"   // switch, or group of hosts next to each other
	Rack   = "rack"   // shared power and cooling
	Domain = "domain" // NVLink domain
	Pod    = "pod"    // next larger group: superpod, block
)

// Place puts a host on one of the levels.
type Place struct {
	Host  string // canonical
	Shown string // as the source spells it
	Level string // Leaf, Rack, Domain or Pod
	Name  string
	Line  int
}

// Link is a NIC port plugged into a port of a leaf. Empty fields are unknown; a
// link names its host's side by GUID, by host and device, or by host alone.
type Link struct {
	Switch, SwitchGUID, SwitchPort string

	Host, Device, Port string
	// Slot is the number in a description such as "gpu-010 HCA-4": it names no
	// device, as such numbers start at 0 or 1 and follow no fixed order.
	Slot string
	// GUID and NodeGUID are lower-case hexadecimal, 16 digits.
	GUID, NodeGUID string

	Rate  float64 // B/s as negotiated; 0 unknown
	Hint  string  // the tool's own verdict, such as "Could be 106.25 Gbps"
	Down  bool
	Plan  bool // what should be, not what is
	Iface bool // Device is the name of a network interface
	Line  int
}

// Trunk is a link between switches, or, without ports, "below" in a tree:
// Switch is nearer to hosts than Peer.
type Trunk struct {
	Switch, SwitchGUID, Port string
	Peer, PeerGUID, PeerPort string
	Rate                     float64 // B/s; 0 unknown
	Hint                     string
	Down                     bool
	Line                     int
}

// NIC is what a dump of one host says about a NIC port.
type NIC struct {
	Host, Device, Port, GUID string
	PCI                      string  // dddd:bb:dd.f
	Rate                     float64 // B/s; 0 unknown
	Rail, Plane              string  // as stated; "" unknown
	Line                     int
}

// Near says which NIC is next to a GPU.
type Near struct {
	Host, GPU, NIC string
	Path           string // PIX, PXB, PHB, NODE, SYS, …
	// Assumed says that several pairs are equally near and order decided.
	Assumed bool
	// Of is the number of GPUs of the dump: a dump from a container that sees
	// fewer than the host has numbers them otherwise.
	Of   int
	Line int
}

// Graph is how NCCL connected the channels of one host.
type Graph struct {
	Host                 string
	Pattern              string
	Channels             int
	TypeIntra, TypeInter string // path class, LOC to DIS
	Line                 int
}

// Facts is what one text says.
type Facts struct {
	Places []Place
	Links  []Link
	Trunks []Trunk
	NICs   []NIC
	Near   []Near
	Graphs []Graph
	// Notes are statements that read well and are odd: a conflict inside the
	// source, a port without a link between others.
	Notes []Problem
	// Problems are parts that could not be used, the first few of Dropped.
	Problems []Problem
	Dropped  int
	// Skipped counts unknown keys, elements and attributes.
	Skipped int
}

// Problem is a place in a text and what is wrong with it.
type Problem struct {
	File string
	Line int // 0: the whole file
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Limits bound what one text may cost. Zero fields mean the default.
type Limits struct {
	Bytes    int64 // of text, default 256 MiB: ibnetdiscover of 100,000 hosts with 8 ports has about 90 MB
	Hosts    int   // places of hosts, default 500,000
	Links    int   // links and trunks, default 2,000,000
	Problems int   // listed, default 20
}

func (l Limits) filled() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 256 << 20
	}
	if l.Hosts <= 0 {
		l.Hosts = 500_000
	}
	if l.Links <= 0 {
		l.Links = 2_000_000
	}
	if l.Problems <= 0 {
		l.Problems = 20
	}
	return l
}

// ErrNothing says that a text holds nothing of the kind it should be.
var ErrNothing = errors.New("nothing in it could be used")

// Source is a text to read.
type Source struct {
	Name string // for messages, such as its path
	Host string // host that a dump was taken on; "" where the text tells
	Text io.Reader
	// Labels are node labels of the site, by level; Spine is the level above
	// Leaf.
	Labels map[string][]string
	Limits Limits
}

// sink gathers facts within the limits.
type sink struct {
	src    Source
	lim    Limits
	facts  Facts
	places int
	full   map[string]bool
}

func newSink(src Source) *sink {
	return &sink{src: src, lim: src.Limits.filled(), full: map[string]bool{}}
}

func (s *sink) fail(line int, format string, args ...any) {
	s.facts.Dropped++
	if len(s.facts.Problems) < s.lim.Problems {
		s.facts.Problems = append(s.facts.Problems, Problem{File: s.src.Name, Line: line, Text: fmt.Sprintf(format, args...)})
	}
}

func (s *sink) note(line int, format string, args ...any) {
	switch n := len(s.facts.Notes); {
	case n < s.lim.Problems:
		s.facts.Notes = append(s.facts.Notes, Problem{File: s.src.Name, Line: line, Text: fmt.Sprintf(format, args...)})
	case n == s.lim.Problems:
		s.facts.Notes = append(s.facts.Notes, Problem{File: s.src.Name, Text: "and more of the kind"})
	}
}

// overflow says once that a limit is reached.
func (s *sink) overflow(line int, what string, limit int) {
	if s.full[what] {
		s.facts.Dropped++
		return
	}
	s.full[what] = true
	s.fail(line, "more than %d %s: the rest is left out", limit, what)
}

func (s *sink) place(line int, host, level, name string) {
	p := Place{Host: signals.CanonicalHost(host), Shown: printable(strings.TrimSpace(host)), Level: level, Name: printable(strings.TrimSpace(name)), Line: line}
	if p.Host == "" || unknown(p.Name) {
		return
	}
	if len(s.facts.Places) >= s.lim.Hosts {
		s.overflow(line, "places of hosts", s.lim.Hosts)
		return
	}
	s.facts.Places = append(s.facts.Places, p)
}

func (s *sink) link(l Link) {
	if len(s.facts.Links) >= s.lim.Links {
		s.overflow(l.Line, "links", s.lim.Links)
		return
	}
	s.facts.Links = append(s.facts.Links, l)
}

func (s *sink) trunk(t Trunk) {
	if len(s.facts.Trunks) >= s.lim.Links {
		s.overflow(t.Line, "links between switches", s.lim.Links)
		return
	}
	s.facts.Trunks = append(s.facts.Trunks, t)
}

// done returns the facts, or an error if there are none.
func (s *sink) done(readErr error) (*Facts, error) {
	f := &s.facts
	if readErr != nil {
		s.fail(0, "reading stopped: %v", readErr)
	}
	if len(f.Places)+len(f.Links)+len(f.Trunks)+len(f.NICs)+len(f.Near)+len(f.Graphs) > 0 {
		return f, nil
	}
	if len(f.Problems) > 0 {
		return f, fmt.Errorf("%w: %s", ErrNothing, f.Problems[0])
	}
	return f, fmt.Errorf("%s: %w", s.src.Name, ErrNothing)
}

// unknown says that a value states nothing.
func unknown(s string) bool {
	switch strings.ToLower(s) {
	case "", "n/a", "na", "none", "null", "unknown", "-":
		return true
	}
	return false
}

// printable makes foreign text safe to keep and show: bounded, valid UTF-8 and
// without control characters.
func printable(s string) string {
	const most = 253
	if len(s) > most {
		s = s[:most]
	}
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.Clone(s))
}

// shorten cuts foreign text for a message.
func shorten(s string) string {
	if s = printable(s); len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
