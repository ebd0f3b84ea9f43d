/* Foreign processes, graph replay, missing, late and double stops, odd channels, repeated steps, full tables. */
#include <string.h>
#include <unistd.h>

#include "scen.h"

/* PXN: operations of another process, whose context and parent are addresses of that process, or look like ours. */
static void foreign(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  void *op = start_coll(&c, 1, 2);
  void *ctx[] = {(void *)0x7f0000001000, c.ctx, NULL, HOST_POISON}, *parent[] = {(void *)0xdead0000, op, HOST_POISON, NULL};
  for (int i = 0; i < 4; i++) {
    struct host_event e = {.type = CW_EV_PROXY_OP, .parent = parent[i], .pid = getpid() + 1, .peer = 1, .send = 1};
    void *h = host_start_ctx(&w->host, ctx[i], &c, &e);
    CHECK(h == NULL, "foreign operation %d got a handle", i);
    struct host_event step = {.type = CW_EV_PROXY_STEP, .parent = h, .step = i};
    void *s = host_start_ctx(&w->host, ctx[i], &c, &step);
    CHECK(s == NULL, "step %d", i);
    struct host_event net = {.type = CW_EV_NET_PLUGIN, .parent = s};
    host_stop(&w->host, host_start_ctx(&w->host, ctx[i], &c, &net));
    host_stop(&w->host, s);
    host_stop(&w->host, h);
  }
  CHECK(world_file(w)->foreign_ops == 4, "counted %lu", world_file(w)->foreign_ops);
}

/* The same CollApi handle as parent, long after its stop, and a sequence number that stands still. */
static void graph_replay(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  void *api = w->version >= 5 ? host_start(&c, &(struct host_event){.type = CW_EV_COLL_API, .func = "AllReduce"}) : NULL;
  host_stop(&w->host, api);
  for (int i = 0; i < 5000; i++) whole_coll(&c, 7, 4, 1000);
  if (w->version < 4) return;
  const struct cw_comm_slot *s = file_comm(world_file(w), 1, 0);
  struct totals got = comm_totals(s);
  CHECK(got.completed == 5000 && s->last_completed_seq[CW_OP_ALLREDUCE] == 7, "completed %lu", got.completed);
}

static void odd_stops(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4), d = world_open(w, 2, 0, 4);
  void *op = start_coll(&c, 1, 3), *k[3];
  for (int i = 0; i < 3; i++) k[i] = start_kernel(&c, op, i, 10);
  host_stop(&w->host, op);
  host_stop(&w->host, op);
  for (int i = 0; i < 3; i++) stop_kernel(&c, k[i], 20);
  for (int i = 0; i < 3; i++) stop_kernel(&c, k[i], 30);
  if (w->version >= 4) CHECK(start_kernel(&c, op, 0, 40) == NULL, "a finished operation took a kernel");
  /* A missing stop: everything after it completes, and so the lost one is given up. */
  void *lost = start_coll(&c, 2, 4);
  stop_kernel(&c, start_kernel(&c, lost, 0, 5), 9);
  for (uint64_t i = 3; i < 100; i++) whole_coll(&c, i, 4, 50);
  if (w->version >= 4) {
    const struct cw_comm_slot *s = file_comm(world_file(w), 1, 0);
    struct totals got = comm_totals(s);
    CHECK(got.live == 0 && got.completed == 99 && got.started == 99, "live %lu completed %lu started %lu", got.live, got.completed, got.started);
    CHECK(s->unmatched_stops == 3, "unmatched %lu", s->unmatched_stops);
    CHECK(s->drops_complete[CW_DROP_SUPERSEDED] + got.cpu_completed + got.untimed <= 2, "the lost one");
  }
  void *proxy = start_proxy(&c, start_coll(&c, 200, 4), getpid(), 0, 1, 1);
  void *step = start_step(&c, proxy, 0);
  host_finalize(&c);
  host_stop(&w->host, step);
  host_stop(&w->host, proxy);
  for (int i = 0; i < 3; i++) stop_kernel(&c, k[i], 20);
  /* The same slot with a new occupant: nothing of the old one may touch it. */
  struct host_comm e = world_open(w, 3, 0, 4);
  void *fresh = start_coll(&e, 1, 3);
  for (int i = 0; i < 3; i++) stop_kernel(&c, k[i], 20);
  CHECK(!fresh || start_kernel(&d, op, 1, 1) == NULL, "old handle");
  if (w->version >= 4) CHECK(comm_totals(file_comm(world_file(w), 3, 0)).started == 0, "touched");
}

/* Up to 512 channels in a one-byte number, ids that do not begin at 0, a number of channels that is 0 or wrong. */
static void channels(struct world *w) {
  if (w->version < 4) return;
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  static const struct { int channels, first, told; } cases[] = {{128, 0, 128}, {64, 40, 64}, {1, 63, 1}, {512, 0, 0}, {8, 0, 0}, {128, 128, 128}, {4, 0, 2}};
  void *k[512];
  uint64_t n = sizeof cases / sizeof cases[0];
  for (uint64_t i = 0; i < n; i++) {
    void *op = start_coll(&c, i + 1, cases[i].told);
    for (int ch = 0; ch < cases[i].channels; ch++) k[ch] = start_kernel(&c, op, cases[i].first + ch, 1000);
    for (int ch = 0; ch < cases[i].channels; ch++) stop_kernel(&c, k[ch], 3000);
  }
  whole_coll(&c, n + 1, 2, 10);
  struct totals got = comm_totals(file_comm(world_file(w), 1, 0));
  CHECK(got.completed == n + 1 && got.live == 0, "completed %lu live %lu", got.completed, got.live);
  CHECK(got.busy == n * 2000 + 11, "busy %lu", got.busy);
}

/* A send that is refused 10,000 times, a receive that is started 10,000 times with one stop, steps far beyond 8. */
static void repeated_steps(struct world *w) {
  if (w->version < 4) return;
  setenv("COLLWATCH_MODE", "deep", 1);
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  CHECK(w->mask & CW_EV_PROXY_STEP, "mask %x", w->mask);
  void *op = start_coll(&c, 1, 1), *send = start_proxy(&c, op, getpid(), 0, 1, 1), *recv = start_proxy(&c, op, getpid(), 0, 3, 0);
  void *s = start_step(&c, send, 0), *r = NULL;
  host_record(&w->host, s, CW_ST_STEP_SEND_GPU_WAIT, 0, true);
  for (int i = 0; i < 10000; i++) host_record(&w->host, s, CW_ST_STEP_SEND_PEER_WAIT, 0, true);
  for (int i = 0; i < 10000; i++) {
    void *again = start_step(&c, recv, 0);
    CHECK(again && (!r || again == r), "the same step must have the same handle");
    r = again;
  }
  const struct cw_comm_slot *slot = file_comm(world_file(w), 1, 0);
  const struct cw_proxy_slot *p = &slot->proxies[1 % CW_PROXIES];
  for (unsigned i = 0; i < CW_PROXIES; i++)
    if ((slot->proxies[i].tag & 0xff) == CW_TAG_LIVE && (slot->proxies[i].info >> 40 & 1)) p = &slot->proxies[i];
  CHECK(p->step[0] >> 60 == CW_PH_PEER_WAIT, "phase %lu", (unsigned long)(p->step[0] >> 60));
  host_record(&w->host, s, CW_ST_STEP_SEND_WAIT, 100, true);
  host_record(&w->host, s, CW_ST_STEP_SEND_PEER_WAIT, 0, true); /* late: a step does not go back */
  host_record(&w->host, s, CW_ST_STEP_RECV_WAIT, 0, true);      /* of the other direction */
  CHECK(p->step[0] >> 60 == CW_PH_WIRE, "phase %lu", (unsigned long)(p->step[0] >> 60));
  host_stop(&w->host, s);
  int order[] = {CW_ST_STEP_RECV_WAIT, CW_ST_STEP_RECV_FLUSH_WAIT, CW_ST_STEP_RECV_GPU_WAIT};
  for (int i = 0; i < 3; i++) {
    usleep(2000);
    host_record(&w->host, r, order[i], 0, true);
  }
  usleep(2000);
  host_stop(&w->host, r);
  for (int i = 1; i < 5000; i++) {
    void *x = start_step(&c, send, i);
    if (i % 3) host_stop(&w->host, x); /* they need not pair up */
  }
  host_stop(&w->host, send);
  host_stop(&w->host, recv);
  host_stop(&w->host, recv);
  const struct cw_dir_slot *in = &slot->peers[3].dir[1], *out = &slot->peers[1].dir[0];
  CHECK(slot->peers[3].peer == 4 && slot->peers[1].peer == 2, "peers");
  for (int i = 0; i < 4; i++) CHECK(in->wait_ns[i] >= 1000000 && in->wait_ns[i] < 60000000000, "receive phase %d: %lu", i, in->wait_ns[i]);
  CHECK(in->proxy_completed == 1 && out->proxy_completed == 1, "completed");
  CHECK(out->wait_ns[1] > 0 && out->wait_ns[3] == 0, "send");
}

/* One P2P of a big group hangs while all others end, and many groups of other work before it ended: it stays visible. */
static void one_of_many(struct world *w) {
  if (w->version < 4) return;
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 512);
  for (uint64_t i = 1; i < 40; i++) whole_coll(&c, i, 2, 10);
  host_start(&c, &(struct host_event){.type = CW_EV_GROUP});
  void *op[300];
  for (int i = 0; i < 300; i++) {
    struct host_event e = ev_p2p(i % 2 ? "Send" : "Recv", i, 4096);
    e.channels = 1;
    op[i] = host_start(&c, &e);
  }
  for (int i = 1; i < 300; i++) stop_kernel(&c, start_kernel(&c, op[i], 0, 5), 9);
  start_kernel(&c, op[0], 0, 5);
  const struct cw_comm_slot *s = file_comm(world_file(w), 1, 0);
  struct totals got = comm_totals(s);
  CHECK(got.live == 1 && comm_live_op(s, 0)->seq == 0, "the hanging one is gone: %lu", got.live);
}

/* Nothing completes and the tables fill: drops are counted, nothing blocks, and afterwards all works again. */
static void full_tables(struct world *w) {
  if (w->version < 4) return;
  setenv("COLLWATCH_MODE", "deep", 1);
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  static void *op[4 * CW_OPS], *proxy[4 * CW_PROXIES];
  stop_kernel(&c, start_kernel(&c, start_coll(&c, 0, 1), 0, 1), 10);
  for (uint64_t i = 0; i < 4 * CW_OPS; i++) op[i] = start_coll(&c, i + 1, 1);
  for (int i = 0; i < (int)(4 * CW_PROXIES); i++) proxy[i] = start_proxy(&c, op[0], getpid(), i % 64, i % 300, i % 2);
  const struct cw_comm_slot *s = file_comm(world_file(w), 1, 0);
  struct totals got = comm_totals(s);
  CHECK(got.enqueued == 4 * CW_OPS + 1 && got.live == CW_OPS, "live %lu", got.live);
  CHECK(s->drops_enqueue[CW_DROP_OPS_FULL] == 3 * CW_OPS, "drops %lu", s->drops_enqueue[CW_DROP_OPS_FULL]);
  CHECK(s->drops_proxy[CW_DROP_PROXIES_FULL] + s->drops_proxy[CW_DROP_PEERS_FULL] >= 3 * CW_PROXIES, "proxies");
  CHECK(s->drops_proxy[CW_DROP_PEERS_FULL] > 0, "peers");
  for (unsigned i = 0; i < 4 * CW_PROXIES; i++) host_stop(&w->host, proxy[i]);
  for (unsigned i = 0; i < 4 * CW_OPS; i++) stop_kernel(&c, start_kernel(&c, op[i], 0, 5), 9);
  got = comm_totals(s);
  CHECK(got.completed == CW_OPS + 1 && got.live == 0, "completed %lu", got.completed);
  whole_coll(&c, 99999, 4, 10);
  CHECK(comm_totals(s).completed == CW_OPS + 2, "works again");
  for (uint64_t bytes = 1; bytes < 1ull << 40; bytes *= 2)
    for (int i = 0; i < 4; i++) {
      struct host_event e = ev_coll(1, 1);
      e.datatype = "ncclInt8";
      e.count = bytes;
      e.algo = i % 2 ? "RING" : "TREE";
      e.proto = i / 2 ? "LL" : "LL128";
      stop_kernel(&c, start_kernel(&c, host_start(&c, &e), 0, 5), 9);
    }
  got = comm_totals(s);
  CHECK(s->drops_enqueue[CW_DROP_KEYS_FULL] > 0 && got.completed == CW_OPS + 2 + 160, "keys: %lu", got.completed);
}

const struct scenario scen_hostile[] = {
  {"foreign", 2, foreign}, {"graph_replay", 2, graph_replay}, {"odd_stops", 2, odd_stops}, {"channels", 4, channels}, {"one_of_many", 4, one_of_many},
  {"repeated_steps", 4, repeated_steps}, {"full_tables", 4, full_tables}, {0},
};
