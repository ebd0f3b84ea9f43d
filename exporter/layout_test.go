package exporter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// needTool skips without the tool, except in CI, where a missing tool is a mistake of the CI's set-up.
func needTool(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is needed in CI: %v", name, err)
		}
		t.Skipf("%s is not installed", name)
	}
}

// TestLayoutIsThePlugins compiles a program against the plugin's header and compares every offset the reader uses.
func TestLayoutIsThePlugins(t *testing.T) {
	needTool(t, "gcc")
	want := map[string]int{
		"CW_SHM_VERSION": shmVersion, "CW_HEAD_SIZE": headSize, "CW_COMM_SIZE": commSize, "CW_OPS": opSlots, "CW_KEYS": keySlots,
		"CW_PEERS": peerSlots, "CW_PROXIES": proxySlots, "CW_STEPS": stepSlots, "CW_DUR_BUCKETS": durBuckets,
		"CW_BW_BUCKETS": bwBuckets, "CW_DUR_MIN_EXP": durMinExp, "CW_BW_MIN_EXP": bwMinExp, "CW_FUNCS": funcs,
		"CW_NAME_LEN": nameLen, "CW_DROP_COUNT": dropKinds, "CW_TAG_LIVE": tagLive, "CW_TAG_DONE": tagDone, "CW_COMM_OPEN": commOpen,
		"CW_COMM_CLOSED": commClosed, "CW_KEY_CPU": keyCPU, "CW_CTL_SIZE": ctlSize, "CW_OP_WAITSIGNAL": 14,
		"CW_ALGO_P2P": algoP2P, "CW_ALGO_COUNT": len(algoNames), "CW_PROTO_COUNT": len(protoNames), "CW_MODE_COUNT": len(modeNames),
		"CW_OP_SENDRECV": 10, "CW_OP_RECV": 6, "CW_PROTO_SIMPLE": 3, "CW_ALGO_CE": 9, "CW_DROP_SUPERSEDED": 5, "CW_MODE_DEEP": 4,
		"CW_PH_RECV_POST": 4, "CW_KEY_USED": keyUsed, "CW_SHM_MAGIC": shmMagic, "CW_CTL_MAGIC": ctlMagic,
		"sizeof(struct cw_op_slot)": opSize, "sizeof(struct cw_key_slot)": keySize, "sizeof(struct cw_peer_slot)": peerSize,
		"sizeof(struct cw_proxy_slot)": proxySize, "sizeof(struct cw_dir_slot)": dirSize, "sizeof(struct cw_comm_slot)": commEnd,
	}
	offsets := map[string]map[string]int{
		"shm_head": {
			"magic": headMagic, "version": headVersion, "head_size": headHeadSize, "comm_size": headCommSize,
			"comm_count": headCommCount, "ops": headOps, "keys": headKeys, "peers": headPeers, "proxies": headProxies,
			"dur_buckets": headDurBuckets, "bw_buckets": headBwBuckets, "pid": headPid, "abi": headAbi,
			"start_ticks": headStartTicks, "pid_ns": headPidNs, "mono_offset": headMonoOffset,
			"global_rank": headGlobalRank, "local_rank": headLocalRank, "mode": headMode, "mask": headMask,
			"comms_capped": headCommsCapped, "comms_failed": headCommsFailed, "foreign_ops": headForeignOps,
			"unmatched_stops": headUnmatchedStops, "job_id": headJobID, "hostname": headHostname, "release": headRelease,
		},
		"comm_slot": {
			"state": commState, "incarnation": commIncarnation, "comm_id": commID, "nranks": commNranks, "rank": commRank,
			"nnodes": commNnodes, "name_len": commNameLen, "tracking": commTracking, "kernel_seen": commKernelSeen,
			"closed_ns": commClosedNs, "name": commName, "gpu_uuid": commGPU, "pci_bus_id": commPCI,
			"last_enqueue_ns": commLastEnqueue, "api_calls": commAPICalls, "drops_enqueue": commDropsEnqueue,
			"last_enqueued_seq": commEnqueuedSeq, "last_complete_ns": commLastComplete, "unmatched_stops": commUnmatched,
			"drops_complete": commDropsComplete, "last_completed_seq": commCompletedSeq, "last_proxy_ns": commLastProxy,
			"drops_proxy": commDropsProxy, "peers": commPeers, "keys": commKeys, "ops": commOps, "proxies": commProxies,
		},
		"key_slot": {
			"key": 0, "enqueued": keyEnqueued, "untracked_bytes": keyUntrackedBytes, "started": keyStarted,
			"completed": keyCompleted, "bytes": keyBytes, "busy_ns": keyBusyNs, "bw_kbps_sum": keyBwSum, "dur": keyDur, "bw": keyBw,
		},
		"peer_slot": {"peer": 0, "dir": peerDir},
		"dir_slot":  {"p2p_ops": 0, "p2p_bytes": 8, "proxy_started": 16, "proxy_completed": 24, "wait_ns": dirWait},
		"op_slot": {
			"tag": 0, "counts": opCounts, "seq": opSeq, "enqueue_ns": opEnqueueNs, "start_ns": opStartNs, "key_bytes": opKeyBytes,
		},
		"proxy_slot": {"tag": 0, "parent": proxyParent, "info": proxyInfo, "last_ns": proxyLastNs, "step": proxySteps},
		"control":    {"magic": 0, "sequence": 8, "mode": 16, "until_ns": 24},
	}
	for name, members := range offsets {
		for member, offset := range members {
			want[fmt.Sprintf("offsetof(struct cw_%s, %s)", name, member)] = offset
		}
	}

	var program strings.Builder
	program.WriteString("#include <stdio.h>\n#include \"shm.h\"\nint main(void) {\n")
	for expr := range want {
		fmt.Fprintf(&program, "printf(\"%%lld\\t%s\\n\", (long long)(%s));\n", expr, expr)
	}
	program.WriteString("return 0; }\n")
	dir := t.TempDir()
	source := filepath.Join(dir, "layout.c")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), "gcc", "-std=c11", "-I../plugin/src", source, "-o", filepath.Join(dir, "layout")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), filepath.Join(dir, "layout")).Output()
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(out)) {
		var got int
		value, expr, ok := strings.Cut(strings.TrimSpace(line), "\t")
		require.True(t, ok)
		_, err := fmt.Sscan(value, &got)
		require.NoError(t, err)
		require.Equal(t, want[expr], got, "%s in the plugin's header and in layout.go", expr)
		seen++
	}
	require.Len(t, want, seen)
}
