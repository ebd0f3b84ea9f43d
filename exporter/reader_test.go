package exporter

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, b []byte) (*Process, error) {
	t.Helper()
	return newReader().read(bytes.NewReader(b), int64(len(b)))
}

func TestReadTypical(t *testing.T) {
	p, err := read(t, typical(100e9))
	require.NoError(t, err)
	require.Len(t, p.Comms, 1)
	c := p.Comms[0]
	require.Equal(t, "48213", p.JobID)
	require.Equal(t, int64(12), p.GlobalRank)
	require.Equal(t, uint64(0xabcdef0123456789), c.ID)
	require.Equal(t, "tp \"quoted\"\nline", c.Name)
	require.Equal(t, int64(97e9), c.LastEventNs)
	require.True(t, c.Tracking())
	require.ElementsMatch(t, []Inflight{
		{Op: "AllReduce", State: stateRunning, Count: 1, OldestNs: 92e9, OldestSeq: 108},
		{Op: "AllReduce", State: statePartial, Count: 1, OldestNs: 94e9, OldestSeq: 109},
		{Op: "AllReduce", State: stateQueued, Count: 1, OldestNs: 95e9, OldestSeq: 110},
	}, c.Inflight)
	require.Len(t, c.Peers, 1)
	require.Equal(t, uint32(4), c.Peers[0].Rank)
	require.Equal(t, [4]int{0, 1, 2, 0}, c.Peers[0].Dir[0].Steps)
}

func TestTimeNamespaceIsTakenOut(t *testing.T) {
	b := typical(100e9)
	b.u64(headMonoOffset, 40e9)
	p, err := read(t, b)
	require.NoError(t, err)
	require.Equal(t, int64(57e9), p.Comms[0].LastEventNs)
	require.Equal(t, int64(57e9), p.lastEventNs)
	for _, in := range p.Comms[0].Inflight {
		require.Less(t, in.OldestNs, int64(56e9))
	}
}

// changing is a file whose operation in one slot is replaced between two reads of it.
type changing struct {
	image
	at    int64
	reads int
}

func (c *changing) ReadAt(b []byte, off int64) (int, error) {
	n, err := bytes.NewReader(c.image).ReadAt(b, off)
	if off <= c.at && c.at < off+int64(n) {
		if c.reads++; c.reads == 1 {
			c.u64(int(c.at), (1<<38|1033)<<8|tagLive) // the plugin reuses the slot now
		}
	}
	return n, err
}

// TestTornOperation: words of two occupants are never mixed.
func TestTornOperation(t *testing.T) {
	b := typical(100e9)
	at := b.comm(0) + commOps + 9*opSize
	p, err := newReader().read(&changing{image: b, at: int64(at)}, int64(len(b)))
	require.NoError(t, err)
	require.Len(t, p.Comms[0].Inflight, 2, "the running one was replaced and is left out")
	for _, in := range p.Comms[0].Inflight {
		require.NotEqual(t, stateRunning, in.State)
	}
}

// TestReplacedCommunicator: a slot that gets another communicator while it is read is left out.
func TestReplacedCommunicator(t *testing.T) {
	b := typical(100e9)
	at := b.comm(0) + commIncarnation
	p, err := newReader().read(readerFunc(func(buf []byte, off int64) (int, error) {
		n, err := bytes.NewReader(b).ReadAt(buf, off)
		if off == int64(b.comm(0)) {
			b.u32(at, 99)
		}
		return n, err
	}), int64(len(b)))
	require.NoError(t, err)
	require.Empty(t, p.Comms)
	require.Equal(t, 1, p.Unreadable)
}

type readerFunc func([]byte, int64) (int, error)

func (f readerFunc) ReadAt(b []byte, off int64) (int, error) { return f(b, off) }

// TestUnreportedP2P: NCCL may tell nothing about one half of a fused pair. Nobody may call that a hang.
func TestUnreportedP2P(t *testing.T) {
	const group = 7 << 48
	states := func(change func(b image, at int)) []Inflight {
		b := newImage(1)
		at := b.open(0, 1, 3, 8, "")
		b.key(at, 16, keyBits(11, 16, algoP2P, 0), 2, 1, 1000)
		b.op(at, 1<<38|1, 16, 5, 1|1<<16|1<<32|group, 10e9, 11e9)
		b.u64(at+commOps+opSize, (1<<38|1)<<8|tagDone)
		b.op(at, 1<<38|2, 16, 6, group, 10e9, 0)
		change(b, at)
		p, err := read(t, b)
		require.NoError(t, err)
		return p.Comms[0].Inflight
	}
	require.Empty(t, states(func(image, int) {}), "its group has ended and nothing runs")
	require.Len(t, states(func(b image, at int) { b.op(at, 1<<38|3, 16, 7, 1|1<<32|group, 10e9, 11e9) }), 2, "it may stand behind one that runs")
	require.Len(t, states(func(b image, at int) { b.op(at, 1<<38|2, 16, 6, group+1<<48, 10e9, 0) }), 1, "its group has not begun to end")
	require.Empty(t, states(func(b image, at int) { b.op(at, 1<<38|2, 16, 3, group+1<<48, 10e9, 0) }), "a copy to oneself")
	require.Len(t, states(func(b image, at int) { b.u32(at+commKeys+16*keySize, keyBits(2, 16, 2, 3)) }), 1, "a collective is no P2P")
}

func TestLookedCompleteIsNotInFlight(t *testing.T) {
	state, ok := stateOf(4 | 4<<16)
	require.Equal(t, stateRunning, state)
	require.False(t, ok, "unknown number of channels, all ended: it waits for the proof, not for the network")
	_, ok = stateOf(4 | 3<<16)
	require.True(t, ok)
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		make func() []byte
		err  error
	}{
		"empty":               {func() []byte { return nil }, errTruncated},
		"half a head":         {func() []byte { return newImage(1)[:1000] }, errTruncated},
		"zeros":               {func() []byte { return make([]byte, 1<<16) }, errMagic},
		"a newer version":     {func() []byte { b := newImage(1); b.u32(headVersion, 2); return b }, errVersion},
		"other slot size":     {func() []byte { b := newImage(1); b.u32(headCommSize, 4096); return b }, errLayout},
		"no communicators":    {func() []byte { b := newImage(1); b.u32(headCommCount, 0); return b }, errLayout},
		"too many":            {func() []byte { b := newImage(1); b.u32(headCommCount, 1<<31); return b }, errLayout},
		"more than it holds":  {func() []byte { b := newImage(1); b.u32(headCommCount, 2); return b }, errTruncated},
		"cut in the last one": {func() []byte { b := newImage(2); return b[:len(b)-1] }, errTruncated},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t, tc.make())
			require.ErrorIs(t, err, tc.err)
			require.Contains(t, rejectReasons, reason(err))
		})
	}
}

// FuzzReader feeds mutated files: it must not panic, hang, or hand on what Prometheus would refuse.
func FuzzReader(f *testing.F) {
	f.Add(uint32(0), []byte{})
	f.Add(uint32(headCommCount), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(headSize+commNameLen), []byte{0xff, 0xff, 0xff, 0x7f})
	f.Add(uint32(headSize+commName), []byte("\xff\xfe\x00\n\""))
	f.Add(uint32(headSize+commKeys+16*keySize), []byte{0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(headSize+commOps+8*opSize), bytes.Repeat([]byte{0xff}, 256))
	f.Add(uint32(headSize+commPeers), bytes.Repeat([]byte{0x02}, 1024))
	f.Add(uint32(headSize+commProxies), bytes.Repeat([]byte{0x02}, 4096))
	f.Add(uint32(headMonoOffset), bytes.Repeat([]byte{0x80}, 8))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		b := typical(100e9)
		copy(b[int(at)%len(b):], patch)
		p, err := newReader().read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			require.Contains(t, rejectReasons, reason(err))
			return
		}
		families := build([]Observation{{Process: *p, Alive: true, NowNs: 100e9}}, DefaultLimits())
		requireValid(t, families)
	})
}
