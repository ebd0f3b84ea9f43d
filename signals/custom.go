package signals

import "github.com/collwatch/collwatch/promapi"

// addCustom makes rules of the user's own expressions. Each is a query of its
// own, so its series are recognised by the query and not by a metric's name.
func (b *rulebook) addCustom(list []CustomSignal, hostLabels, jobLabels []string) {
	if len(list) == 0 {
		return
	}
	b.dialects = append(b.dialects, Dialect{Name: "custom", Exporter: "custom", About: "expressions of the configuration", Family: "custom", Rank: 1})
	for i := range list {
		d := &list[i]
		c := compiled{
			Rule: Rule{Metric: d.Name, Signal: d.Signal, Scale: d.Scale}, dialect: len(b.dialects) - 1, family: customFamily(d), scale: d.Scale,
			rank: 2, custom: d,
		}
		if d.Signal == None {
			c.Signal = Custom
		}
		if d.Counter || d.Signal == StepCount {
			c.Type = CountingGauge
		}
		if c.scale == 0 {
			c.scale = 1
		}
		c.Kind, c.columns = d.shape(hostLabels, jobLabels)
		b.customs[c.family] = int16(len(b.rules))
		b.rules = append(b.rules, c)
	}
}

func customFamily(d *CustomSignal) string { return "custom " + d.Name }

// shape says what a custom signal is about, by the labels it names.
func (d *CustomSignal) shape(hostLabels, jobLabels []string) (Kind, compiledColumns) {
	one := func(name string, otherwise []string) []string {
		if name == "" {
			return otherwise
		}
		return []string{name}
	}
	col := compiledColumns{
		host: one(d.Host, hostLabels), job: one(d.Job, jobLabels), port: one(d.Port, nil), rank: one(d.Rank, nil),
	}
	switch {
	case d.GPU != "":
		col.device = []string{d.GPU}
		return KindGPU, col
	case d.NIC != "":
		col.device = []string{d.NIC}
		return KindNIC, col
	case d.Switch != "":
		col.device = []string{d.Switch}
		return KindSwitchPort, col
	case d.Rank != "":
		return KindRank, col
	case d.Signal == NodeState && len(col.host) == 0: // a state is that of a host
		col.host = []string{"node", "host", "hostname", "nodename", "Hostname", "instance"}
		return KindHost, col
	case d.Host != "", d.Signal == NodeState:
		return KindHost, col
	}
	col.host = nil
	return KindJob, col
}

// detail names the custom signal, or the part of a canonical one.
func (d *CustomSignal) detail(ls promapi.Labels) string {
	more := ""
	if d.Detail != "" {
		more = clean(ls.Get(d.Detail))
	}
	switch {
	case d.Signal == NodeState && more == "":
		return d.Name // the state itself
	case d.Signal != None:
		return more
	case more != "":
		return d.Name + " " + more
	}
	return d.Name
}
