package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/collwatch/collwatch/signals"
)

// testCase is a unit test of one alert: what makes it fire, what looks alike
// and must not, and when it is over.
type testCase struct {
	rule  rule
	place string // level of the alert
	// fire and quiet are the inputs; at and clear are minutes.
	fire, quiet []input
	about       string // the look-alike in words
	at, clear   int
	want        want
	always      bool // it fires from the start and never ends
}

// want is the alert that must fire: its place, and the value of the expression.
type want struct {
	host, device, gpu, job string
	value                  float64
	labels                 map[string]string // further ones
}

//nolint:unparam // it reads like the alert
func on(host, device string, v float64) want { return want{host: host, device: device, value: v} }

//nolint:unparam // it reads like the alert
func gpuOn(host string, index int, v float64) want {
	return want{host: host, gpu: "GPU" + strconv.Itoa(index), value: v}
}

// input is one series in canonical terms; render finds the raw series that a
// dialect of this installation makes of it.
type input struct {
	rd     reading
	metric string // a raw series, if not ""
	host   string
	device string
	gpu    int
	labels map[string]string
	points []step
}

// step is a number of samples with one value: a level, or the rate per second
// of a counter. Samples are sampleEvery seconds apart.
type step struct {
	v float64
	n int
}

const (
	// spareHost is a host of tests on which no job runs.
	spareHost   = "spare0"
	sampleEvery = 30
	testJob     = "48213"
	testSamples = 400
)

// gone is the value of samples that are missing.
var gone = math.Inf(-1)

func flat(v float64) step { return step{v, testSamples} }

// with adds inputs to a list without touching it. Later inputs replace earlier
// ones of the same series.
func with(list []input, more ...input) []input { return append(slices.Clip(list), more...) }

func nodes(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "node"+strconv.Itoa(i))
	}
	return out
}

func in(id signals.ID, host, device string, pts ...step) input {
	return inOf(reading{id: id}, host, device, pts...)
}

func inOf(rd reading, host, device string, pts ...step) input {
	return input{rd: rd, host: host, device: device, points: pts}
}

// fabric is a signal of four ports on each of n hosts.
func fabric(id signals.ID, n int, pts ...step) []input { return fabricOf(reading{id: id}, n, pts...) }

func fabricOf(rd reading, n int, pts ...step) []input {
	var out []input
	for _, h := range nodes(n) {
		for d := range 4 {
			out = append(out, inOf(rd, h, "mlx5_"+strconv.Itoa(d), pts...))
		}
	}
	return out
}

func fabricDevice(id signals.ID, n int, device string, pts ...step) []input {
	var out []input
	for _, h := range nodes(n) {
		out = append(out, in(id, h, device, pts...))
	}
	return out
}

func fabricHost(id signals.ID, host string, pts ...step) []input {
	var out []input
	for d := range 4 {
		out = append(out, in(id, host, "mlx5_"+strconv.Itoa(d), pts...))
	}
	return out
}

// models are the card models of the ports.
func models(n int) []input {
	var out []input
	for _, h := range nodes(n) {
		for d := range 4 {
			m := raw("node_infiniband_info", h, flat(1))
			m.labels = map[string]string{"device": "mlx5_" + strconv.Itoa(d), "board_id": "MT_0000000838"}
			out = append(out, m)
		}
	}
	return out
}

// raw is a series by its own name, with the labels of a scrape.
func raw(metric, host string, pts ...step) input {
	return input{metric: metric, host: host, points: pts}
}

func host(id signals.ID, h string, pts ...step) input {
	return input{rd: reading{id: id}, host: h, points: pts}
}

func gpu(id signals.ID, host string, index int, pts ...step) input {
	return gpuOf(reading{id: id}, host, index, pts...)
}

func gpuOf(rd reading, host string, index int, pts ...step) input {
	return input{rd: rd, host: host, gpu: index, points: pts}
}

func xid(host string, index int, code string, pts ...step) input {
	return input{rd: reading{id: signals.GPUXidCount, keep: "xid"}, host: host, gpu: index, labels: map[string]string{"xid": code}, points: pts}
}

// gpus is a signal of four GPUs on each of n hosts.
func gpus(id signals.ID, n int, pts ...step) []input { return gpusOf(reading{id: id}, n, pts...) }

func gpusOf(rd reading, n int, pts ...step) []input {
	var out []input
	for _, h := range nodes(n) {
		for g := range 4 {
			out = append(out, gpuOf(rd, h, g, pts...))
		}
	}
	return out
}

// rank is the time of an AllReduce between hosts, on GPU 0 of a host.
func rank(host string, pts ...step) input { return rankOf(host, 0, pts...) }

// rankOf is the time of the member on one of several GPUs of a host.
func rankOf(host string, index int, pts ...step) input {
	return gpu(signals.CollExecTime, host, index, pts...)
}

func rankAll(n int, pts ...step) []input {
	var out []input
	for _, h := range nodes(n) {
		out = append(out, rank(h, pts...))
	}
	return out
}

func collectives(n int, pts ...step) []input { return rankAll(n, pts...) }

// sample is a raw series of a test.
type sample struct {
	labels []string // name and value in turn, the metric's name apart
	metric string
	values string // promtool's notation
}

func (s sample) String() string {
	var b strings.Builder
	b.WriteString(s.metric + "{")
	for i := 0; i < len(s.labels); i += 2 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%q", s.labels[i], s.labels[i+1])
	}
	return b.String() + "}"
}

// notation writes points in promtool's notation. A counter's values are the
// integral of its rates.
func notation(pts []step, counts, events bool, scale float64) string {
	if scale == 0 {
		scale = 1
	}
	var out []string
	total := 1000.0
	for _, p := range pts {
		switch {
		case math.IsInf(p.v, -1):
			out = append(out, "_x"+strconv.Itoa(p.n))
		case counts:
			by := p.v / scale
			if !events {
				by *= sampleEvery
			}
			first := total + by
			total += by * float64(p.n)
			out = append(out, fmt.Sprintf("%s+%sx%d", num(first), num(by), p.n-1))
		default:
			out = append(out, fmt.Sprintf("%sx%d", num(p.v/scale), p.n-1))
		}
	}
	return strings.Join(out, " ")
}
