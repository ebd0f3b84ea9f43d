package parse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Topograph reads what topograph writes: its graph as JSON ({"instances": …},
// layers closest first) or the text of a topology.conf from its ConfigMap.
func Topograph(src Source) (*Facts, error) {
	s := newSink(src)
	var head [1]byte
	rd := s.bounded()
	for {
		n, err := rd.Read(head[:])
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return s.done(err)
		}
		if n == 1 && !bytes.ContainsRune([]byte(" \t\r\n\ufeff"), rune(head[0])) {
			break
		}
	}
	rest := io.MultiReader(bytes.NewReader(head[:]), rd)
	if head[0] != '{' {
		src.Text = rest
		return SlurmConf(src)
	}
	err := s.elements(rest, "instances", func(line int, raw json.RawMessage) {
		var in struct {
			ID     string            `json:"id"`
			Layers []string          `json:"network_layers"`
			Labels map[string]string `json:"labels"`
		}
		if err := json.Unmarshal(raw, &in); err != nil || in.ID == "" {
			s.fail(line, "an instance without id or of another shape")
			return
		}
		layers := in.Layers
		if len(layers) > 8 {
			s.fail(line, "%d layers", len(layers))
			layers = layers[:8]
		}
		if len(layers) > 0 {
			s.place(line, in.ID, Leaf, layers[0])
		}
		if len(layers) > 1 {
			s.place(line, in.ID, Pod, layers[1])
		}
		for i := 0; i+1 < len(layers); i++ {
			s.trunk(Trunk{Switch: printable(layers[i]), Peer: printable(layers[i+1]), Line: line})
		}
		if len(layers) > 0 { // layers are the newer and more exact words
			for _, k := range append(nodeLabels()[Leaf], nodeLabels()[spine]...) {
				delete(in.Labels, k)
			}
		}
		s.labelled(line, in.ID, in.Labels)
	})
	s.dedupeTrunks()
	s.loops()
	return s.done(err)
}

// NodeLabels reads nodes with their labels: the output of "kubectl get nodes -o
// json", or a map of node to labels.
func NodeLabels(src Source) (*Facts, error) {
	s := newSink(src)
	err := s.elements(s.bounded(), "items", func(line int, raw json.RawMessage) {
		var node struct {
			Metadata struct {
				Name   string            `json:"name"`
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(raw, &node); err != nil || node.Metadata.Name == "" {
			s.fail(line, "an item without metadata.name")
			return
		}
		s.labelled(line, node.Metadata.Name, node.Metadata.Labels)
	}, func(line int, key string, raw json.RawMessage) {
		var labels map[string]string
		if json.Unmarshal(raw, &labels) == nil && len(labels) > 0 {
			s.labelled(line, key, labels)
			return
		}
		s.facts.Skipped++
	})
	s.dedupeTrunks()
	s.loops()
	return s.done(err)
}

// maxJSON bounds documents of JSON, which are held while they are read so that
// messages can name a line.
const maxJSON = 128 << 20

// elements calls f for the elements of the list under a key of the outermost
// object, with their lines. Other keys go to others.
func (s *sink) elements(rd io.Reader, list string, f func(line int, raw json.RawMessage), others ...func(line int, key string, raw json.RawMessage)) error {
	doc, err := io.ReadAll(&limited{r: rd, left: maxJSON, limit: maxJSON})
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	counted, lines := 0, 1
	line := func() int {
		at := int(dec.InputOffset())
		lines += bytes.Count(doc[counted:at], []byte{'\n'})
		counted = at
		return lines
	}
	broken := func(err error) error { // what was read before stays
		s.fail(line(), "no JSON from here on: %v", err)
		return nil
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return broken(errors.Join(err, errors.New("an object is expected")))
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return broken(err)
		}
		key, _ := t.(string)
		if key != list {
			var raw json.RawMessage
			at := line()
			if err := dec.Decode(&raw); err != nil {
				return broken(err)
			}
			for _, o := range others {
				o(at, key, raw)
			}
			continue
		}
		if t, err = dec.Token(); err != nil || t != json.Delim('[') {
			return broken(errors.Join(err, fmt.Errorf("%q must be a list", list)))
		}
		for dec.More() {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				return broken(err)
			}
			f(line(), raw)
		}
		if _, err := dec.Token(); err != nil {
			return broken(err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return broken(err)
	}
	return nil
}

// dedupeTrunks keeps one of equal trunks: labels say the same on every host.
func (s *sink) dedupeTrunks() {
	seen := map[Trunk]bool{}
	kept := s.facts.Trunks[:0]
	for _, t := range s.facts.Trunks {
		k := t
		k.Line = 0
		if !seen[k] {
			seen[k] = true
			kept = append(kept, t)
		}
	}
	s.facts.Trunks = kept
}
