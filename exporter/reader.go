package exporter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// Reasons to refuse a file. They are the values of a label, so they are few and fixed.
var (
	errTruncated = errors.New("truncated")
	errMagic     = errors.New("no data file")
	errVersion   = errors.New("unknown version")
	errLayout    = errors.New("unknown layout")
)

// reader turns a data file into a Process. It holds one communicator's bytes at a time, whatever the file claims.
type reader struct {
	head [headSize]byte
	comm []byte
	tags []byte
}

func newReader() *reader {
	return &reader{comm: make([]byte, commEnd), tags: make([]byte, opSlots*opSize)}
}

func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// text cuts at the first NUL and mends what is no UTF-8: label values must be valid.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func rank(v uint32) int64 {
	if v == math.MaxUint32 {
		return -1
	}
	return int64(v)
}

// read reads a file of the given size. Errors wrap one of the reasons above or are those of the file system.
func (r *reader) read(f io.ReaderAt, size int64) (*Process, error) {
	if size < headSize {
		return nil, fmt.Errorf("%w: %d bytes", errTruncated, size)
	}
	if _, err := f.ReadAt(r.head[:], 0); err != nil {
		return nil, fmt.Errorf("%w: %w", errTruncated, err)
	}
	h := r.head[:]
	count, err := checkHead(h, size)
	if err != nil {
		return nil, err
	}
	offset := int64(u64(h, headMonoOffset))
	p := &Process{
		PID: u32(h, headPid), PIDNS: u64(h, headPidNs), StartTicks: u64(h, headStartTicks), ABI: u32(h, headAbi),
		Mode: word(modeNames, int(min(u32(h, headMode), 99))), Mask: u32(h, headMask),
		GlobalRank: rank(u32(h, headGlobalRank)), LocalRank: rank(u32(h, headLocalRank)),
		JobID: text(h[headJobID : headJobID+jobLen]), Hostname: text(h[headHostname : headHostname+hostLen]), Release: text(h[headRelease : headRelease+releaseLen]),
		ForeignOps: u64(h, headForeignOps), Unmatched: u64(h, headUnmatchedStops),
		Capped: u32(h, headCommsCapped), Failed: u32(h, headCommsFailed),
	}
	for i := range count {
		c, used, err := r.readComm(f, headSize+int64(i)*commSize, p.Mask)
		switch {
		case err != nil:
			p.Unreadable++
		case used:
			c.shift(offset)
			p.lastEventNs = max(p.lastEventNs, c.LastEventNs)
			p.Comms = append(p.Comms, c)
		}
	}
	return p, nil
}

// checkHead accepts exactly the layout that this build was made for. The exporter and the plugin come in one package;
// guessing at another version's layout would show wrong numbers.
func checkHead(h []byte, size int64) (uint32, error) {
	if u64(h, headMagic) != shmMagic {
		return 0, errMagic
	}
	if v := u32(h, headVersion); v != shmVersion {
		return 0, fmt.Errorf("%w: %d, this exporter reads %d", errVersion, v, shmVersion)
	}
	want := [...]struct{ at, value int }{
		{headHeadSize, headSize},
		{headCommSize, commSize},
		{headOps, opSlots},
		{headKeys, keySlots},
		{headPeers, peerSlots},
		{headProxies, proxySlots},
		{headDurBuckets, durBuckets},
		{headBwBuckets, bwBuckets},
	}
	for _, w := range want {
		if got := u32(h, w.at); got != uint32(w.value) {
			return 0, fmt.Errorf("%w: %d at offset %d, want %d", errLayout, got, w.at, w.value)
		}
	}
	count := u32(h, headCommCount)
	if count == 0 || count > maxComms {
		return 0, fmt.Errorf("%w: %d communicators", errLayout, count)
	}
	if size < headSize+int64(count)*commSize {
		return 0, fmt.Errorf("%w: %d bytes for %d communicators", errTruncated, size, count)
	}
	return count, nil
}

// readComm reads the slot at the given place. used is false for a slot without a communicator.
func (r *reader) readComm(f io.ReaderAt, at int64, mask uint32) (Comm, bool, error) {
	b := r.comm
	if _, err := f.ReadAt(b[:commPeers], at); err != nil {
		return Comm{}, false, err
	}
	state := u32(b, commState)
	if state != commOpen && state != commClosed {
		return Comm{}, false, nil
	}
	incarnation := u32(b, commIncarnation)
	rest := b[commPeers:commProxies]
	deep := u64(b, commLastProxy) != 0
	if deep {
		rest = b[commPeers:commEnd]
	}
	if _, err := f.ReadAt(rest, at+commPeers); err != nil {
		return Comm{}, false, err
	}
	c := Comm{
		ID: u64(b, commID), NRanks: u32(b, commNranks), Rank: u32(b, commRank), NNodes: u32(b, commNnodes),
		Name: text(b[commName : commName+min(int(u32(b, commNameLen)), nameLen)]),
		GPU:  text(b[commGPU : commGPU+uuidLen]), PCI: text(b[commPCI : commPCI+pciLen]),
		Open: state == commOpen, ClosedNs: int64(u64(b, commClosedNs)),
		Followed: u32(b, commTracking) != 0 && mask&maskKernelCh != 0,
		APICalls: u64(b, commAPICalls), Unmatched: u64(b, commUnmatched),
	}
	for _, word := range []int{commLastEnqueue, commLastComplete, commLastProxy} {
		c.LastEventNs = max(c.LastEventNs, int64(u64(b, word)))
	}
	for i := range dropKinds {
		c.Drops[i] = u64(b, commDropsEnqueue+8*i) + u64(b, commDropsComplete+8*i) + u64(b, commDropsProxy+8*i)
	}
	for i := range funcs {
		c.EnqueuedSeq[i], c.CompletedSeq[i] = u64(b, commEnqueuedSeq+8*i), u64(b, commCompletedSeq+8*i)
	}
	c.Keys = readKeys(b[commKeys:commOps])
	peers := readPeers(b[commPeers:commKeys])
	if c.Tracking() {
		if err := r.readOps(f, at, &c); err != nil {
			return Comm{}, false, err
		}
	}
	if deep {
		readProxies(b[commProxies:commEnd], b[commOps:commProxies], peers, c.LastEventNs)
	}
	c.Peers = peers.list()
	return c, true, r.sameOccupant(f, at, state, incarnation)
}

var errReplaced = errors.New("the slot got another communicator while it was read")

func (r *reader) sameOccupant(f io.ReaderAt, at int64, state, incarnation uint32) error {
	var again [8]byte
	if _, err := f.ReadAt(again[:], at); err != nil {
		return err
	}
	if u32(again[:], commState) != state || u32(again[:], commIncarnation) != incarnation {
		return errReplaced
	}
	return nil
}

// shift turns the process's monotonic times into the host's.
func (c *Comm) shift(offset int64) {
	if offset == 0 {
		return
	}
	c.ClosedNs -= offset
	c.LastEventNs -= offset
	for i := range c.Inflight {
		c.Inflight[i].OldestNs -= offset
	}
}
