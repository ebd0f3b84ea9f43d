package parse

import (
	"strings"
)

// SlurmConf reads Slurm's topology.conf: trees, blocks and rings. Comment lines
// of the form "# name=display" directly before an entry give its real name, as
// topograph writes them.
func SlurmConf(src Source) (*Facts, error) {
	s := newSink(src)
	c := &slurm{sink: s, shown: map[string]string{}}
	var pending []byte // grows in place: a file of nothing but continuations costs no more than its length
	start, open := 0, false
	err := s.lines(func(n int, line string) {
		if !open {
			start, pending = n, pending[:0]
		}
		cut, more := strings.CutSuffix(strings.TrimRight(line, " \t"), `\`)
		more = more && (open || !strings.HasPrefix(strings.TrimSpace(line), "#"))
		if len(pending)+len(cut) > maxLine {
			s.fail(start, "line longer than %d bytes", maxLine)
			pending, open = pending[:0], false
			return
		}
		if open = more; more {
			pending = append(append(pending, cut...), ' ')
			return
		}
		c.line(start, string(pending)+line)
		pending = pending[:0]
	})
	if open {
		c.line(start, string(pending))
	}
	c.finish()
	return s.done(err)
}

// slurm is a Slurm topology in the making, from either file format.
type slurm struct {
	*sink
	comment [2]string         // id and display name of the comment line before
	shown   map[string]string // id to display name
	leaves  []slurmGroup
	inner   []slurmInner
}

type slurmGroup struct {
	name, level string
	nodes       []string
	line        int
}

type slurmInner struct {
	name     string
	children []string
	line     int
}

// noTopology is where topograph parks nodes that it could not place.
const noTopology = "no-topology"

func (c *slurm) line(n int, line string) {
	text, comment, hasComment := strings.Cut(line, "#")
	if strings.TrimSpace(text) == "" {
		if hasComment {
			if id, name, ok := strings.Cut(strings.TrimSpace(comment), "="); ok && !strings.ContainsAny(id, " \t") {
				c.comment = [2]string{id, strings.TrimSpace(name)}
				return
			}
		}
		return
	}
	before := c.comment
	c.comment = [2]string{}
	keys := map[string]string{}
	for field := range strings.FieldsSeq(text) {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			c.fail(n, "%q is no key=value", shorten(field))
			continue
		}
		keys[strings.ToLower(key)] = value
	}
	name := ""
	for _, k := range []string{"switchname", "blockname", "ringname"} {
		if v := keys[k]; v != "" {
			name = v
		}
	}
	if before[0] != "" && before[0] == name && before[1] != "" {
		c.shown[name] = before[1]
	}
	switch {
	case keys["switchname"] != "" && keys["switches"] != "":
		c.addInner(n, name, keys["switches"])
	case keys["switchname"] != "" && keys["nodes"] != "":
		c.addGroup(n, name, Leaf, keys["nodes"])
	case keys["blockname"] != "":
		if keys["nodes"] != "" { // a placeholder has none
			c.addGroup(n, name, Domain, keys["nodes"])
		}
	case keys["ringname"] != "":
		c.addGroup(n, name, Pod, keys["nodes"])
	case keys["blocksizes"] != "":
	case keys["switchname"] != "":
		c.fail(n, "switch %s has neither Nodes nor Switches", shorten(name))
	default:
		c.facts.Skipped++
		c.fail(n, "no SwitchName, BlockName or RingName in %q", shorten(text))
	}
	for k := range keys {
		switch k {
		case "switchname", "switches", "nodes", "blockname", "blocksizes", "ringname", "linkspeed":
		default:
			c.facts.Skipped++
		}
	}
}

func (c *slurm) addGroup(line int, name, level, list string) {
	if c.places >= c.lim.Hosts {
		c.overflow(line, "places of hosts", c.lim.Hosts)
		return
	}
	nodes, err := Hostlist(list, c.lim.Hosts-c.places)
	if err != nil {
		c.fail(line, "%s: %v", shorten(name), err)
		return
	}
	c.places += len(nodes)
	if name == noTopology {
		c.note(line, "%d hosts have no place (%s)", len(nodes), noTopology)
		return
	}
	c.leaves = append(c.leaves, slurmGroup{name: name, level: level, nodes: nodes, line: line})
}

// maxChildren bounds the switches below one: more than any switch has ports.
const maxChildren = 4096

func (c *slurm) addInner(line int, name, list string) {
	children, err := Hostlist(list, maxChildren)
	if err != nil {
		c.fail(line, "%s: %v", shorten(name), err)
		return
	}
	c.inner = append(c.inner, slurmInner{name: name, children: children, line: line})
}

// finish turns ids into display names, which may be told after they are used.
func (c *slurm) finish() {
	name := func(id string) string {
		if d := c.shown[id]; d != "" {
			return d
		}
		return id
	}
	known := map[string]bool{}
	for _, g := range c.leaves {
		known[g.name] = true
		for _, h := range g.nodes {
			c.place(g.line, h, g.level, name(g.name))
		}
	}
	for _, in := range c.inner {
		known[in.name] = true
	}
	for _, in := range c.inner {
		for _, child := range in.children {
			if child == noTopology {
				continue
			}
			if !known[child] {
				c.note(in.line, "%s is above %s, which is nowhere defined", shorten(in.name), shorten(child))
			}
			c.trunk(Trunk{Switch: printable(name(child)), Peer: printable(name(in.name)), Line: in.line})
		}
	}
	c.loops()
}
