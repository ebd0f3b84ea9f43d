package sim

import (
	"fmt"
	"math"
	"strconv"
)

type portRefs struct{ wait, symbol, info, rate, octets ref }

// addSwitches adds the scrape target of the switch exporter: one for the whole
// InfiniBand fabric, one per Ethernet switch.
func (c *Cluster) addSwitches(phase, interval int64) {
	if c.opt.Dialect.Switches == "cumulus" {
		for i, l := range c.Leaves {
			t := &target{c: c, kind: "switch " + l.Name, job: "switch", instance: c.opt.Dialect.instance("otel-collector", strconv.Itoa(8889+i)), interval: interval}
			t.emit = func(t *target, now int64) { c.emitCumulus(t, l, now) }
			c.switches = append(c.switches, t)
			c.add(t, phase)
		}
		return
	}
	t := &target{c: c, kind: "switches", job: "infiniband", instance: c.opt.Dialect.instance("ufm", "9315"), interval: interval, emit: c.emitInfiniband}
	c.switches = append(c.switches, t)
	c.add(t, phase)
}

func guid(kind, i, k int) string { return fmt.Sprintf("0xb8%02x%04x%06x", kind, i, k) }

// emitInfiniband is treydock's exporter for all leaves.
func (c *Cluster) emitInfiniband(t *target, now int64) {
	for _, h := range c.Hosts {
		for _, n := range h.NICs {
			if n.leaf == nil {
				continue
			}
			n.advance(now)
			leaf := n.leaf.Name
			if n.CurrentLeaf != "" {
				leaf = n.CurrentLeaf
			}
			name := n.uplinkName
			if name == "" {
				name = h.Name + " " + n.Name
			}
			r := &n.portRefs
			port := c.shape.leafPort(h.Index, n.Index)
			g := guid(1, n.leaf.Index, 0)
			if n.State == 4 {
				if r.info == 0 {
					t.put(&r.info, 1, "infiniband_switch_uplink_info", "guid", g, "port", port, "switch", leaf, "uplink", name,
						"uplink_guid", guid(2, h.Index, n.Index), "uplink_type", "CA", "uplink_port", "1", "uplink_lid", strconv.Itoa(100+h.Index*16+n.Index))
				} else {
					t.put(&r.info, 1, "")
				}
			}
			t.put(&r.wait, math.Floor(n.switchCounts[0]), "infiniband_switch_port_transmit_wait_total", "guid", g, "port", port, "switch", leaf)
			t.put(&r.symbol, n.switchCounts[1], "infiniband_switch_port_symbol_error_total", "guid", g, "port", port, "switch", leaf)
			t.put(&r.rate, n.Rate, "infiniband_switch_port_rate_bytes_per_second", "guid", g, "port", port, "switch", leaf)
		}
	}
	for _, l := range c.Leaves {
		l.emitUplinks(t)
	}
}

// ibUplinks is the number of links of an InfiniBand leaf towards its spines.
const ibUplinks = 32

func (l *Leaf) emitUplinks(t *target) {
	if l.refs == nil {
		l.refs = make([]ref, ibUplinks)
	}
	for u := range ibUplinks - l.Missing {
		if l.refs[u] == 0 {
			t.put(&l.refs[u], 1, "infiniband_switch_uplink_info", "guid", guid(1, l.Index, 0), "port", strconv.Itoa(33+u), "switch", l.Name,
				"uplink", fmt.Sprintf("spine-%d", u%max(1, len(l.Uplinks))+1), "uplink_guid", guid(3, u%max(1, len(l.Uplinks)), 0), "uplink_type", "SW",
				"uplink_port", strconv.Itoa(l.Index+1), "uplink_lid", strconv.Itoa(10+u%4))
			continue
		}
		t.put(&l.refs[u], 1, "")
	}
}

// emitCumulus is the telemetry of one Ethernet leaf: gauges that count.
func (c *Cluster) emitCumulus(t *target, l *Leaf, now int64) {
	below := 0.0
	for _, h := range c.Hosts {
		for _, n := range h.NICs {
			if n.leaf != l {
				continue
			}
			n.advance(now)
			port := c.shape.leafPort(h.Index, n.Index)
			t.put(&n.portRefs.octets, math.Floor(n.bytes(now)), "nvswitch_interface_if_out_octets", "net_host_name", l.Name, "interface", port, "peer", h.Name)
			t.put(&n.portRefs.wait, math.Floor(n.counts[cXmitDiscards]), "nvswitch_interface_discards_egress_hoq", "net_host_name", l.Name, "interface", port, "peer", h.Name)
			if j := h.job; j != nil && j.phase == jobTraining && j.stepEnd > j.stepStart {
				below += n.perStep / (float64(j.stepEnd-j.stepStart) / 1000)
			}
		}
	}
	// A ring leaves the switch once per channel, so the uplinks carry a part of
	// what the hosts below send.
	even := below / float64(c.shape.HostsPerLeaf) / float64(max(1, len(l.Uplinks)))
	rng := stream(c.opt.Seed, l.Name+strconv.FormatInt(now, 10))
	for u := range l.Uplinks {
		up := &l.Uplinks[u]
		dt := float64(now-up.at) / 1000
		up.at = now
		rate := even
		if up.Rate > 0 {
			rate = up.Rate
		}
		up.octets += rate * dt * factor(rng, 0.05)
		up.marks += up.Marked * dt * factor(rng, 0.3)
		port := fmt.Sprintf("swp%d", 49+u)
		peer := fmt.Sprintf("spine-%d", u+1)
		t.put(&up.refs[0], math.Floor(up.octets), "nvswitch_interface_if_out_octets", "net_host_name", l.Name, "interface", port, "peer", peer)
		t.put(&up.refs[1], math.Floor(up.marks), "nvswitch_interface_performance_marked_packets", "net_host_name", l.Name, "interface", port, "peer", peer)
		t.put(&up.refs[2], 1, "nvswitch_interface_oper_state", "net_host_name", l.Name, "interface", port, "peer", peer)
	}
}
