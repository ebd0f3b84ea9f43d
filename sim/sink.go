package sim

import "strings"

// Sink takes the samples of a simulated scrape. It is called from one
// goroutine.
type Sink interface {
	// Series returns the handle of the series with the given name/value pairs;
	// "__name__" comes first. The same pairs may be given again later and get
	// the same handle.
	Series(labels ...string) uint32
	// Append adds a sample. t is in Unix milliseconds and does not fall within
	// one series.
	Append(h uint32, t int64, v float64) error
	// Stale marks the end of a series at t, as a scrape that no longer finds it
	// does.
	Stale(h uint32, t int64) error
}

// Discard is a Sink that counts samples and keeps nothing: the cost of the
// simulation alone.
type Discard struct {
	handles map[string]uint32
	// Samples and Stales count the calls.
	Samples, Stales int64
}

// Series implements Sink.
func (d *Discard) Series(labels ...string) uint32 {
	if d.handles == nil {
		d.handles = map[string]uint32{}
	}
	return intern(d.handles, labels)
}

// Append implements Sink.
func (d *Discard) Append(uint32, int64, float64) error { d.Samples++; return nil }

// Stale implements Sink.
func (d *Discard) Stale(uint32, int64) error { d.Stales++; return nil }

func intern(m map[string]uint32, labels []string) uint32 {
	k := strings.Join(labels, "\xff")
	h, ok := m[k]
	if !ok {
		h = uint32(len(m))
		m[k] = h
	}
	return h
}
