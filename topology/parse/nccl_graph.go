package parse

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// NCCLGraph reads the file that NCCL writes with NCCL_GRAPH_DUMP_FILE: how it
// connected its channels on one host. A host whose channels take a longer way
// to the NIC than those of the others has an affinity fault.
func NCCLGraph(src Source) (*Facts, error) {
	s, host := dumpOfHost(src)
	if host == "" {
		return s.done(nil)
	}
	err := s.xml("graphs", func(line int, e xml.StartElement) {
		switch e.Name.Local {
		case "graphs", "channel", "net", "gpu":
		case "graph":
			channels, _ := strconv.Atoi(attr(e, "nchannels"))
			g := Graph{
				Host: host, Pattern: pattern(attr(e, "pattern")), Channels: channels,
				TypeIntra: pathClass(attr(e, "typeintra")), TypeInter: pathClass(attr(e, "typeinter")), Line: line,
			}
			if channels > 0 && len(s.facts.Graphs) < 1000 { // a pattern that was not found has no channels
				s.facts.Graphs = append(s.facts.Graphs, g)
			}
		default:
			s.facts.Skipped++
		}
	}, func(string) {})
	return s.done(err)
}

func pattern(n string) string {
	names := []string{"", "balanced tree", "split tree", "tree", "ring", "nvls", "collnet direct"}
	if i, err := strconv.Atoi(n); err == nil && i > 0 && i < len(names) {
		return names[i]
	}
	return printable(n)
}

// pathClasses are NCCL's words from the shortest way to the longest.
func pathClasses() []string {
	return []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"}
}

// PathRank orders path classes, 0 being the shortest; -1 is unknown.
func PathRank(class string) int {
	for i, c := range pathClasses() {
		if c == strings.ToUpper(class) {
			return i
		}
	}
	if strings.EqualFold(class, "NODE") { // nvidia-smi: across bridges of one NUMA node
		return PathRank("PHB")
	}
	return -1
}

func pathClass(s string) string {
	if PathRank(s) < 0 {
		return ""
	}
	return strings.ToUpper(s)
}
