/* What scenarios share: a loaded plugin, a folder of their own, short ways to play NCCL, and a view of the data file. */
#ifndef COLLWATCH_HARNESS_SCEN_H
#define COLLWATCH_HARNESS_SCEN_H

#include <stdio.h>
#include <stdlib.h>

#include "host.h"
#include "shm.h"

#define CHECK(cond, ...)                                              \
  do {                                                                \
    if (!(cond)) {                                                    \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond);      \
      fprintf(stderr, __VA_ARGS__);                                   \
      fprintf(stderr, "\n");                                          \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

struct world {
  int version;
  const char *dir;
  struct host host;
  int mask;
  int warnings; /* lines the plugin logged */
};

struct scenario {
  const char *name;
  int oldest; /* first version it makes sense for */
  void (*run)(struct world *w);
};

extern const struct scenario scen_life[], scen_order[], scen_hostile[], scen_stall[], scen_bad[];

void world_load(struct world *w);
struct host_comm world_comm(struct world *w, uint64_t id, int rank, int nranks);
struct host_comm world_open(struct world *w, uint64_t id, int rank, int nranks);

/* Maps the newest data file of the folder read-only; NULL if there is none. */
const struct cw_shm_head *world_file(struct world *w);
const struct cw_comm_slot *file_comm(const struct cw_shm_head *h, uint64_t id, int rank);
struct totals { uint64_t enqueued, started, completed, bytes, untimed, busy, cpu_completed, durations, live, drops; };
struct totals comm_totals(const struct cw_comm_slot *s);
const struct cw_op_slot *comm_live_op(const struct cw_comm_slot *s, unsigned nth);

struct host_event ev_coll(uint64_t seq, int channels);
struct host_event ev_p2p(const char *func, int peer, uint64_t bytes);
void *start_coll(struct host_comm *c, uint64_t seq, int channels);
void *start_kernel(struct host_comm *c, void *op, int channel, uint64_t gpu_ns);
void stop_kernel(struct host_comm *c, void *kernel, uint64_t gpu_ns);
/* One collective in the order NCCL does it, on one thread. */
void whole_coll(struct host_comm *c, uint64_t seq, int channels, uint64_t gpu_ns);
void *start_proxy(struct host_comm *c, void *op, int pid, int channel, int peer, int send);
void *start_step(struct host_comm *c, void *proxy, int step);

#endif
