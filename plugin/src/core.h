/*
 * The version-free core. The shims translate each ABI version into these calls; nothing here knows a version apart from
 * the number that is published.
 *
 * Rules of the callback path (everything but cw_init and cw_finalize): no allocation, no lock, no system call, no log,
 * no CUDA; the only foreign memory read is the descriptor the shim was given and its strings.
 */
#ifndef COLLWATCH_CORE_H
#define COLLWATCH_CORE_H

#include <pthread.h>
#include <stdbool.h>

#include "nccl_profiler_abi.h"
#include "shm.h"

#define CW_MAX_COMMS 1024u
#define CW_DEFAULT_COMMS 256u
#define CW_LINE 64

/* What a host tells when it sets a communicator up. Absent values are 0, rank -1. */
struct cw_init_args {
  int abi;
  int *mask;
  uint64_t comm_id;
  const char *name;
  int nnodes, nranks, rank;
  cw_logger log;
};

/* One collective or P2P call, from whatever version. */
struct cw_call {
  const char *func, *datatype, *algo, *proto;
  uint64_t seq;
  uint64_t count;
  uint32_t channels; /* 0: unknown */
  int peer;          /* -1: a collective */
  bool symmetric;
  bool copy_engine;
};

/* The private side of a communicator: what callbacks need and readers must not see torn. One line per writing thread. */
struct cw_comm {
  _Alignas(CW_LINE) cw_u64 generation; /* of the open communicator; 0: none */
  struct cw_comm_slot *slot;
  uint64_t last_generation;
  double bus_factor[CW_OP_COUNT];
  uint64_t nranks;
  bool used;       /* has a slot of the present file */
  bool identified; /* v2 and v3 learn the identity from the first event */

  _Alignas(CW_LINE) cw_u64 next_order;
  cw_u64 group; /* groups begun so far */
  cw_u64 first_enqueue_ns;
  uint64_t first_order; /* of this communicator: orders go on when a slot is reused */

  _Alignas(CW_LINE) cw_u64 frontier; /* number of the latest group of which something completed */
  cw_u64 sweep;                      /* every operation below this order has ended */
  cw_u64 pending;                    /* order of an operation that looks complete but whose channels are unknown */

  _Alignas(CW_LINE) cw_u64 next_proxy;
};

/* All private state, in one anonymous mapping that the kernel wipes in a forked child: there it reads as "never used". */
struct cw_proc {
  _Atomic int ready; /* 1: the file is mapped and events count */
  uint32_t pid;
  uint32_t comm_count;
  uint32_t proxy_sample;
  uint64_t salt; /* upper bits of every order, so that foreign handles do not fit */
  uint64_t base_ns;
  uint64_t mono_offset;
  unsigned char *map;
  size_t map_size;
  struct cw_shm_head *head;
  _Atomic(int *) mask;
  _Atomic(struct cw_control *) control;
  cw_u64 control_seen, deadline_ns;
  _Atomic int mode, base_mode, abi;

  _Alignas(CW_LINE) pthread_mutex_t lock; /* init and finalize only; all zeros is an unlocked mutex */
  bool configured, off, warned;
  int fd;
  uint32_t open_comms;
  uint64_t file_dev, file_ino;
  char dir[256], file[128];
  char job_id[128], hostname[64];
  uint32_t global_rank, local_rank;

  _Alignas(CW_LINE) struct cw_comm comms[CW_MAX_COMMS];
};

/* Set once, never changed. The pages behind it are what a fork wipes. */
extern _Atomic(struct cw_proc *) cw_the_proc;

/* Set-up thread. Never fail: without a file they hand out the switched-off context. */
int cw_init(void **ctx, const struct cw_init_args *args);
int cw_finalize(void *ctx);

/* Calling thread, async group thread or CUDA's host-callback thread. They return the handle, NULL for "not followed". */
void *cw_coll_start(void *ctx, const struct cw_call *call);
void *cw_p2p_start(void *ctx, const struct cw_call *call);
void cw_api_call(void *ctx);
void cw_identify(void *ctx, uint64_t comm_id, const char *name, int rank);

/* Progress thread (to NCCL 2.30) or profiler thread (from 2.31). gpu_ns is 0 where the version or the host has none. */
void *cw_kernel_start(void *parent, uint64_t gpu_ns);

/* Progress thread. */
void *cw_proxy_start(void *ctx, void *parent, const cw_abi_proxy_op *op);
void *cw_step_start(void *parent, int step);
void cw_step_record(void *handle, int state);

/* Any thread. */
void cw_stop(void *handle);
void *cw_group_start(void *ctx);
void cw_record(void *handle, int state, uint64_t value); /* value 0: there was none */

#endif
