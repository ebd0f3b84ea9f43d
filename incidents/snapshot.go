package incidents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Schema is the version of the snapshot. A reader takes it and all older ones.
const Schema = 1

// record is one line of a snapshot: exactly one field is set.
type record struct {
	Manager  *managerRecord  `json:"manager,omitempty"`
	Live     *Incident       `json:"live,omitempty"`
	Ended    *Incident       `json:"ended,omitempty"`
	Past     *Incident       `json:"past,omitempty"`
	Offender *offenderRecord `json:"offender,omitempty"`
}

type managerRecord struct {
	Last      time.Time `json:"last"`
	Truncated uint64    `json:"truncated"`
	Flaps     uint64    `json:"flaps"`
	Held      uint64    `json:"held"`
}

type offenderRecord struct {
	Kind   string      `json:"kind"`
	Node   string      `json:"node,omitempty"`
	Device string      `json:"device,omitempty"`
	Switch string      `json:"switch,omitempty"`
	Times  []time.Time `json:"times"`
}

// Save returns all incidents as lines of JSON, for a file. It is a consistent
// picture between two ticks.
func (m *Manager) Save() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	records := []record{{Manager: &managerRecord{m.last, m.counts.Truncated, m.counts.Flaps, m.counts.Held}}}
	for _, inc := range m.ordered() {
		records = append(records, record{Live: inc})
	}
	for _, inc := range clones(m.ended) {
		records = append(records, record{Ended: &inc})
	}
	for i := range m.ring {
		records = append(records, record{Past: &m.ring[i]})
	}
	for _, o := range m.past.records() {
		records = append(records, record{Offender: &o})
	}
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return nil, fmt.Errorf("save incidents: %w", err)
		}
	}
	return buf.Bytes(), nil
}

// maxLine bounds one line of a snapshot.
const maxLine = 16 << 20

// Restore replaces all incidents by those of a snapshot. On an error nothing
// has changed. The first tick afterwards resolves nothing, and the time since
// the snapshot counts towards no hold time.
func (m *Manager) Restore(data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh := NewManager(m.opts)
	in := bufio.NewReader(bytes.NewReader(data))
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = fresh.restoreLine(line)
		}
		if err != nil {
			return fmt.Errorf("restore incidents: line %d: %w", n, err)
		}
	}
	m.live, m.byClass, m.ended, m.ring = fresh.live, fresh.byClass, fresh.ended, fresh.ring
	m.past, m.last, m.counts, m.announced = fresh.past, fresh.last, fresh.counts, fresh.announced
	m.restored = true
	return nil
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return line, err
		}
	}
}

func (m *Manager) restoreLine(line []byte) error {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	switch {
	case r.Manager != nil:
		m.last = r.Manager.Last
		m.counts = counts{r.Manager.Truncated, r.Manager.Flaps, r.Manager.Held}
	case r.Live != nil:
		return m.restoreLive(r.Live)
	case r.Ended != nil:
		if r.Ended.ID == "" || r.Ended.State != Resolved {
			return fmt.Errorf("ended incident %q is in state %s", r.Ended.ID, r.Ended.State)
		}
		m.ended[r.Ended.ID] = r.Ended
	case r.Past != nil:
		m.ring = append(m.ring, *r.Past)
	case r.Offender != nil:
		m.past.restore(r.Offender)
	default:
		return errors.New("nothing that this version knows")
	}
	return nil
}

func (m *Manager) restoreLive(inc *Incident) error {
	switch {
	case inc.ID == "" || inc.Key == "":
		return errors.New("incident without id or key")
	case inc.State == Resolved:
		return fmt.Errorf("live incident %s is resolved", inc.ID)
	case m.live[inc.Key] != nil:
		return fmt.Errorf("incidents %s and %s have one key", m.live[inc.Key].ID, inc.ID)
	case inc.State == Pending && inc.Announced:
		return fmt.Errorf("pending incident %s was announced", inc.ID)
	}
	m.add(inc)
	if inc.Announced {
		m.announced++
	}
	return nil
}

func (o *offenders) records() []offenderRecord {
	out := make([]offenderRecord, 0, len(o.times))
	for c, times := range o.times {
		out = append(out, offenderRecord{c.kind, c.node, c.device, c.sw, slices.Clone(times)})
	}
	slices.SortFunc(out, func(a, b offenderRecord) int {
		return slices.Compare([]string{a.Kind, a.Node, a.Device, a.Switch}, []string{b.Kind, b.Node, b.Device, b.Switch})
	})
	return out
}

func (o *offenders) restore(r *offenderRecord) {
	if len(o.times) < maxOffenders {
		times := r.Times[max(0, len(r.Times)-maxTimesPerMember):]
		o.times[component{r.Kind, r.Node, r.Device, r.Switch}] = slices.Clone(times)
	}
}
