package exporter

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
)

// inspectorRecord is one line of NVIDIA Inspector's JSON log (format versions 4 and 5). Fields that other versions leave
// out are zero; from version 4.3 header and metadata come once for all lines that follow.
type inspectorRecord struct {
	Header   *inspectorHeader `json:"header"`
	Metadata *struct {
		DumpTimestamp int64 `json:"dump_timestamp_us"`
		PID           int64 `json:"pid"`
	} `json:"metadata"`
	Coll *inspectorColl `json:"coll_perf"`
	P2P  *inspectorP2P  `json:"p2p_perf"`
}

type inspectorHeader struct {
	ID       string `json:"id"`
	CommName string `json:"comm_name"`
	Rank     *int64 `json:"rank"`
	NRanks   int64  `json:"n_ranks"`
	NNodes   int64  `json:"nnodes"`
}

type inspectorColl struct {
	Op     string  `json:"coll"`
	Algo   string  `json:"coll_algo"`
	Proto  string  `json:"coll_proto"`
	Seq    uint64  `json:"coll_sn"`
	Size   float64 `json:"coll_msg_size_bytes"`
	Micros float64 `json:"coll_exec_time_us"`
	Timing string  `json:"coll_timing_source"`
	BusBW  float64 `json:"coll_busbw_gbs"`
}

type inspectorP2P struct {
	Op     string  `json:"p2p"`
	Seq    uint64  `json:"p2p_sn"`
	Peer   *int64  `json:"p2p_peer"`
	Size   float64 `json:"p2p_msg_size_bytes"`
	Micros float64 `json:"p2p_exec_time_us"`
	Timing string  `json:"p2p_timing_source"`
	BusBW  float64 `json:"p2p_busbw_gbs"`
}

// Bounds on what one process's log can make the exporter hold.
const (
	maxLogComms = 256
	maxLogKeys  = 256
)

var errNotInspector = errors.New("no record of NVIDIA Inspector")

// inspectorProcess sums up one log file.
type inspectorProcess struct {
	header  *inspectorHeader
	comms   []Comm
	last    int64 // µs since 1970 of the last dump
	pid     int64
	ignored uint64 // records beyond the bounds or without an identity
}

// line takes one line of the log.
func (p *inspectorProcess) line(b []byte) error {
	var r inspectorRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	if r.Header != nil {
		p.header = r.Header
	}
	if r.Metadata != nil {
		p.last, p.pid = max(p.last, r.Metadata.DumpTimestamp), r.Metadata.PID
	}
	switch {
	case r.Coll == nil && r.P2P == nil:
		if r.Header == nil && r.Metadata == nil {
			return errNotInspector
		}
		return nil // a marker
	case p.header == nil || p.header.Rank == nil:
		p.ignored++
		return nil
	}
	c := p.comm()
	if c == nil {
		p.ignored++
		return nil
	}
	if r.Coll != nil {
		p.collective(c, r.Coll)
	} else {
		p.p2p(c, r.P2P)
	}
	return nil
}

func (p *inspectorProcess) comm() *Comm {
	h := p.header
	id, err := strconv.ParseUint(strings.TrimPrefix(h.ID, "0x"), 16, 64)
	if err != nil || *h.Rank < 0 || *h.Rank >= math.MaxInt32 {
		return nil
	}
	for i := range p.comms {
		if p.comms[i].ID == id && p.comms[i].Rank == uint32(*h.Rank) {
			return &p.comms[i]
		}
	}
	if len(p.comms) >= maxLogComms {
		return nil
	}
	name := strings.ToValidUTF8(h.CommName, "\uFFFD")
	if len(name) > nameLen || name == "unknown" {
		name = ""
	}
	p.comms = append(p.comms, Comm{
		ID: id, Rank: uint32(*h.Rank), NRanks: bounded(h.NRanks), NNodes: bounded(h.NNodes), Name: name, Open: true, CompletedOnly: true,
	})
	return &p.comms[len(p.comms)-1]
}

func bounded(v int64) uint32 { return uint32(max(0, min(v, math.MaxInt32))) }

// known returns the spelling of a list, or the list's word for anything else: a log must not invent label values.
func known(list []string, name, other string) string {
	for _, n := range list {
		if n != "" && strings.EqualFold(n, name) {
			return n
		}
	}
	return other
}

func (p *inspectorProcess) collective(c *Comm, r *inspectorColl) {
	op := known(opNames[:], r.Op, "Other")
	bytes := r.Size
	if op == "AllGather" || op == "ReduceScatter" {
		bytes *= float64(max(1, c.NRanks)) // the log has the size of one rank
	}
	p.count(c, Key{Op: op, Algo: known(algoNames, r.Algo, "Unknown"), Proto: known(protoNames, r.Proto, "Unknown")}, bytes, r.Micros, r.BusBW, r.Timing)
	for i, name := range opNames {
		if name == op {
			c.CompletedSeq[i] = max(c.CompletedSeq[i], r.Seq)
			break
		}
	}
}

func (p *inspectorProcess) p2p(c *Comm, r *inspectorP2P) {
	op := known(opNames[:], r.Op, "Other")
	p.count(c, Key{Op: op}, r.Size, r.Micros, r.BusBW, r.Timing)
	if r.Peer == nil || *r.Peer < 0 || *r.Peer >= math.MaxInt32 || (op != "Send" && op != "Recv") {
		return
	}
	d := 0
	if op == "Recv" {
		d = 1
	}
	for i := range c.Peers {
		if c.Peers[i].Rank == uint32(*r.Peer) {
			c.Peers[i].Dir[d].Ops++
			c.Peers[i].Dir[d].Bytes += amount(r.Size)
			return
		}
	}
	if len(c.Peers) < peerSlots {
		peer := Peer{Rank: uint32(*r.Peer)}
		peer.Dir[d] = Direction{Ops: 1, Bytes: amount(r.Size)}
		c.Peers = append(c.Peers, peer)
	}
}

// amount turns a number of a log into a count: not negative, not more than 2^53.
func amount(v float64) uint64 {
	if !(v > 0) {
		return 0
	}
	return uint64(min(v, 1<<53))
}

func (p *inspectorProcess) count(c *Comm, k Key, bytes, micros, gbs float64, timing string) {
	k.CPU = timing != "kernel_gpu"
	size := amount(bytes)
	for k.SizeExp < 62 && uint64(1)<<k.SizeExp < size {
		k.SizeExp++
	}
	at := -1
	for i := range c.Keys {
		if x := &c.Keys[i]; x.Op == k.Op && x.SizeExp == k.SizeExp && x.Algo == k.Algo && x.Proto == k.Proto && x.CPU == k.CPU {
			at = i
			break
		}
	}
	if at < 0 {
		if len(c.Keys) >= maxLogKeys {
			p.ignored++
			return
		}
		c.Keys = append(c.Keys, k)
		at = len(c.Keys) - 1
	}
	x := &c.Keys[at]
	x.Completed++
	x.Bytes += size
	x.BusyNs += amount(micros * 1000)
	x.BandwidthKBSum += amount(gbs * 1e6)
	x.Durations[bucket(micros*1e-6, durMinExp, durBuckets)]++
	x.Bandwidths[bucket(gbs*1e9, bwMinExp, bwBuckets)]++
}

// bucket is the plugin's: (2^(min+i-1), 2^(min+i)], the last one the rest.
func bucket(v float64, minExp, n int) int {
	if !(v > 0) {
		return 0
	}
	frac, exp := math.Frexp(v) // v = frac * 2^exp, frac in [0.5, 1)
	if frac == 0.5 {
		exp--
	}
	return max(0, min(exp-minExp, n-1))
}
