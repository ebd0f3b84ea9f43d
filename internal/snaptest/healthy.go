package snaptest

import (
	"fmt"
	"strconv"

	"github.com/collwatch/collwatch/signals"
)

// hosts fills every series of every host with its healthy level.
func (c *Cluster) hosts() {
	s := c.Shape
	for i, h := range s.Hosts {
		host := Host(h)
		c.level(signals.HostBootTime, float64(Start().Unix()-86400*30), 0, host)
		c.level(signals.HostCPUPressure, 0.01, 0.3, host)
		c.level(signals.HostIOPressure, 0, 0, host)
		c.level(signals.HostMemPressure, 0, 0, host)
		c.level(signals.HostLoad, 40, 0.1, host)
		c.level(signals.HostOOMKills, 0, 0, host)
		c.level(signals.HostKernel, 1, 0, signals.Entity{Kind: signals.KindHost, Host: h, Detail: "6.8.0-52-generic"})
		for _, exporter := range []string{"node", "dcgm"} {
			c.level(signals.TargetUp, 1, 0, signals.Entity{Kind: signals.KindHost, Host: h, Detail: exporter})
		}
		for _, parent := range []struct {
			kind string
			name func(int) string
		}{{"rack", s.Rack}, {"domain", s.Domain}} {
			if parent.name != nil {
				c.level(signals.HostParent, 1, 0, signals.Entity{Kind: signals.KindHost, Host: h, Detail: parent.kind, Peer: parent.name(i)})
			}
		}
		for k := range s.GPUs {
			c.gpu(GPU(h, k))
		}
		for k, d := range s.NICs {
			c.nic(NIC(h, d), s.Rate, s.Traffic, s.Model)
			if s.Leaf != nil {
				c.level(signals.SwitchLink, 1, 0, signals.Entity{
					Kind: signals.KindSwitchPort, Device: s.Leaf(i, k), Port: strconv.Itoa(i*len(s.NICs) + k + 1), Peer: h + " " + d,
				})
			}
		}
		for _, d := range s.Storage {
			c.nic(NIC(h, d), s.StorageRate, 1e8, "storage")
		}
	}
}

func (c *Cluster) gpu(g signals.Entity) {
	s := c.Shape
	c.level(signals.GPUSMClock, s.Clock, 0.002, g)
	c.level(signals.GPUClockReasons, s.Reasons, 0, g)
	c.level(signals.GPUTemp, s.Temp, 0.02, g)
	c.level(signals.GPUMemTemp, s.Mem, 0.02, g)
	c.level(signals.GPUPower, s.Power, 0.02, g)
	c.level(signals.GPUUtil, 0.99, 0, g)
	c.level(signals.GPUSMActive, s.SM, 0.02, g)
	c.level(signals.GPUTensorActive, s.Tensor, 0.02, g)
	c.level(signals.GPUDRAMActive, s.DRAM, 0.02, g)
	c.level(signals.GPUMemUsed, 71e9, 0, g)
	c.level(signals.GPUXid, 0, 0, g)
	c.level(signals.GPUPCIeGen, 5, 0, g)
	c.level(signals.GPUPCIeWidth, 16, 0, g)
	c.level(signals.GPUPCIeReplays, 0, 0, g)
	c.level(signals.GPURowRemapFailure, 0, 0, g)
	c.level(signals.InspectorAge, 10, 0.3, g)
}

func (c *Cluster) nic(n signals.Entity, rate, traffic float64, model string) {
	c.level(signals.NICState, 4, 0, n)
	c.level(signals.NICPhysState, 5, 0, n)
	c.level(signals.NICRate, rate, 0, n)
	c.level(signals.NICTx, traffic, 0.02, n)
	c.level(signals.NICRx, traffic, 0.02, n)
	if model != "" {
		m := n
		m.Detail = model
		c.level(signals.NICModel, 1, 0, m)
	}
	flat := []signals.ID{signals.NICLinkDowned, signals.NICSymbolErrors, signals.NICRxErrors, signals.NICLinkRecovery}
	switch c.Shape.Fabric {
	case "ib":
		c.level(signals.NICTransmitWait, 2e5, 0.4, n)
		flat = append(flat, signals.NICLinkIntegrity)
	case "roce":
		flat = append(flat, signals.NICCarrierDown, signals.NICSeqErrors, signals.NICAckTimeouts, signals.NICRetransmits, signals.NICPauseTx, signals.NICPCIeStall)
		c.level(signals.NICOutOfSequence, 0.02, 0.5, n)
		c.level(signals.NICECNReceived, 150, 0.5, n)
		c.level(signals.NICCNPSent, 120, 0.5, n)
		c.level(signals.NICCNPHandled, 120, 0.5, n)
		c.level(signals.NICPauseRx, 0.001, 0.3, n)
	case "efa":
		flat = []signals.ID{signals.NICRemoteUnresponsive, signals.NICAckTimeouts}
		c.level(signals.NICRetransmitBytes, traffic*1e-5, 0.3, n)
	}
	for _, id := range flat {
		c.level(id, 0, 0, n)
	}
}

func (c *Cluster) level(id signals.ID, v, noise float64, e signals.Entity) {
	l := c.at(id, e)
	l.value, l.noise = v, noise
}

// AddJob starts a job on the first gpus GPUs of each of the hosts, with its
// communicators and their healthy levels.
func (c *Cluster) AddJob(id string, hosts []string, gpus int) *signals.Job {
	j := &signals.Job{ID: id, Hosts: hosts, FirstSeen: c.Now, LastSeen: c.Now, Placed: true}
	for _, h := range hosts {
		for k := range gpus {
			j.GPUs = append(j.GPUs, GPU(h, k))
		}
		c.level(signals.JobOnNode, 1, 0, signals.Entity{Kind: signals.KindJob, Job: id, Host: h})
	}
	c.Jobs = append(c.Jobs, j)
	if c.Shape.World {
		c.group(id, "world", signals.GroupWorld, j.GPUs, len(hosts), "AllGather", c.Shape.Bandwidth, c.Shape.ExecTime)
		return j
	}
	for k := range gpus {
		var members []signals.Entity
		for _, h := range hosts {
			members = append(members, GPU(h, k))
		}
		c.group(id, fmt.Sprintf("dp%d", k), signals.GroupData, members, len(hosts), "AllReduce", c.Shape.Bandwidth, c.Shape.ExecTime)
	}
	for i, h := range hosts {
		c.group(id, "tp-"+h, signals.GroupTensor, j.GPUs[i*gpus:(i+1)*gpus], 1, "AllReduce", c.Shape.NVLink, 650e-6)
	}
	return j
}

func (c *Cluster) group(job, name string, kind signals.GroupKind, members []signals.Entity, nodes int, op string, bw, exec float64) {
	g := &signals.Group{
		ID: job + "/" + name, Job: job, Comm: name, Kind: kind, NRanks: int32(len(members)), NNodes: int32(nodes),
		Members: members, Derived: signals.DerivedGuess, Whole: true,
	}
	c.Groups = append(c.Groups, g)
	for _, m := range members {
		e := Comm(g, m, op)
		c.level(signals.CollBusBandwidth, bw, 0.02, e)
		c.level(signals.CollExecTime, exec, 0.02, e)
		c.groupOf[e] = int32(len(c.Groups) - 1)
	}
}

// Comm is the entity of a member of a communicator.
func Comm(g *signals.Group, member signals.Entity, op string) signals.Entity {
	algo := "ring_simple"
	if g.NNodes == 1 {
		algo = "nvls_simple"
	}
	return signals.Entity{
		Kind: signals.KindComm, Host: member.Host, Device: member.Device, Job: g.Job, Op: op, Size: "128M-256M", Algo: algo,
		NRanks: g.NRanks, NNodes: g.NNodes,
	}
}

// SlowGroups makes the groups for which keep is true work at a part of their healthy
// bandwidth, on all members alike, as a slow link does.
func (c *Cluster) SlowGroups(factor float64, keep func(*signals.Group) bool) {
	for e, i := range c.groupOf {
		if keep(c.Groups[i]) {
			c.series[signals.CollBusBandwidth][e].value *= factor
			c.series[signals.CollExecTime][e].value /= factor
		}
	}
}

// End ends a job: its relation is gone, its GPUs are free. Its communicator
// series stay where they are.
func (c *Cluster) End(id string) {
	for _, j := range c.Jobs {
		if j.ID != id {
			continue
		}
		j.Ended = true
		for _, h := range j.Hosts {
			c.Gone(signals.JobOnNode, signals.Entity{Kind: signals.KindJob, Job: id, Host: h})
		}
	}
}
