/* Plays NCCL towards a profiler plugin, for the harness, fakerank and the benchmark. */
#ifndef COLLWATCH_HARNESS_HOST_H
#define COLLWATCH_HARNESS_HOST_H

#include "nccl_profiler_abi.h"

/* A superset of every version's descriptor; the emitter of a version fills in what that version has and leaves 0xA5 in
 * everything else, as adapters do. */
struct host_event {
  uint64_t type;
  void *parent;
  int rank;
  const char *func, *datatype, *algo, *proto;
  uint64_t seq, count;
  int channels, peer; /* channels below 0: leave garbage */
  bool symmetric;
  int pid, channel, nsteps, chunk, send; /* proxy operation; channel also of kernel events */
  int step;
  uint64_t gpu_ns;
};

struct host {
  void *lib;
  int version; /* of the table in use */
  void *table;
  int *mask;
  cw_logger log;
};

struct host_comm {
  struct host *host;
  void *ctx;
  uint64_t id;
  const char *name;
  int nnodes, nranks, rank;
};

/* NCCL's rules for NCCL_PROFILER_PLUGIN: the value as it is, then libnccl-profiler-VALUE.so; tables from `newest` down.
 * NULL value: libnccl-profiler.so. False if nothing was found; the reason is in dlerror(). */
bool host_load(struct host *h, const char *value, int newest);
void host_unload(struct host *h);

int host_init(struct host_comm *c);
int host_finalize(struct host_comm *c);
/* Starts an event with a poisoned handle place and returns what the plugin wrote there. */
void *host_start(struct host_comm *c, const struct host_event *e);
/* The same with any context, which may be NULL or foreign. */
void *host_start_ctx(struct host *h, void *ctx, struct host_comm *identity, const struct host_event *e);
void host_stop(struct host *h, void *handle);
void host_record(struct host *h, void *handle, int state, uint64_t value, bool args);

#define HOST_POISON ((void *)(uintptr_t)0xa5a5a5a5a5a5a5a5ull)

#endif
