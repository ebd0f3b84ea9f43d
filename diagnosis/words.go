package diagnosis

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// Unit says how a signal is written for people.
type unit uint8

const (
	unitPlain unit = iota
	unitSeconds
	unitByteRate
	unitBytes
	unitRatio
	unitShare // s/s, as per cent of the time
	unitWatts
	unitCelsius
	unitHertz
	unitPerSecond
	unitTicks
)

// phrase is the name and unit of a signal in evidence.
type phrase struct {
	name string
	unit unit
}

// phrases returns the words for a signal. The generic answer is honest too: a
// signal without words of its own is a number.
func phrases(id signals.ID) phrase {
	switch id {
	case signals.CollExecTime:
		return phrase{"collective time", unitSeconds}
	case signals.CollTransferTime:
		return phrase{"transfer time", unitSeconds}
	case signals.P2PExecTime:
		return phrase{"send/receive time", unitSeconds}
	case signals.CollBusBandwidth, signals.P2PBusBandwidth:
		return phrase{"bus bandwidth", unitByteRate}
	case signals.InspectorAge:
		return phrase{"age of the Inspector file", unitSeconds}
	case signals.StepTime:
		return phrase{"step time", unitSeconds}
	case signals.GPUSMClock:
		return phrase{"SM clock", unitHertz}
	case signals.GPUMemClock:
		return phrase{"memory clock", unitHertz}
	case signals.GPUThrottleTime:
		return phrase{"time throttled", unitShare}
	case signals.GPUTemp:
		return phrase{"GPU temperature", unitCelsius}
	case signals.GPUMemTemp:
		return phrase{"memory temperature", unitCelsius}
	case signals.GPUPower:
		return phrase{"power", unitWatts}
	case signals.GPUUtil:
		return phrase{"GPU utilisation", unitRatio}
	case signals.GPUSMActive:
		return phrase{"SM activity", unitRatio}
	case signals.GPUTensorActive:
		return phrase{"tensor activity", unitRatio}
	case signals.GPUDRAMActive:
		return phrase{"DRAM activity", unitRatio}
	case signals.GPUMemUsed:
		return phrase{"GPU memory in use", unitBytes}
	case signals.GPUPCIeGen:
		return phrase{"PCIe generation", unitPlain}
	case signals.GPUPCIeWidth:
		return phrase{"PCIe lanes", unitPlain}
	case signals.GPUPCIeReplays:
		return phrase{"PCIe replays", unitPerSecond}
	case signals.NVLinkErrors:
		return phrase{"NVLink errors", unitPerSecond}
	case signals.NICRate, signals.SwitchPortRate:
		return phrase{"port rate", unitByteRate}
	case signals.NICTx:
		return phrase{"bytes sent", unitByteRate}
	case signals.NICRx:
		return phrase{"bytes received", unitByteRate}
	case signals.NICSymbolErrors:
		return phrase{"symbol errors", unitPerSecond}
	case signals.NICRxErrors:
		return phrase{"receive errors", unitPerSecond}
	case signals.NICICRC:
		return phrase{"icrc errors", unitPerSecond}
	case signals.NICLinkIntegrity:
		return phrase{"link integrity errors", unitPerSecond}
	case signals.NICLinkRecovery:
		return phrase{"link recoveries", unitPerSecond}
	case signals.NICSeqErrors:
		return phrase{"sequence errors", unitPerSecond}
	case signals.NICOutOfSequence:
		return phrase{"out-of-sequence packets", unitPerSecond}
	case signals.NICAckTimeouts:
		return phrase{"ack timeouts", unitPerSecond}
	case signals.NICRetransmits:
		return phrase{"retransmissions", unitPerSecond}
	case signals.NICRetransmitBytes:
		return phrase{"share of bytes sent again", unitRatio}
	case signals.NICTransmitWait, signals.SwitchPortTransmitWait:
		return phrase{"transmit wait", unitTicks}
	case signals.NICECNReceived, signals.SwitchPortECNMarked:
		return phrase{"ECN marks", unitPerSecond}
	case signals.NICCNPSent:
		return phrase{"CNPs sent", unitPerSecond}
	case signals.NICCNPHandled:
		return phrase{"CNPs handled", unitPerSecond}
	case signals.NICPauseRx, signals.SwitchPortPauseRx:
		return phrase{"time paused by the peer (rx pause)", unitShare}
	case signals.NICPauseTx, signals.SwitchPortPauseTx:
		return phrase{"time it paused its peer (tx pause)", unitShare}
	case signals.NICPCIeStall:
		return phrase{"time stalled on PCIe", unitShare}
	case signals.NICRemoteUnresponsive:
		return phrase{"unresponsive remotes", unitPerSecond}
	case signals.NICRemoteImpaired:
		return phrase{"impaired remotes", unitPerSecond}
	case signals.NICDiscards, signals.SwitchPortDiscards:
		return phrase{"discarded packets", unitPerSecond}
	case signals.SwitchPortErrors:
		return phrase{"port errors", unitPerSecond}
	case signals.SwitchPortTx:
		return phrase{"bytes out of the port", unitByteRate}
	case signals.SwitchUplink:
		return phrase{"uplinks", unitPlain}
	case signals.HostCPUPressure:
		return phrase{"time tasks waited for CPU", unitShare}
	case signals.HostIOPressure:
		return phrase{"time tasks waited for I/O", unitShare}
	case signals.HostMemPressure:
		return phrase{"time tasks waited for memory", unitShare}
	case signals.HostIRQPressure:
		return phrase{"time lost to interrupts", unitShare}
	case signals.HostLoad:
		return phrase{"load", unitPlain}
	case signals.HostNetTx:
		return phrase{"bytes sent by sockets", unitByteRate}
	case signals.HostNetRx:
		return phrase{"bytes received by sockets", unitByteRate}
	}
	return phrase{"value", unitPlain}
}

// Human writes a value of a signal with its customary unit: "12.5 GB/s",
// "1755 MHz", "6.06 ms", "38 per second".
func Human(id signals.ID, v float64) string { return phrases(id).unit.write(v) }

func (u unit) write(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	switch u {
	case unitSeconds:
		return seconds(v)
	case unitByteRate:
		return scaled(v, 1000, "B/s")
	case unitBytes:
		return scaled(v, 1000, "B")
	case unitRatio, unitShare:
		return figure(v*100) + " %"
	case unitWatts:
		return figure(v) + " W"
	case unitCelsius:
		return figure(v) + " °C"
	case unitHertz:
		return figure(v/1e6) + " MHz"
	case unitPerSecond:
		if v > 0 && v < 0.1 {
			return figure(v*3600) + " per hour"
		}
		return figure(v) + " per second"
	case unitTicks:
		return scaled(v, 1000, "ticks/s")
	}
	return figure(v)
}

func scaled(v, base float64, suffix string) string {
	prefixes := []string{"", "k", "M", "G", "T", "P"}
	i := 0
	for math.Abs(v) >= base && i < len(prefixes)-1 {
		v /= base
		i++
	}
	return figure(v) + " " + prefixes[i] + suffix
}

func seconds(v float64) string {
	switch a := math.Abs(v); {
	case a < 1e-3:
		return figure(v*1e6) + " µs"
	case a < 1:
		return figure(v*1e3) + " ms"
	default:
		return figure(v) + " s"
	}
}

// figure writes three significant digits, without an exponent where a reader
// does not expect one.
func figure(v float64) string {
	if a := math.Abs(v); a >= 100 && a < 1e6 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Span writes a duration the way people say it: "45 s", "12 min", "3.5 h".
func Span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return figure(d.Round(time.Second).Seconds()) + " s"
	case d < 2*time.Hour:
		return figure(math.Round(d.Minutes())) + " min"
	default:
		return figure(d.Hours()) + " h"
	}
}

// say turns a finding into evidence: what, where, how much, against what.
func (c *Case) say(f *detectors.Finding, decisive bool) Evidence {
	p := phrases(f.Signal)
	text := f.Entity.String() + ": " + p.name + " " + p.unit.write(f.Value)
	if !math.IsNaN(f.Expected) {
		text += " against " + p.unit.write(f.Expected)
		switch {
		case f.Peers > 0:
			text += " of " + count(f.Peers, "peer")
		default:
			text += " before"
		}
	}
	if !f.Since.IsZero() {
		text += ", for " + Span(c.Now.Sub(f.Since))
	}
	return Evidence{Signal: f.Signal, Entity: f.Entity, Text: text, Decisive: decisive}
}

// tell is evidence in free words.
func tell(id signals.ID, e signals.Entity, decisive bool, format string, args ...any) Evidence {
	return Evidence{Signal: id, Entity: e, Text: fmt.Sprintf(format, args...), Decisive: decisive}
}

// sizeText writes a size class with its unit: "256M" is 256 MiB, "1G-2G" a
// bucket. Text that is no size stays as it is.
func sizeText(class string) string {
	parts := strings.Split(class, "-")
	for i, p := range parts {
		if !sizePattern.MatchString(p) {
			return class
		}
		number, letter := p[:len(p)-1], p[len(p)-1:]
		if parts[i] = number + " " + letter + "iB"; letter == "B" {
			parts[i] = number + " B"
		}
	}
	return strings.Join(parts, " to ")
}

// sizePattern matches one size as signals writes it.
var sizePattern = regexp.MustCompile(`^[0-9]+(\.[0-9])?[BKMGTPE]$`)

// count writes "1 host" or "3 hosts".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
