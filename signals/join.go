package signals

// Join says what a series contributes to the relations between things, apart
// from its value.
type Join uint8

// The joins.
const (
	JoinNone       Join = iota
	JoinUname           // instance to host name
	JoinBoot            // boot time of a host: counters start again
	JoinUp              // state of a target
	JoinFile            // mtime of a textfile
	JoinHeartbeat       // time of the last event of a process
	JoinNetdev          // network device or PCI address to NIC
	JoinJobNode         // a job runs on a host
	JoinJobInfo         // name, user, partition of a job
	JoinNodeState       // drained, in maintenance, down
	JoinPodNode         // a pod runs on a node
	JoinPodJob          // a pod belongs to a job
	JoinNodeLabels      // what a node hangs below
	JoinCable           // the far end of a switch port, from labels
	JoinGPUJob          // a job runs on a GPU
	JoinProcess         // a process has a GPU
)

// maxTable bounds each table of names that is filled from labels.
const maxTable = 1 << 18

// identity knows that several names mean one thing. It grows while series are
// bound to entities; when something bound earlier would now be bound
// otherwise, epoch rises and everything is bound again.
type identity struct {
	epoch      uint32
	keepDomain bool

	host  aliases              // canonical name, address or pod -> host
	nic   map[[2]string]string // host and netdev or PCI address -> NIC
	gpu   map[string][2]string // UUID -> host, device
	local map[string][2]string // UUID -> host, device by local rank, if nothing better is known
	index map[[3]string]string // host, job, ordinal or pid -> device

	// members are the processes of communicators by id and rank, kept only
	// where RAS, which knows nothing else of a process, asks for them.
	members     map[memberKey]memberPlace
	wantMembers bool

	nicAsked   map[[2]string]string
	gpuAsked   map[string]bool
	indexAsked map[[3]string]bool
}

func newIdentity() *identity {
	return &identity{
		epoch: 1,
		host:  aliases{to: map[string]string{}, asked: map[string]string{}},
		nic:   map[[2]string]string{}, gpu: map[string][2]string{}, local: map[string][2]string{}, index: map[[3]string]string{},
		members: map[memberKey]memberPlace{}, nicAsked: map[[2]string]string{}, gpuAsked: map[string]bool{}, indexAsked: map[[3]string]bool{},
	}
}

// aliases maps names of hosts to the one name. Names with contradicting
// targets (every agent calls itself localhost) lead nowhere.
type aliases struct {
	to    map[string]string
	asked map[string]string // names asked for, with the answer given
}

const ambiguous = "\x00"

// learnHost notes that name is another name of host. Later contradictions of
// a name that the same relation gave before make it ambiguous only if both
// are claimed at once, which the caller knows.
func (d *identity) learnHost(name, host string) {
	name, host = d.canonical(name), d.canonical(host)
	if name == "" || host == "" || name == host || d.host.to[name] == host {
		return
	}
	if len(d.host.to) >= maxTable {
		return
	}
	d.host.to[name] = host
	d.recheckHost(name)
}

// ambiguousHost notes that name stands for several hosts.
func (d *identity) ambiguousHost(name string) {
	name = d.canonical(name)
	if d.host.to[name] != ambiguous {
		d.host.to[name] = ambiguous
		d.recheckHost(name)
	}
}

// canonical normalises a host name, with or without its domain.
func (d *identity) canonical(s string) string {
	if d.keepDomain {
		return hostWithDomain(s)
	}
	return CanonicalHost(s)
}

func (d *identity) recheckHost(name string) {
	if was, ok := d.host.asked[name]; ok && was != d.lookup(name) {
		d.host.asked[name] = d.lookup(name)
		d.epoch++
	}
}

// lookup follows at most two aliases: address to node, node to its own name.
func (d *identity) lookup(name string) string {
	for range 2 {
		next, ok := d.host.to[name]
		if !ok {
			break
		}
		if next == ambiguous {
			return ""
		}
		name = next
	}
	return name
}

// hostOf returns the host that a label value means, "" if that is unclear.
func (d *identity) hostOf(raw string) string {
	name := d.canonical(raw)
	if name == "" {
		return ""
	}
	host := d.lookup(name)
	if _, ok := d.host.asked[name]; !ok && len(d.host.asked) < maxTable {
		d.host.asked[name] = host
	}
	return host
}

// learnNIC notes that a network device or PCI address of host is a NIC.
func (d *identity) learnNIC(host, alias, device string) {
	k := [2]string{host, alias}
	if alias == "" || device == "" || alias == device || d.nic[k] == device || len(d.nic) >= maxTable {
		return
	}
	d.nic[k] = device
	if was, ok := d.nicAsked[k]; ok && was != device {
		d.nicAsked[k] = device
		d.epoch++
	}
}

// nicOf returns the NIC that a network device belongs to, or the device
// itself.
func (d *identity) nicOf(host, device string) string {
	k := [2]string{host, device}
	out := device
	if to, ok := d.nic[k]; ok {
		out = to
	}
	if _, ok := d.nicAsked[k]; !ok && len(d.nicAsked) < maxTable {
		d.nicAsked[k] = out
	}
	return out
}

// learnGPU notes where the GPU with a UUID sits.
func (d *identity) learnGPU(uuid, host, device string) {
	if uuid == "" || host == "" || device == "" || d.gpu[uuid] == [2]string{host, device} || len(d.gpu) >= maxTable {
		return
	}
	d.gpu[uuid] = [2]string{host, device}
	if d.gpuAsked[uuid] {
		d.epoch++
	}
}

// learnLocal notes where a process says that its GPU sits. Launchers give local
// ranks in the order of the GPUs, so it is right unless devices are hidden.
func (d *identity) learnLocal(uuid, host, device string) {
	if uuid == "" || host == "" || d.local[uuid] == [2]string{host, device} || len(d.local) >= maxTable {
		return
	}
	d.local[uuid] = [2]string{host, device}
	if _, better := d.gpu[uuid]; d.gpuAsked[uuid] && !better {
		d.epoch++
	}
}

// gpuOf returns host and device of a UUID.
func (d *identity) gpuOf(uuid string) (host, device string, ok bool) {
	at, ok := d.gpu[uuid]
	if !ok {
		at, ok = d.local[uuid]
	}
	if len(d.gpuAsked) < maxTable {
		d.gpuAsked[uuid] = true
	}
	return at[0], at[1], ok
}

// learnIndex notes which device an ordinal inside a job's process, or a
// process, really is.
func (d *identity) learnIndex(host, job, name, device string) {
	k := [3]string{host, job, name}
	if d.index[k] == device || len(d.index) >= maxTable {
		return
	}
	d.index[k] = device
	if d.indexAsked[k] {
		d.epoch++
	}
}

// hasIndex says whether a device was learned for an ordinal.
func (d *identity) hasIndex(host, job, name string) bool {
	_, ok := d.index[[3]string{host, job, name}]
	return ok
}

func (d *identity) indexOf(host, job, name string) string {
	k := [3]string{host, job, name}
	if len(d.indexAsked) < maxTable {
		d.indexAsked[k] = true
	}
	if to, ok := d.index[k]; ok {
		return to
	}
	return name
}
