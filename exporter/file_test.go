package exporter

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// image is a data file under construction, for inputs that no plugin would make.
type image []byte

func newImage(comms int) image {
	b := make(image, headSize+comms*commSize)
	b.u64(headMagic, shmMagic)
	for at, v := range map[int]int{
		headVersion: shmVersion, headHeadSize: headSize, headCommSize: commSize, headCommCount: comms, headOps: opSlots,
		headKeys: keySlots, headPeers: peerSlots, headProxies: proxySlots, headDurBuckets: durBuckets, headBwBuckets: bwBuckets,
		headPid: 4242, headAbi: 6, headGlobalRank: 12, headLocalRank: 4, headMode: 2, headMask: 0x1046,
	} {
		b.u32(at, uint32(v))
	}
	b.u64(headStartTicks, 1234)
	b.text(headJobID, "48213")
	b.text(headRelease, "0.1.0")
	return b
}

func (b image) u32(at int, v uint32)  { binary.LittleEndian.PutUint32(b[at:], v) }
func (b image) u64(at int, v uint64)  { binary.LittleEndian.PutUint64(b[at:], v) }
func (b image) text(at int, s string) { copy(b[at:], s) }

func (b image) comm(i int) int { return headSize + i*commSize }

// open fills in a communicator and returns where it begins.
func (b image) open(i int, id uint64, rank, nranks int, name string) int {
	at := b.comm(i)
	b.u64(at+commID, id)
	b.u32(at+commNranks, uint32(nranks))
	b.u32(at+commRank, uint32(rank))
	b.u32(at+commNnodes, 2)
	b.u32(at+commNameLen, uint32(len(name)))
	b.u32(at+commTracking, 1)
	b.u32(at+commKernelSeen, 1)
	b.text(at+commName, name)
	b.text(at+commGPU, "GPU-01")
	b.text(at+commPCI, "0000:3b:00.0")
	b.u32(at+commState, commOpen)
	return at
}

func keyBits(op, size, algo, proto int) uint32 {
	return uint32(keyUsed | op | size<<5 | algo<<11 | proto<<16)
}

// key adds counters: n operations of the given payload, each as long as ns.
func (b image) key(comm, slot int, key uint32, enqueued, completed, ns uint64) {
	at := comm + commKeys + slot*keySize
	b.u32(at, key)
	b.u64(at+keyEnqueued, enqueued)
	b.u64(at+keyStarted, completed)
	b.u64(at+keyCompleted, completed)
	b.u64(at+keyBytes, completed<<(key>>5&63))
	b.u64(at+keyBusyNs, completed*ns)
	b.u64(at+keyDur+8*10, completed)
	b.u64(at+keyBw+8*15, completed)
	b.u64(at+keyBwSum, completed*30_000_000)
}

// op adds an operation in flight.
func (b image) op(comm int, order uint64, slot int, seq, counts uint64, enqueued, started int64) {
	at := comm + commOps + int(order%opSlots)*opSize
	b.u64(at, order<<8|tagLive)
	b.u64(at+opCounts, counts)
	b.u64(at+opSeq, seq)
	b.u64(at+opEnqueueNs, uint64(enqueued))
	b.u64(at+opStartNs, uint64(started))
	b.u64(at+opKeyBytes, uint64(slot)<<48|1<<20)
}

// typical is a rank in the middle of a stall, with a peer whose wire is slow.
func typical(now int64) image {
	b := newImage(2)
	at := b.open(0, 0xabcdef0123456789, 3, 8, "tp \"quoted\"\nline")
	b.u64(at+commLastEnqueue, uint64(now-3e9))
	b.u64(at+commAPICalls, 120)
	b.u64(at+commEnqueuedSeq+8*2, 110)
	b.u64(at+commCompletedSeq+8*2, 107)
	b.key(at, 16, keyBits(2, 20, 2, 3), 110, 107, 2_000_000)
	b.key(at, 17, keyBits(2, 20, 2, 3)|keyCPU, 0, 1, 3_000_000)
	b.key(at, 18, keyBits(11, 16, algoP2P, 0), 5, 5, 1_000_000)
	b.op(at, 1<<38|9, 16, 108, 8|8<<32, now-9e9, now-8e9)
	b.op(at, 1<<38|10, 16, 109, 3|8<<32, now-7e9, now-6e9)
	b.op(at, 1<<38|11, 16, 110, 8<<32, now-5e9, 0)
	b.u64(at+commLastProxy, uint64(now-4e9))
	peer := at + commPeers + 4*peerSize
	b.u64(peer, 5)
	b.u64(peer+peerDir, 5)
	b.u64(peer+peerDir+8, 5<<16)
	b.u64(peer+peerDir+16, 40)
	b.u64(peer+peerDir+24, 38)
	b.u64(peer+peerDir+dirWait+16, 2_500_000_000)
	proxy := at + commProxies + 7*proxySize
	b.u64(proxy, 1<<38<<8|7<<8|tagLive)
	b.u64(proxy+proxyParent, 1<<38|9)
	b.u64(proxy+proxyInfo, 4|1<<40|4<<48)
	b.u64(proxy+proxyLastNs, uint64(now-4e9))
	b.u64(proxy+proxySteps, 3<<60)
	b.u64(proxy+proxySteps+8, 3<<60)
	b.u64(proxy+proxySteps+16, 2<<60)
	return b
}

func (b image) write(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, b, 0o640))
	return path
}
