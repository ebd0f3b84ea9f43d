package exporter

// The layout of a data file, as plugin/src/shm.h has it. A test compiles that header and compares.
const (
	shmMagic   = 0x314d48535743 // "CWSHM1"
	shmVersion = 1

	headSize = 4096
	commSize = 200704
	maxComms = 1024

	opSlots    = 1024
	keySlots   = 96
	peerSlots  = 64
	proxySlots = 512
	stepSlots  = 8
	durBuckets = 28
	bwBuckets  = 24
	durMinExp  = -20
	bwMinExp   = 20
	funcs      = 16
	nameLen    = 128
	uuidLen    = 48
	pciLen     = 16
	jobLen     = 128
	hostLen    = 64
	releaseLen = 32
	dropKinds  = 6

	opSize    = 64
	keySize   = 576
	peerSize  = 192
	proxySize = 128

	ctlMagic = 0x314c54435743 // "CWCTL1"
	ctlSize  = 4096
)

// Offsets in the head.
const (
	headMagic          = 0
	headVersion        = 8
	headHeadSize       = 12
	headCommSize       = 16
	headCommCount      = 20
	headOps            = 24
	headKeys           = 28
	headPeers          = 32
	headProxies        = 36
	headDurBuckets     = 40
	headBwBuckets      = 44
	headPid            = 48
	headAbi            = 52
	headStartTicks     = 56
	headPidNs          = 64
	headMonoOffset     = 88
	headGlobalRank     = 104
	headLocalRank      = 108
	headMode           = 112
	headMask           = 116
	headCommsCapped    = 124
	headCommsFailed    = 128
	headForeignOps     = 136
	headUnmatchedStops = 144
	headJobID          = 176
	headHostname       = 304
	headRelease        = 368
)

// Offsets in a communicator's slot.
const (
	commState          = 0
	commIncarnation    = 4
	commID             = 8
	commNranks         = 16
	commRank           = 20
	commNnodes         = 24
	commNameLen        = 28
	commTracking       = 32
	commKernelSeen     = 36
	commClosedNs       = 48
	commName           = 64
	commGPU            = 192
	commPCI            = 240
	commLastEnqueue    = 256
	commAPICalls       = 264
	commDropsEnqueue   = 272
	commEnqueuedSeq    = 320
	commLastComplete   = 448
	commUnmatched      = 456
	commDropsComplete  = 464
	commCompletedSeq   = 512
	commLastProxy      = 640
	commDropsProxy     = 648
	commPeers          = 704
	commKeys           = commPeers + peerSlots*peerSize
	commOps            = commKeys + keySlots*keySize
	commProxies        = commOps + opSlots*opSize
	commEnd            = commProxies + proxySlots*proxySize
	keyEnqueued        = 8
	keyUntrackedBytes  = 16
	keyStarted         = 64
	keyCompleted       = 72
	keyBytes           = 88
	keyBusyNs          = 96
	keyBwSum           = 104
	keyDur             = 128
	keyBw              = keyDur + 8*durBuckets
	peerDir            = 64
	dirSize            = 64
	dirWait            = 32
	opCounts           = 8
	opSeq              = 16
	opEnqueueNs        = 24
	opStartNs          = 32
	opKeyBytes         = 56
	proxyParent        = 8
	proxyInfo          = 16
	proxyLastNs        = 32
	proxySteps         = 64
	tagLive            = 2
	tagDone            = 3
	commOpen           = 2
	commClosed         = 3
	keyUsed            = 1 << 31
	keyCPU             = 1 << 19
	overflowSizeClass  = 63
	maskKernelCh       = 1 << 6
	maskProxy          = 1<<3 | 1<<4
	proxyStaleParentNs = 5e9
)

// The words behind the numbers, in NCCL's spelling.
var (
	opNames = [funcs]string{
		"Other", "AllGather", "AllReduce", "AlltoAll", "Broadcast", "Gather", "Recv", "Reduce",
		"ReduceScatter", "Scatter", "SendRecv", "Send", "PutSignal", "Signal", "WaitSignal", "Other",
	}
	algoNames = []string{
		"Unknown", "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", "SYM", "CE", "",
	}
	protoNames = []string{"Unknown", "LL", "LL128", "SIMPLE"}
	modeNames  = []string{"off", "light", "normal", "net", "deep"}
	dropNames  = [dropKinds]string{"ops_full", "keys_full", "peers_full", "proxies_full", "no_kernel_events", "superseded"}
	// phaseNames[direction][phase], direction 0 send and 1 receive.
	phaseNames = [2][]string{
		{"gpu_wait", "peer_wait", "wire"},
		{"recv_post", "recv_wait", "flush", "recv_gpu_wait"},
	}
	directionNames = [2]string{"send", "recv"}
)

const algoP2P = 10

func word(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return "Unknown"
	}
	return names[i]
}
