package optrace

import (
	"cmp"
	"slices"
	"time"

	"github.com/collwatch/collwatch/signals"
)

// JobID is the id of the job of every trace.
const JobID = "71001"

// build makes the job and its groups.
func (p *player) build() {
	p.groupOf = map[string]int32{}
	p.job = &signals.Job{ID: JobID, FirstSeen: Begin(), Placed: true}
	add := func(name string, kind signals.GroupKind, w Worker, size int) {
		if name == "" {
			return
		}
		i, ok := p.groupOf[name]
		if !ok {
			i = int32(len(p.groups))
			p.groupOf[name] = i
			g := &signals.Group{ID: JobID + "/" + name, Job: JobID, Comm: name, Kind: kind, Derived: signals.DerivedName, NRanks: int32(size)}
			if p.RankMap {
				g.Derived = signals.DerivedRankMap
				switch kind {
				case signals.GroupData:
					g.Stage = int32(w.Stage + 1)
				case signals.GroupPipeline:
					g.Replica = int32(w.Replica + 1)
				}
			}
			p.groups = append(p.groups, g)
		}
		p.groups[i].Members = append(p.groups[i].Members, p.gpu(w))
	}
	stages, replicas := 0, 0
	for _, w := range p.t.Workers {
		stages, replicas = max(stages, w.Stage+1), max(replicas, w.Replica+1)
	}
	for _, w := range p.t.Workers {
		p.job.GPUs = append(p.job.GPUs, p.gpu(w))
		p.job.Hosts = append(p.job.Hosts, p.gpu(w).Host)
		add(w.Data, signals.GroupData, w, replicas)
		add(w.Pipe, signals.GroupPipeline, w, stages)
		add(w.Embed, signals.GroupEmbed, w, 2)
		add(w.Tensor, signals.GroupTensor, w, p.t.TensorSize)
	}
	slices.Sort(p.job.Hosts)
	p.job.Hosts = slices.Compact(p.job.Hosts)
	for _, g := range p.groups {
		g.Whole = len(g.Members) == int(g.NRanks)
		slices.SortFunc(g.Members, func(a, b signals.Entity) int {
			return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device))
		})
		hosts := map[string]bool{}
		for _, m := range g.Members {
			hosts[m.Host] = true
		}
		g.NNodes = int32(len(hosts))
	}
}

func (p *player) gpu(w Worker) signals.Entity {
	host := w.Host
	if p.Rename != nil {
		host = p.Rename(host)
	}
	return signals.Entity{Kind: signals.KindGPU, Host: host, Device: w.GPU}
}

// sizeOf is an invented size class: one for each kind of operation.
var sizeOf = map[string]string{
	"ReduceScatter": "1G-2G", "AllGather": "512M-1G", "AllReduce": "128M-256M", "Send": "8M-16M", "Recv": "8M-16M",
}

// snapshot is what a reader sees at now: the newest content of every file, and
// the age of the file. A file without news is still there.
func (p *player) snapshot(now time.Duration) *signals.Snapshot {
	at := Begin().Add(now)
	s := &signals.Snapshot{
		Time: at, Entities: p.entities, Generation: 1, Groups: p.groups, GroupOf: map[signals.EntityID]int32{},
		Jobs: []*signals.Job{p.job},
	}
	p.job.LastSeen = at
	coll := &signals.Frame{Signal: signals.CollExecTime}
	p2p := &signals.Frame{Signal: signals.P2PExecTime}
	age := &signals.Frame{Signal: signals.InspectorAge}
	scraped := now.Truncate(p.Scrape)
	row := func(f *signals.Frame, e signals.Entity, v float64) signals.EntityID {
		id := p.entities.Intern(e)
		f.Entity = append(f.Entity, id)
		f.Value = append(f.Value, v)
		f.Stamp = append(f.Stamp, Begin().Add(scraped).UnixMilli())
		f.Dialect = append(f.Dialect, 0)
		return id
	}
	for i, w := range p.t.Workers {
		file := &p.file[i]
		if file.at == 0 {
			continue
		}
		gpu := p.gpu(w)
		row(age, gpu, (scraped - file.at).Seconds())
		keys := make([]seriesKey, 0, len(file.values))
		for k := range file.values {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b seriesKey) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.op, b.op)) })
		for _, k := range keys {
			g := p.groups[p.groupOf[k.group]]
			f := coll
			if k.op == "Send" || k.op == "Recv" {
				f = p2p
			}
			id := row(f, signals.Entity{
				Kind: signals.KindComm, Host: gpu.Host, Device: gpu.Device, Job: JobID, Comm: k.group, Op: k.op,
				Size: sizeOf[k.op], Algo: "ring_simple", NRanks: g.NRanks, NNodes: g.NNodes,
			}, file.values[k])
			s.GroupOf[id] = p.groupOf[k.group]
		}
	}
	s.Frames[signals.CollExecTime], s.Frames[signals.P2PExecTime], s.Frames[signals.InspectorAge] = coll, p2p, age
	return s
}
