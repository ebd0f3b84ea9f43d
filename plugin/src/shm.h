/*
 * The layout of the shared-memory file. One file per process, one slot per communicator. The plugin is the only writer,
 * the exporter only reads. docs/shared-memory.md says the same in words; the exporter's tests compare both.
 *
 * Rules for readers. Every word is written atomically. A communicator's identity is valid while `state` is open or
 * closed. An operation or proxy slot is valid if its `tag` is live and the same before and after reading the rest.
 * Counters only grow as long as `incarnation` stays the same. Nothing here is a pointer.
 */
#ifndef COLLWATCH_SHM_H
#define COLLWATCH_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CW_SHM_MAGIC 0x314d48535743ull /* "CWSHM1" */
#define CW_SHM_VERSION 1u

#define CW_OPS 1024u   /* operations in flight a communicator; a power of two */
#define CW_KEYS 96u    /* (operation, size class, algorithm, protocol, timing) a communicator */
#define CW_PEERS 64u   /* peers with P2P or proxy traffic a communicator */
#define CW_PROXIES 512u /* proxy operations in flight a communicator; a power of two */
#define CW_STEPS 8u    /* steps in flight a proxy operation: NCCL's limit */
#define CW_DUR_BUCKETS 28u /* duration: upper bounds 2^-20 s ... 2^6 s, then the rest */
#define CW_BW_BUCKETS 24u  /* bus bandwidth: upper bounds 2^20 B/s ... 2^42 B/s, then the rest */
#define CW_DUR_MIN_EXP (-20)
#define CW_BW_MIN_EXP 20
#define CW_NAME_LEN 128u
#define CW_FUNCS 16u

typedef _Atomic uint64_t cw_u64;
typedef _Atomic uint32_t cw_u32;

/* Operations, in NCCL's spelling in the exporter. CW_OP_OTHER is every name this build does not know. */
enum cw_op {
  CW_OP_OTHER, CW_OP_ALLGATHER, CW_OP_ALLREDUCE, CW_OP_ALLTOALL, CW_OP_BROADCAST, CW_OP_GATHER, CW_OP_RECV,
  CW_OP_REDUCE, CW_OP_REDUCESCATTER, CW_OP_SCATTER, CW_OP_SENDRECV, CW_OP_SEND, CW_OP_PUTSIGNAL, CW_OP_SIGNAL,
  CW_OP_WAITSIGNAL, CW_OP_COUNT
};

enum cw_algo {
  CW_ALGO_UNKNOWN, CW_ALGO_TREE, CW_ALGO_RING, CW_ALGO_COLLNET_DIRECT, CW_ALGO_COLLNET_CHAIN, CW_ALGO_NVLS,
  CW_ALGO_NVLS_TREE, CW_ALGO_PAT, CW_ALGO_SYM, CW_ALGO_CE, CW_ALGO_P2P, CW_ALGO_COUNT
};

enum cw_proto { CW_PROTO_UNKNOWN, CW_PROTO_LL, CW_PROTO_LL128, CW_PROTO_SIMPLE, CW_PROTO_COUNT };

/* A key packs op:5, size exponent:6, algo:5, proto:3, cpu timing:1, and bit 31 which says "used". */
#define CW_KEY_USED 0x80000000u
#define CW_KEY_CPU 0x00080000u
#define CW_KEY(op, size, algo, proto) \
  (CW_KEY_USED | (uint32_t)(op) | (uint32_t)(size) << 5 | (uint32_t)(algo) << 11 | (uint32_t)(proto) << 16)

enum cw_drop { CW_DROP_OPS_FULL, CW_DROP_KEYS_FULL, CW_DROP_PEERS_FULL, CW_DROP_PROXIES_FULL, CW_DROP_NO_KERNEL,
               CW_DROP_SUPERSEDED, CW_DROP_COUNT };

enum cw_phase { CW_PH_NONE, CW_PH_GPU_WAIT, CW_PH_PEER_WAIT, CW_PH_WIRE, CW_PH_RECV_POST, CW_PH_RECV_WAIT, CW_PH_FLUSH,
                CW_PH_RECV_GPU_WAIT, CW_PH_COUNT };

enum cw_mode { CW_MODE_OFF, CW_MODE_LIGHT, CW_MODE_NORMAL, CW_MODE_NET, CW_MODE_DEEP, CW_MODE_COUNT };

/* Low byte of a tag. The rest is the order number of the occupant, which never repeats in a process. */
enum { CW_TAG_FREE = 0, CW_TAG_BUSY = 1, CW_TAG_LIVE = 2, CW_TAG_DONE = 3 };

enum { CW_COMM_FREE = 0, CW_COMM_SETUP = 1, CW_COMM_OPEN = 2, CW_COMM_CLOSED = 3 };

/* One operation in flight. */
struct cw_op_slot {
  cw_u64 tag;        /* order << 8 | CW_TAG_* */
  cw_u64 counts;     /* channels started:16, finished << 16, expected << 32 (0: unknown), group's number << 48 */
  cw_u64 seq;        /* NCCL's sequence number; for P2P the peer's rank */
  cw_u64 enqueue_ns; /* CLOCK_MONOTONIC of the process */
  cw_u64 start_ns;   /* first channel's start as seen on the host; 0: not started */
  cw_u64 gpu_min;    /* earliest start stamp of the GPU, in its ns; ~0: none yet; 0: a channel had none */
  cw_u64 gpu_max;    /* latest stop stamp; ~0: a channel had none */
  cw_u64 key_bytes;  /* index of the key << 48 | payload bytes */
};

#define CW_COUNT_STARTED 1ull
#define CW_COUNT_FINISHED (1ull << 16)
#define CW_STARTED(c) ((uint32_t)((c) & 0xffff))
#define CW_FINISHED(c) ((uint32_t)((c) >> 16 & 0xffff))
#define CW_EXPECTED(c) ((uint32_t)((c) >> 32 & 0xffff))
#define CW_GROUP(c) ((uint16_t)((c) >> 48))

/* Counters of one key. The first line belongs to the calling thread, the others to the thread that sees completions. */
struct cw_key_slot {
  cw_u32 key;
  cw_u32 pad0;
  cw_u64 enqueued;
  cw_u64 untracked_bytes; /* of operations whose completion cannot be seen (light mode, copy engine) */
  cw_u64 pad1[5];
  cw_u64 started;
  cw_u64 completed;
  cw_u64 untimed; /* completed without a usable duration; part of `completed` */
  cw_u64 bytes;   /* payload of completed operations */
  cw_u64 busy_ns;
  cw_u64 bw_kbps_sum; /* sum of bus bandwidths in kB/s */
  cw_u64 pad2[2];
  cw_u64 dur[CW_DUR_BUCKETS];
  cw_u64 bw[CW_BW_BUCKETS];
  cw_u64 pad3[4];
};

struct cw_dir_slot {
  cw_u64 p2p_ops;
  cw_u64 p2p_bytes;
  cw_u64 proxy_started;
  cw_u64 proxy_completed;
  cw_u64 wait_ns[4]; /* send: gpu_wait, peer_wait, wire; receive: recv_post, recv_wait, flush, recv_gpu_wait */
};

struct cw_peer_slot {
  cw_u64 peer; /* rank + 1; 0: free */
  cw_u64 pad[7];
  struct cw_dir_slot dir[2]; /* 0 send, 1 receive */
};

/* One proxy operation in flight (modes net and deep). */
struct cw_proxy_slot {
  cw_u64 tag;
  cw_u64 parent;   /* order of the operation it belongs to; 0: unknown */
  cw_u64 info;     /* peer:32, channel:8 << 32, is_send:1 << 40, peer slot:8 << 48 */
  cw_u64 start_ns;
  cw_u64 last_ns;  /* last change of phase */
  cw_u64 pad[3];
  cw_u64 step[CW_STEPS]; /* time:48 in units of 64 ns since base_ns, step:12 << 48, phase:4 << 60 */
};

/* One communicator. Each group of counters stands in cache lines of its own, by the thread that writes it. */
struct cw_comm_slot {
  cw_u32 state; /* CW_COMM_* */
  cw_u32 incarnation;
  cw_u64 comm_id;
  cw_u32 nranks, rank, nnodes, name_len;
  cw_u32 tracking;    /* 1: operations in flight are followed to their end */
  cw_u32 kernel_seen; /* 1: this host delivers kernel events */
  cw_u64 opened_ns, closed_ns;
  cw_u64 pad0;
  unsigned char name[CW_NAME_LEN]; /* as given by the framework, cut, any bytes */
  unsigned char gpu_uuid[48];      /* "GPU-…" or empty */
  unsigned char pci_bus_id[16];    /* "0000:3b:00.0" or empty */

  /* calling thread */
  cw_u64 last_enqueue_ns;
  cw_u64 api_calls; /* collective and P2P API calls, also those that give no other event */
  cw_u64 drops_enqueue[CW_DROP_COUNT];
  cw_u64 last_enqueued_seq[CW_FUNCS];

  /* completing thread */
  cw_u64 last_complete_ns;
  cw_u64 unmatched_stops;
  cw_u64 drops_complete[CW_DROP_COUNT];
  cw_u64 last_completed_seq[CW_FUNCS];

  /* network progress thread */
  cw_u64 last_proxy_ns;
  cw_u64 drops_proxy[CW_DROP_COUNT];
  cw_u64 pad1;

  struct cw_peer_slot peers[CW_PEERS];
  struct cw_key_slot keys[CW_KEYS];
  struct cw_op_slot ops[CW_OPS];
  struct cw_proxy_slot proxies[CW_PROXIES];
};

/* The head of the file. Written at init, apart from the words marked with a star. */
struct cw_shm_head {
  cw_u64 magic; /* written last */
  cw_u32 version, head_size, comm_size, comm_count;
  cw_u32 ops, keys, peers, proxies, dur_buckets, bw_buckets;
  cw_u32 pid, abi;
  cw_u64 start_ticks;  /* field 22 of /proc/self/stat */
  cw_u64 pid_ns;       /* inode of the pid namespace */
  cw_u64 created_ns;   /* CLOCK_MONOTONIC of the process */
  cw_u64 created_real; /* CLOCK_REALTIME, ns */
  cw_u64 mono_offset;  /* what the process's CLOCK_MONOTONIC is ahead of the host's, ns, signed */
  cw_u64 base_ns;      /* origin of step times */
  cw_u32 global_rank, local_rank; /* ~0: unknown */
  cw_u32 mode, mask;              /* star */
  cw_u32 comms_open, comms_capped, comms_failed, pad0; /* star */
  cw_u64 foreign_ops;             /* star: proxy operations of other processes */
  cw_u64 unmatched_stops;         /* star: stops that name no communicator of ours */
  cw_u64 pad1[3];
  unsigned char job_id[128];
  unsigned char hostname[64];
  unsigned char release[32]; /* of the plugin */
};

#define CW_HEAD_SIZE 4096u
#define CW_COMM_SIZE ((uint32_t)((sizeof(struct cw_comm_slot) + 4095u) & ~4095u))

/* The control file, written in place by the exporter, mapped read-only here. */
#define CW_CTL_MAGIC 0x314c54435743ull /* "CWCTL1" */
struct cw_control {
  cw_u64 magic;
  cw_u64 sequence; /* odd while being written; a new even number is a new request */
  cw_u64 mode;     /* CW_MODE_* */
  cw_u64 until_ns; /* host's CLOCK_MONOTONIC; 0 takes the request back */
};
#define CW_CTL_SIZE 4096u

_Static_assert(sizeof(struct cw_op_slot) == 64, "op slot");
_Static_assert(sizeof(struct cw_key_slot) == 576, "key slot");
_Static_assert(sizeof(struct cw_peer_slot) == 192, "peer slot");
_Static_assert(sizeof(struct cw_proxy_slot) == 128, "proxy slot");
_Static_assert(offsetof(struct cw_comm_slot, last_enqueue_ns) % 64 == 0, "caller's line");
_Static_assert(offsetof(struct cw_comm_slot, last_complete_ns) % 64 == 0, "completer's line");
_Static_assert(offsetof(struct cw_comm_slot, last_proxy_ns) % 64 == 0, "proxy's line");
_Static_assert(offsetof(struct cw_comm_slot, peers) % 64 == 0, "peers");
_Static_assert(offsetof(struct cw_comm_slot, keys) % 64 == 0, "keys");
_Static_assert(sizeof(struct cw_comm_slot) <= 256 * 1024, "a communicator stays below 256 KiB");
_Static_assert(sizeof(struct cw_shm_head) <= CW_HEAD_SIZE, "head");

#endif
