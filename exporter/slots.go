package exporter

import (
	"io"
	"slices"
)

func readKeys(b []byte) []Key {
	var keys []Key
	for i := range keySlots {
		s := b[i*keySize : (i+1)*keySize]
		k := u32(s, 0)
		if k&keyUsed == 0 {
			continue
		}
		key := Key{
			Op: opNames[k&(funcs-1)], SizeExp: int(k >> 5 & 63), Algo: word(algoNames, int(k>>11&31)),
			Proto: word(protoNames, int(k>>16&7)), CPU: k&keyCPU != 0,
			Enqueued: u64(s, keyEnqueued), Started: u64(s, keyStarted), Completed: u64(s, keyCompleted),
			Bytes: u64(s, keyBytes) + u64(s, keyUntrackedBytes), BusyNs: u64(s, keyBusyNs), BandwidthKBSum: u64(s, keyBwSum),
		}
		if k>>11&31 == algoP2P {
			key.Proto = ""
		}
		for j := range durBuckets {
			key.Durations[j] = u64(s, keyDur+8*j)
		}
		for j := range bwBuckets {
			key.Bandwidths[j] = u64(s, keyBw+8*j)
		}
		keys = append(keys, key)
	}
	return keys
}

// stateOf says where an operation is. ok is false if it looks complete and only waits for the proof of it.
func stateOf(counts uint64) (state string, ok bool) {
	started, finished, expected := counts&0xffff, counts>>16&0xffff, counts>>32&0xffff
	switch {
	case started == 0:
		return stateQueued, true
	case expected == 0:
		return stateRunning, started > finished
	case started < expected:
		return statePartial, true
	default:
		return stateRunning, true
	}
}

// readOps sums up the operations in flight. Tags are read a second time after everything else: an operation whose tag is
// the same in both was there all the while, and its other words are its own.
func (r *reader) readOps(f io.ReaderAt, at int64, c *Comm) error {
	ops := r.comm[commOps:commProxies]
	live := false
	for i := range opSlots {
		if ops[i*opSize] == tagLive {
			live = true
			break
		}
	}
	if !live {
		return nil
	}
	if _, err := f.ReadAt(r.tags, at+commOps); err != nil {
		return err
	}
	var found []Inflight
	var groups []uint16
	begun := false
	for i := range opSlots {
		s := ops[i*opSize : (i+1)*opSize]
		tag := u64(s, 0)
		if byte(tag) != tagLive || tag != u64(r.tags, i*opSize) {
			continue
		}
		state, ok := stateOf(u64(s, opCounts))
		if !ok {
			continue
		}
		key := u64(s, opKeyBytes) >> 48
		if key >= keySlots {
			continue
		}
		k := u32(r.comm, commKeys+int(key)*keySize)
		in := Inflight{
			Op: opNames[k&(funcs-1)], State: state, Count: 1, OldestNs: int64(u64(s, opEnqueueNs)), OldestSeq: u64(s, opSeq),
			P2P: k>>11&31 == algoP2P,
		}
		if state != stateQueued {
			in.OldestNs, begun = int64(u64(s, opStartNs)), true
		}
		found, groups = append(found, in), append(groups, uint16(u64(s, opCounts)>>48))
	}
	done, some := lastGroup(ops)
	for i, in := range found {
		ended := some && int16(done-groups[i]) >= 0
		if in.P2P && in.State == stateQueued && (in.OldestSeq == uint64(c.Rank) || (ended && !begun)) {
			continue // NCCL may have told nothing about it: see lastGroup
		}
		c.add(in)
	}
	return nil
}

// lastGroup returns the group of the operation that was enqueued last among those that have ended.
//
// It serves to leave out what NCCL never reports. NCCL fuses a send and a receive into one work item and copies to oneself without the network, and then may
// report no kernel for one of them. Such an operation looks queued for ever. It is not shown if it is a copy to oneself,
// or if others of its group or of later ones have ended and nothing of the communicator is on the GPU: a P2P that hangs
// has begun, or stands behind one that has.
func lastGroup(ops []byte) (group uint16, ok bool) {
	var last uint64
	for i := range opSlots {
		s := ops[i*opSize:]
		if tag := u64(s, 0); byte(tag) == tagDone && tag >= last {
			last, group, ok = tag, uint16(u64(s, opCounts)>>48), true
		}
	}
	return group, ok
}

func (c *Comm) add(in Inflight) {
	i := slices.IndexFunc(c.Inflight, func(x Inflight) bool { return x.Op == in.Op && x.State == in.State && x.P2P == in.P2P })
	if i < 0 {
		c.Inflight = append(c.Inflight, in)
		return
	}
	x := &c.Inflight[i]
	x.Count++
	if in.OldestNs < x.OldestNs {
		x.OldestNs, x.OldestSeq = in.OldestNs, in.OldestSeq
	}
}

type peerTable struct {
	bySlot [peerSlots]*Peer
	peers  map[uint32]*Peer
}

func readPeers(b []byte) *peerTable {
	t := &peerTable{}
	for i := range peerSlots {
		s := b[i*peerSize : (i+1)*peerSize]
		id := u64(s, 0)
		if id == 0 || id > 1<<32 {
			continue
		}
		if t.peers == nil {
			t.peers = map[uint32]*Peer{}
		}
		if t.peers[uint32(id-1)] != nil {
			continue // the plugin gives a peer one slot
		}
		p := &Peer{Rank: uint32(id - 1)}
		for d := range p.Dir {
			w := s[peerDir+d*dirSize:]
			p.Dir[d] = Direction{Ops: u64(w, 0), Bytes: u64(w, 8), ProxyStarted: u64(w, 16), ProxyEnded: u64(w, 24)}
			for j := range p.Dir[d].WaitNs {
				p.Dir[d].WaitNs[j] = u64(w, dirWait+8*j)
				p.Dir[d].stepsKnown = p.Dir[d].stepsKnown || p.Dir[d].WaitNs[j] != 0
			}
		}
		t.peers[p.Rank], t.bySlot[i] = p, p
	}
	return t
}

func (t *peerTable) list() []Peer {
	list := make([]Peer, 0, len(t.peers))
	for _, p := range t.peers {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Peer) int { return int(int64(a.Rank) - int64(b.Rank)) })
	return list
}

// readProxies counts the steps that wait for something now. A proxy operation whose collective has ended and which saw
// nothing for seconds lost its stop: it waits for nobody.
func readProxies(b, ops []byte, peers *peerTable, lastEvent int64) {
	for i := range proxySlots {
		s := b[i*proxySize : (i+1)*proxySize]
		if s[0] != tagLive {
			continue
		}
		info, parent := u64(s, proxyInfo), u64(s, proxyParent)
		peer := peers.bySlot[info>>48%peerSlots]
		if peer == nil {
			continue
		}
		ended := parent != 0 && u64(ops, int(parent%opSlots)*opSize) != parent<<8|tagLive
		if ended && lastEvent-int64(u64(s, proxyLastNs)) > proxyStaleParentNs {
			continue
		}
		d := 1
		if info>>40&1 == 1 {
			d = 0
		}
		peer.Dir[d].proxyInFlight = true
		for j := range stepSlots {
			phase := int(u64(s, proxySteps+8*j)>>60) - 1 // 0 to 2 send, 3 to 6 receive
			if d == 1 {
				phase -= 3
			}
			if phase >= 0 && phase < len(phaseNames[d]) {
				peer.Dir[d].Steps[phase]++
				peer.Dir[d].stepsKnown = true
			}
		}
	}
}
