package rules

import "github.com/collwatch/collwatch/signals"

// Series is a signal as the generated rules record it: one name, one unit and
// one set of labels, whoever exports it.
type Series struct {
	// Name of the recorded series, such as nic_port:nic_tx:rate3m.
	Name   string
	Signal signals.ID
	// Level says what a row is about: nic_port, gpu, host, rank or job.
	Level string
	// Unit is that of the values, in the words of the catalogue; "events" is a
	// number of events within a window.
	Unit string
}

// SignalSeries lists the signals that the rules of the options record, in the
// order of the files.
func SignalSeries(o Options) ([]Series, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b := newBuilder(&o)
	b.classes()
	var out []Series
	for _, name := range b.order {
		rd, ok := b.readings[name]
		if !ok {
			continue
		}
		s := Series{Name: name, Signal: rd.id, Level: levelOf(name), Unit: unitText(rd)}
		if rd.increase > 0 {
			s.Unit = "events"
		}
		out = append(out, s)
	}
	return out, nil
}

func levelOf(name string) string {
	for i := range name {
		if name[i] == ':' {
			return name[:i]
		}
	}
	return ""
}
