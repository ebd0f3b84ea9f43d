package parse

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// SlurmYAML reads Slurm's topology.yaml: a list of named topologies of type
// tree, block, ring or flat; others are skipped.
func SlurmYAML(src Source) (*Facts, error) {
	s := newSink(src)
	text, err := io.ReadAll(s.bounded())
	if err != nil {
		return s.done(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return s.done(fmt.Errorf("no YAML: %w", err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.SequenceNode {
		s.fail(1, "a list of topologies is expected")
		return s.done(nil)
	}
	c := &slurm{sink: s, shown: map[string]string{}}
	for _, t := range doc.Content[0].Content {
		c.topology(t)
	}
	c.finish()
	return s.done(nil)
}

func (c *slurm) topology(t *yaml.Node) {
	if t.Kind != yaml.MappingNode {
		c.fail(t.Line, "a topology must be a map")
		return
	}
	for key, value := range pairs(t) {
		switch key.Value {
		case "tree":
			c.each(field(value, "switches"), func(n *yaml.Node) {
				name := text(field(n, "switch"))
				switch nodes, children := text(field(n, "nodes")), text(field(n, "children")); {
				case name == "":
					c.fail(n.Line, "a switch without a name")
				case nodes != "":
					c.addGroup(n.Line, name, Leaf, nodes)
				case children != "":
					c.addInner(n.Line, name, children)
				default:
					c.fail(n.Line, "switch %s has neither nodes nor children", shorten(name))
				}
			})
		case "block":
			c.groups(field(value, "blocks"), "block", Domain)
		case "ring":
			c.groups(field(value, "rings"), "ring", Pod)
		case "topology", "cluster_default", "flat":
		default:
			c.facts.Skipped++
		}
	}
}

func (c *slurm) groups(list *yaml.Node, key, level string) {
	c.each(list, func(n *yaml.Node) {
		name, nodes := text(field(n, key)), text(field(n, "nodes"))
		if name == "" {
			c.fail(n.Line, "a %s without a name", key)
			return
		}
		if nodes != "" {
			c.addGroup(n.Line, name, level, nodes)
		}
	})
}

func (c *slurm) each(list *yaml.Node, f func(*yaml.Node)) {
	if list == nil {
		return
	}
	if list.Kind != yaml.SequenceNode {
		c.fail(list.Line, "a list is expected")
		return
	}
	for _, n := range list.Content {
		if n.Kind != yaml.MappingNode { // an alias is no map: bombs stay folded
			c.fail(n.Line, "a map is expected")
			continue
		}
		f(n)
	}
}

// pairs iterates over the keys and values of a map.
func pairs(n *yaml.Node) func(func(k, v *yaml.Node) bool) {
	return func(yield func(k, v *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for k, v := range pairs(n) {
		if k.Value == key {
			return v
		}
	}
	return nil
}

func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}
