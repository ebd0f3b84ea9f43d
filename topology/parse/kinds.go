package parse

import (
	"fmt"
	"slices"
)

// Kind says what a text is and how far it is to be trusted.
type Kind struct {
	Name  string
	Parse func(Source) (*Facts, error)
	// Trust orders sources that disagree about one fact: measurements of the
	// fabric beat labels, and these beat files that somebody wrote.
	Trust int
	// PerHost says that a text is about one host, which it does not name.
	PerHost bool
}

// Trust of sources that are no files.
const (
	TrustSeries = 50 // uplink records of switch exporters
	TrustLabels = 30 // node labels
)

// Kinds lists all kinds of files.
func Kinds() []Kind {
	return []Kind{
		{Name: "slurm_conf", Parse: SlurmConf, Trust: 20},
		{Name: "slurm_yaml", Parse: SlurmYAML, Trust: 20},
		{Name: "topograph", Parse: Topograph, Trust: 25},
		{Name: "node_labels", Parse: NodeLabels, Trust: TrustLabels},
		{Name: "ibnetdiscover", Parse: IBNetDiscover, Trust: 40},
		{Name: "iblinkinfo", Parse: IBLinkInfo, Trust: 45},
		{Name: "nccl_topo", Parse: NCCLTopo, Trust: 35, PerHost: true},
		{Name: "nccl_graph", Parse: NCCLGraph, Trust: 35, PerHost: true},
		{Name: "nvidia_smi_topo", Parse: NvidiaSMITopo, Trust: 36, PerHost: true},
		{Name: "nvidia_smi_fabric", Parse: NvidiaSMIFabric, Trust: 36, PerHost: true},
		{Name: "csv", Parse: CSV, Trust: 15},
	}
}

// KindOf finds a kind by its name.
func KindOf(name string) (Kind, error) {
	all := Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, fmt.Errorf("unknown kind of topology file %q", name)
	}
	return all[i], nil
}
