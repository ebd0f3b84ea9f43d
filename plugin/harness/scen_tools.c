#include "scen.h"

#include <string.h>

const struct cw_comm_slot *file_comm(const struct cw_shm_head *h, uint64_t id, int rank) {
  for (uint32_t i = 0; i < h->comm_count; i++) {
    const struct cw_comm_slot *s = (const void *)((const unsigned char *)h + h->head_size + (size_t)i * h->comm_size);
    if ((s->state == CW_COMM_OPEN || s->state == CW_COMM_CLOSED) && s->comm_id == id && (int)s->rank == rank) return s;
  }
  return NULL;
}

struct totals comm_totals(const struct cw_comm_slot *s) {
  struct totals t = {0};
  for (unsigned i = 0; i < CW_KEYS; i++) {
    const struct cw_key_slot *k = &s->keys[i];
    t.enqueued += k->enqueued;
    t.started += k->started;
    t.completed += k->completed;
    t.bytes += k->bytes;
    t.untimed += k->untimed;
    t.busy += k->busy_ns;
    if (k->key & CW_KEY_CPU) t.cpu_completed += k->completed;
    for (unsigned b = 0; b < CW_DUR_BUCKETS; b++) t.durations += k->dur[b];
  }
  for (unsigned i = 0; i < CW_OPS; i++) t.live += (s->ops[i].tag & 0xff) == CW_TAG_LIVE;
  for (unsigned i = 0; i < CW_DROP_COUNT; i++) t.drops += s->drops_enqueue[i] + s->drops_complete[i] + s->drops_proxy[i];
  return t;
}

const struct cw_op_slot *comm_live_op(const struct cw_comm_slot *s, unsigned nth) {
  for (unsigned i = 0; i < CW_OPS; i++)
    if ((s->ops[i].tag & 0xff) == CW_TAG_LIVE && nth-- == 0) return &s->ops[i];
  return NULL;
}

struct host_event ev_coll(uint64_t seq, int channels) {
  return (struct host_event){.type = CW_EV_COLL, .func = "AllReduce", .datatype = "ncclFloat32", .algo = "RING",
                             .proto = "SIMPLE", .seq = seq, .count = 1 << 18, .channels = channels};
}

struct host_event ev_p2p(const char *func, int peer, uint64_t bytes) {
  return (struct host_event){.type = CW_EV_P2P, .func = func, .datatype = "ncclInt8", .count = bytes, .peer = peer,
                             .channels = -1};
}

void *start_coll(struct host_comm *c, uint64_t seq, int channels) {
  struct host_event e = ev_coll(seq, channels);
  e.rank = c->rank;
  return host_start(c, &e);
}

void *start_kernel(struct host_comm *c, void *op, int channel, uint64_t gpu_ns) {
  return host_start(c, &(struct host_event){.type = CW_EV_KERNEL_CH, .parent = op, .channel = channel, .gpu_ns = gpu_ns});
}

void stop_kernel(struct host_comm *c, void *kernel, uint64_t gpu_ns) {
  if (c->host->version >= 4) host_record(c->host, kernel, CW_ST_KERNEL_CH_STOP, gpu_ns, true);
  host_stop(c->host, kernel);
}

void whole_coll(struct host_comm *c, uint64_t seq, int channels, uint64_t gpu_ns) {
  void *group = host_start(c, &(struct host_event){.type = CW_EV_GROUP}), *kernel[256];
  void *op = start_coll(c, seq, channels);
  host_stop(c->host, op);
  host_stop(c->host, group);
  if (c->host->version < 3) return;
  for (int i = 0; i < channels; i++) kernel[i] = start_kernel(c, op, i, 1000000 + (uint64_t)i);
  for (int i = 0; i < channels; i++) stop_kernel(c, kernel[i], 1000000 + gpu_ns + (uint64_t)i);
}

void *start_proxy(struct host_comm *c, void *op, int pid, int channel, int peer, int send) {
  return host_start(c, &(struct host_event){.type = CW_EV_PROXY_OP, .parent = op, .rank = c->rank, .pid = pid,
                                            .channel = channel, .peer = peer, .nsteps = 16, .chunk = 524288, .send = send});
}

void *start_step(struct host_comm *c, void *proxy, int step) {
  return host_start(c, &(struct host_event){.type = CW_EV_PROXY_STEP, .parent = proxy, .rank = c->rank, .step = step});
}
