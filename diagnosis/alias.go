package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/collwatch/collwatch/detectors"
	"github.com/collwatch/collwatch/signals"
)

// aliases maps network devices to the RDMA devices of the same cards. Exporters
// on RoCE name some counters after the netdev ("ens5f0np0") and others after
// the RDMA device ("mlx5_4"); a card must have one name, or one fault becomes
// two. Where the PCI address tells, the reader has joined them already. Where it
// does not, and a host has as many of the one as of the other, they go in the
// order of their PCI addresses or names.
type aliases struct {
	of   map[signals.Entity]signals.Entity
	done map[string]bool // hosts
}

func newAliases() *aliases {
	return &aliases{of: map[signals.Entity]signals.Entity{}, done: map[string]bool{}}
}

// learn looks at the hosts of findings about devices that the fabric does not
// know.
func (c *Case) learnAliases() {
	a := c.memory.aliases
	for i := range c.Report.Findings {
		e := c.Report.Findings[i].Entity
		if e.Kind != signals.KindNIC || a.done[e.Host] || c.Fabric.Port(e.Host, e.Device) != nil || !ethtoolCode(c.Report.Findings[i].Code) {
			continue
		}
		c.aliasHost(e.Host)
	}
}

// ethtoolCode says whether a counter may come from an exporter that names
// netdevs.
func ethtoolCode(code string) bool {
	switch code {
	case detectors.CodePauseTx, detectors.CodePauseRx, detectors.CodePCIeStall, detectors.CodeDiscards, detectors.CodeBitErrors, detectors.CodeLinkDowned:
		return true
	}
	return false
}

func (c *Case) aliasHost(host string) {
	var cards []string
	for _, p := range c.Fabric.Ports(host) {
		if p.Compute {
			cards = append(cards, p.Device)
		}
	}
	pci := map[string]string{}
	for _, id := range []signals.ID{signals.NICPauseTx, signals.NICPauseRx, signals.NICPCIeStall, signals.NICPath} {
		f := c.Snapshot.Frames[id]
		for i := range f.Len() {
			e := c.Snapshot.Entities.Of(f.Entity[i])
			if e.Kind != signals.KindNIC || e.Host != host || c.Fabric.Port(host, e.Device) != nil {
				continue
			}
			if id == signals.NICPath {
				if _, ok := pci[e.Device]; ok {
					pci[e.Device] = e.Detail
				}
			} else if _, ok := pci[e.Device]; !ok {
				pci[e.Device] = ""
			}
		}
	}
	if len(cards) == 0 || len(pci) == 0 {
		return // a later tick may tell more
	}
	a := c.memory.aliases
	a.done[host] = true
	if len(cards) != len(pci) {
		return
	}
	devs := make([]string, 0, len(pci))
	for d := range pci {
		devs = append(devs, d)
	}
	slices.SortFunc(devs, func(x, y string) int {
		return cmp.Or(strings.Compare(pci[x], pci[y]), len(x)-len(y), strings.Compare(x, y))
	})
	for i, d := range devs {
		a.of[nicEntity(host, d)] = nicEntity(host, cards[i])
	}
}
