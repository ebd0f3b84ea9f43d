package signals

import (
	"slices"
	"strings"
	"unicode"
)

// kindOf decides what a communicator is used for: by the operations seen on
// it, by its shape against that of the job, and by its name only where these
// leave a choice.
func kindOf(k commKey, c *comm, s *jobShape) GroupKind {
	word := wordKind(k.comm)
	reduces := c.ops["ReduceScatter"] || c.ops["AllGather"]
	p2p := c.ops["Send"] || c.ops["Recv"] || c.ops["SendRecv"]
	inside := k.nnodes == 1 && s.hosts > 1
	switch {
	case word == GroupEmbed || word == GroupTensor && !p2p:
		return word
	case p2p && !reduces && !c.ops["AllReduce"]:
		return GroupPipeline
	case k.nranks > 0 && int(k.nranks) == len(s.members) && k.nranks == s.longest && s.hosts > 1 && int(k.nnodes) <= s.hosts:
		return GroupWorld
	case inside && (s.perHost == 0 || int(k.nranks) <= s.perHost):
		// Inside a host of a job of several hosts: tensor or expert parallel,
		// unless the name says otherwise.
		if word != GroupUnknown {
			return word
		}
		return GroupTensor
	case inside && int(k.nranks) > s.perHost: // an NVLink domain of several hosts
		if word != GroupUnknown {
			return word
		}
		return GroupTensor
	case reduces:
		return GroupData
	case word == GroupData || word == GroupPipeline:
		return word
	case c.ops["AllReduce"] && s.pipeline && len(c.members) < len(s.members):
		// With pipeline stages, an AllReduce of some of the GPUs may mix first
		// and last stage.
		return GroupUnknown
	case c.ops["AllReduce"]:
		return GroupData
	}
	return word
}

// wordKind reads the name that a framework gave. Words are looked for as
// whole words, so that "input" is not "pp".
func wordKind(name string) GroupKind {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	has := func(list ...string) bool {
		for _, w := range words {
			if slices.Contains(list, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("embedding", "embeddings", "embed", "embd"):
		return GroupEmbed
	case has("tp", "tensor", "sp", "ep", "expert", "experts", "moe", "mp"):
		return GroupTensor
	case has("pp", "pipeline", "pipe"):
		return GroupPipeline
	case has("dp", "data", "fsdp", "ddp", "zero", "hsdp", "shard", "replicate"):
		return GroupData
	case has("world", "global"):
		return GroupWorld
	}
	return GroupUnknown
}

// split finds the groups behind one key. A communicator id makes one group. A
// name or its absence may stand for many: they are told apart only where
// nranks, n_nodes, hosts and GPUs leave a single way to do it.
func split(k commKey, c *comm, kind GroupKind) []part {
	whole := func(d Derivation) []part { return []part{{Group: Group{Kind: kind, Derived: d}}} }
	named := k.comm != "" && !strings.EqualFold(k.comm, "unknown")
	n, nodes := int(k.nranks), int(k.nnodes)
	per := map[string]int{}
	for m := range c.members {
		per[m.Host]++
	}
	hosts, members := len(per), len(c.members)
	most := 0
	for _, v := range per {
		most = max(most, v)
	}
	switch {
	case k.byID:
		return whole(DerivedLabel)
	case n == 0:
		return whole(DerivedNot)
	case named && members <= n && (nodes == 0 || hosts <= nodes):
		return whole(DerivedName)
	case members == n && (hosts == nodes || nodes == 0 || hosts > nodes && nodes*most < n):
		return whole(DerivedGuess) // everything seen is one group
	case nodes == 1 && n == most && everyHost(per, n):
		return perHost(per, kind)
	case n == nodes && (hosts == nodes || hosts < nodes && !named):
		if devices, ok := sameDevices(c.members, per); ok {
			return perDevice(devices, kind)
		}
	}
	return whole(DerivedNot)
}

func everyHost(per map[string]int, n int) bool {
	for _, v := range per {
		if v != n {
			return false
		}
	}
	return true
}

// perHost makes one group of each host.
func perHost(per map[string]int, kind GroupKind) []part {
	var out []part
	for _, h := range sortedKeys(per) {
		out = append(out, part{Group: Group{Kind: kind, Derived: DerivedGuess}, suffix: h, has: func(e Entity) bool { return e.Host == h }})
	}
	return out
}

// perDevice makes one group of each GPU index over the hosts.
func perDevice(devices []string, kind GroupKind) []part {
	var out []part
	for _, d := range devices {
		out = append(out, part{Group: Group{Kind: kind, Derived: DerivedGuess}, suffix: d, has: func(e Entity) bool { return e.Device == d }})
	}
	return out
}

// sameDevices says that the hosts use the same GPUs, and which. A host with
// GPUs missing does not contradict, one with others does.
func sameDevices(members map[Entity]bool, per map[string]int) ([]string, bool) {
	count := map[string]int{}
	for m := range members {
		if m.Device == "" {
			return nil, false
		}
		count[m.Device]++
	}
	for _, v := range count {
		if 2*v < len(per) { // most hosts do not have it
			return nil, false
		}
	}
	return sortedKeys(count), len(count) > 0
}
