/* The true order of calls on three threads; parents, unknown types and states, NULLs; what adapters leave as garbage. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "scen.h"

enum { RING = 256, OPS = 3000, CHANNELS = 6 };

/* Hands operations from the calling thread to the progress thread, as NCCL's proxy queue does. */
struct pipe {
  struct host_comm *c;
  pthread_mutex_t order; /* the work of one communicator has an order, whoever gives it */
  _Atomic(void *) op[RING];
  _Atomic int put, got;
};

struct feeder {
  struct pipe *p;
  bool graph;
};

static void *caller(void *arg) {
  struct feeder *f = arg;
  struct pipe *p = f->p;
  struct host_comm *c = p->c;
  for (int i = 0; i < OPS; i++) {
    void *api = NULL;
    if (c->host->version >= 5 && !f->graph) {
      void *group_api = host_start(c, &(struct host_event){.type = CW_EV_GROUP_API});
      api = host_start(c, &(struct host_event){.type = CW_EV_COLL_API, .parent = group_api, .func = "AllReduce", .datatype = "ncclFloat32"});
      host_stop(c->host, api);
      host_record(c->host, group_api, CW_ST_GROUP_START_API_STOP, 0, false);
      host_record(c->host, group_api, CW_ST_GROUP_END_API_START, 0, false);
      host_stop(c->host, host_start(c, &(struct host_event){.type = CW_EV_KERNEL_LAUNCH, .parent = group_api}));
      host_stop(c->host, group_api);
    }
    pthread_mutex_lock(&p->order);
    while (p->put - p->got >= RING - 1) sched_yield();
    void *group = host_start(c, &(struct host_event){.type = CW_EV_GROUP, .parent = NULL});
    CHECK(group && group != HOST_POISON, "Group must have a handle, or NCCL up to 2.27 sends nothing below it");
    struct host_event e = ev_coll((uint64_t)i + 1, CHANNELS);
    e.parent = api;
    void *op = host_start(c, &e);
    CHECK(op != HOST_POISON, "handle not written");
    p->op[p->put % RING] = op;
    p->put++; /* from here kernel events race with the stops below */
    pthread_mutex_unlock(&p->order);
    host_stop(c->host, op);
    host_stop(c->host, group);
  }
  return NULL;
}

static void *progress(void *arg) {
  struct pipe *p = arg;
  struct host_comm *c = p->c;
  for (int i = 0; i < 2 * OPS; i++) {
    while (p->got == p->put) sched_yield();
    void *op = p->op[i % RING], *kernel[CHANNELS];
    uint64_t t = 1000000u * (uint64_t)(i + 1);
    for (int ch = 0; ch < CHANNELS && c->host->version >= 3; ch++) kernel[ch] = start_kernel(c, op, ch + 3, t + (uint64_t)ch);
    for (int ch = 0; ch < CHANNELS && c->host->version >= 3; ch++) stop_kernel(c, kernel[ch], t + 20 + (uint64_t)ch);
    p->got++;
  }
  return NULL;
}

/* Two callers on one communicator: the application's thread and CUDA's host-callback thread (graphs). */
static void three_threads(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  static struct pipe p = {.order = PTHREAD_MUTEX_INITIALIZER};
  struct feeder app = {&p, false}, graph = {&p, true};
  pthread_t t[3];
  p.c = &c;
  pthread_create(&t[0], NULL, caller, &app);
  pthread_create(&t[1], NULL, caller, &graph);
  pthread_create(&t[2], NULL, progress, &p);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  if (w->version < 4) return;
  const struct cw_comm_slot *s = file_comm(world_file(w), 1, 0);
  struct totals got = comm_totals(s);
  CHECK(got.enqueued == 2 * OPS && got.started == 2 * OPS && got.completed == 2 * OPS && got.live == 0 && got.drops == 0,
        "enqueued %lu started %lu completed %lu live %lu drops %lu", got.enqueued, got.started, got.completed, got.live, got.drops);
  CHECK(got.cpu_completed == 0 && got.untimed == 0, "GPU stamps were there");
  CHECK(got.busy == 2ull * OPS * (20 + CHANNELS - 1), "busy %lu", got.busy);
  CHECK(got.bytes == 2ull * OPS << 20, "bytes %lu", got.bytes);
}

/* Parents and events nobody asked for, unknown types and states, all bits at once, a mask that flips. */
static void unknown_things(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  for (int bit = 0; bit < (w->version >= 5 ? 40 : 8); bit++) {
    struct host_event e = {.type = 1ull << bit, .func = "Something", .datatype = "ncclNew", .algo = "X", .proto = "",
                           .pid = -1, .channels = 1};
    void *h = host_start(&c, &e);
    CHECK(h != HOST_POISON, "handle of bit %d not written", bit);
    for (int state = -1; state < 64; state++) host_record(&w->host, h, state, 0, state % 2);
    host_stop(&w->host, h);
  }
  struct host_event all = {.type = w->version >= 5 ? ~0ull : 0xff};
  CHECK(host_start(&c, &all) == NULL, "all bits at once");
  for (int i = 0; i < 100; i++) {
    __atomic_store_n(&w->mask, i % 3 ? w->mask ^ CW_EV_KERNEL_CH : 0, __ATOMIC_RELAXED);
    whole_coll(&c, (uint64_t)i, 4, 100);
    CHECK(world_file(w)->mask == (uint32_t)w->mask, "the mask that counts is the host's");
  }
}

static void nulls(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  cw_abi_table_v4 *t = w->host.table; /* the shape of these calls is the same in every version */
  CHECK(t->stopEvent(NULL) == 0 && t->recordEventState(NULL, 22, NULL) == 0 && t->recordEventState(NULL, 8, NULL) == 0, "NULL handle");
  CHECK(t->finalize(NULL) == 0, "NULL context");
  struct host_event e = ev_coll(1, 4);
  CHECK(host_start_ctx(&w->host, NULL, &c, &e) == NULL, "NULL context gave a handle");
  CHECK(host_start_ctx(&w->host, (void *)0x1000, &c, &e) == NULL, "foreign context gave a handle");
  e.func = e.datatype = e.algo = e.proto = NULL;
  host_stop(&w->host, host_start(&c, &e));
  void *h = HOST_POISON;
  CHECK(t->startEvent(c.ctx, &h, NULL) == 0 && h == NULL, "NULL descriptor");
  CHECK(t->startEvent(c.ctx, NULL, NULL) == 0, "NULL handle place");
  void *op = start_coll(&c, 2, 1), *k = start_kernel(&c, op, 0, 5);
  host_record(&w->host, k, CW_ST_KERNEL_CH_STOP, 0, false); /* no args: this channel has no GPU time */
  host_stop(&w->host, k);
  if (w->version >= 4) CHECK(comm_totals(file_comm(world_file(w), 1, 0)).cpu_completed == 1, "must not be timed by the GPU");
}

/* Garbage around one-byte types and in what adapters leave unset; every descriptor of the host is filled with 0xA5. */
static void adapter_truth(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  for (uint64_t i = 0; i < 10; i++) {
    struct host_event e = ev_p2p("Send", 2, 4096);
    void *op = host_start(&c, &e);
    if (w->version < 3) continue;
    void *k = start_kernel(&c, op, 0, 10);
    stop_kernel(&c, k, 4010);
  }
  if (w->version < 4) return;
  struct totals got = comm_totals(file_comm(world_file(w), 1, 0));
  CHECK(got.enqueued == 10, "enqueued %lu", got.enqueued);
  /* v7's number of channels is exact by contract, so there garbage means an operation that never ends. */
  if (w->version < 7) CHECK(got.completed == 9, "the last one is complete once the next begins: %lu", got.completed);
}

const struct scenario scen_order[] = {
  {"three_threads", 2, three_threads}, {"unknown_things", 2, unknown_things}, {"nulls", 2, nulls}, {"adapter_truth", 2, adapter_truth}, {0},
};
