package exporter

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
)

// counterKey and histogramKey are the labels of the two kinds of series that the plugin's keys are folded into. Timing
// is part of both and never mixed.
type counterKey struct{ op, size, algo, proto string }

type histogramKey struct{ op, size, timing string }

type counterSum struct {
	enqueued, started, completed, bytes uint64
	busy                                [2]uint64 // by the GPU's clock, by the host's
	timed                               [2]bool
}

type histogramSum struct {
	durations  [durBuckets]uint64
	bandwidths [bwBuckets]uint64
	busyNs     uint64
	kbytes     uint64
}

var timings = [2]string{"gpu", "cpu"}

// keys folds the plugin's counters into label sets and serves them in the order of first appearance.
func (b *builder) keys(c *Comm, labels []*dto.LabelPair) {
	counters, histograms := map[counterKey]*counterSum{}, map[histogramKey]*histogramSum{}
	var counterOrder []counterKey
	var histogramOrder []histogramKey
	for i := range c.Keys {
		k := &c.Keys[i]
		timing := 0
		if k.CPU {
			timing = 1
		}
		size := b.sizeClass(k.SizeExp)
		ck := counterKey{k.Op, size, k.Algo, k.Proto}
		cs := counters[ck]
		if cs == nil {
			cs = &counterSum{}
			counters[ck] = cs
			counterOrder = append(counterOrder, ck)
		}
		cs.enqueued += k.Enqueued
		cs.started += k.Started
		cs.completed += k.Completed
		cs.bytes += k.Bytes
		if k.Completed == 0 || k.SizeExp == overflowSizeClass {
			continue
		}
		cs.busy[timing] += k.BusyNs
		cs.timed[timing] = true
		hk := histogramKey{k.Op, size, timings[timing]}
		hs := histograms[hk]
		if hs == nil {
			hs = &histogramSum{}
			histograms[hk] = hs
			histogramOrder = append(histogramOrder, hk)
		}
		hs.add(k)
	}
	for _, k := range counterOrder {
		b.counters(k, counters[k], labels, c)
	}
	for _, k := range histogramOrder {
		l, s := with(labels, "op", k.op, "size_class", k.size, "timing", k.timing), histograms[k]
		b.out.histogram(b.m.duration, l, durationBuckets, s.durations[:], float64(s.busyNs)*1e-9)
		b.out.histogram(b.m.bandwidth, l, bandwidthBuckets, s.bandwidths[:], float64(s.kbytes)*1e3)
	}
}

func (s *histogramSum) add(k *Key) {
	for i, n := range k.Durations {
		s.durations[i] += n
	}
	for i, n := range k.Bandwidths {
		s.bandwidths[i] += n
	}
	s.busyNs += k.BusyNs
	s.kbytes += k.BandwidthKBSum
}

// counters serves one label set. Where completion cannot be seen (light mode, copy engine) started and completed are
// left out: a zero would look like a hang.
func (b *builder) counters(k counterKey, s *counterSum, labels []*dto.LabelPair, c *Comm) {
	l := with(labels, "op", k.op, "size_class", k.size, "algo", k.algo, "proto", k.proto)
	b.out.counter(b.m.bytes, l, float64(s.bytes))
	if !c.CompletedOnly {
		b.out.counter(b.m.enqueued, l, float64(s.enqueued))
		if !c.Followed || k.algo == "CE" {
			return
		}
		b.out.counter(b.m.started, l, float64(s.started))
	}
	b.out.counter(b.m.completed, l, float64(s.completed))
	for i, timing := range timings {
		if s.timed[i] {
			b.out.counter(b.m.busy, with(l, "timing", timing), float64(s.busy[i])*1e-9)
		}
	}
}

// sizeClass names a class by the largest payload it holds, in bytes.
func (b *builder) sizeClass(exp int) string {
	if exp == overflowSizeClass {
		return "mixed"
	}
	step := max(1, b.limits.SizeOctave)
	return strconv.FormatUint(1<<min((exp+step-1)/step*step, 62), 10)
}

// onlyGPU returns the GPU and its PCI address if the process's communicators agree on one.
func onlyGPU(comms []Comm) (gpu, pci string) {
	for i := range comms {
		switch {
		case i == 0:
			gpu, pci = comms[i].GPU, comms[i].PCI
		case comms[i].GPU != gpu:
			return "", ""
		}
	}
	return gpu, pci
}

func number(v int64) string {
	if v < 0 {
		return ""
	}
	return strconv.FormatInt(v, 10)
}

func rankLabel(v uint32) string { return number(rank(v)) }

func count(v uint32) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(v), 10)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func cmpFloat(a, b float64) int { return cmp.Compare(a, b) }
