package exporter

import dto "github.com/prometheus/client_model/go"

// Samples is what a Source adds to: the same metrics under the same limits as the plugin's. A source that knows less
// serves fewer metrics; it never serves a zero for what it cannot see.
type Samples struct{ b *builder }

// RankLabels identify one rank of one communicator. Empty values are left out.
type RankLabels struct {
	JobID, Node, GPU, Rank, Comm, CommName, NRanks, NNodes string
}

// rank claims a label set; ok is false if another source has it already or the limit on series is reached.
func (s *Samples) rank(l RankLabels) (labels []*dto.LabelPair, ok bool) {
	node := l.Node
	if node == "" {
		node = s.b.node
	}
	labels = with(nil, "job_id", l.JobID, "node", node, "gpu", l.GPU, "rank", l.Rank, "comm", l.Comm, "comm_name", l.CommName,
		"nranks", l.NRanks, "n_nodes", l.NNodes)
	if s.b.out.series+100 > s.b.limits.Series {
		s.b.capped++
		return nil, false
	}
	return labels, !s.b.take(labels, "comm")
}
