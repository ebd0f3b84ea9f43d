/* The end of an operation: its duration, its bandwidth and its counters. */
#include "inside.h"

/* An operation this many groups behind a completed one has lost its stops: NCCL runs the groups of one communicator one
 * after the other. Within a group nothing follows from the end of another operation (one P2P of many may hang), and a
 * lagging host reports on a few groups out of order. */
#define CW_SUPERSEDE_GROUPS 16

/* How many slots one completion looks at: more than one, so that the sweep catches up. */
#define CW_SWEEP_STEPS 4

/* A GPU duration that exceeds the host's view of the same operation by this much comes from a stamp of a later
 * operation: the hand-over has 64 places a channel and wraps when the host lags. */
#define CW_GPU_SLACK_NS 1000000u

/* Duration in ns; *cpu says which clock it comes from. 0: none. */
static uint64_t duration(const struct cw_op_slot *o, uint64_t now, bool *cpu) {
  uint64_t begin = cw_get(&o->gpu_min), end = cw_get(&o->gpu_max), enqueued = cw_get(&o->enqueue_ns);
  *cpu = false;
  if (begin != 0 && begin != ~0ull && end != ~0ull && end > begin && now > enqueued &&
      end - begin <= now - enqueued + CW_GPU_SLACK_NS)
    return end - begin;
  *cpu = true;
  uint64_t start = cw_get(&o->start_ns);
  return start && now > start ? now - start : 0;
}

static void count(struct cw_comm *c, const struct cw_op_slot *o, uint64_t now, bool superseded) {
  struct cw_comm_slot *s = c->slot;
  uint64_t key_bytes = cw_get(&o->key_bytes), counts = cw_get(&o->counts);
  uint32_t index = (uint32_t)(key_bytes >> 48);
  uint64_t bytes = key_bytes & ((1ull << 48) - 1);
  struct cw_key_slot *k = &s->keys[index];
  enum cw_op op = (enum cw_op)(atomic_load_explicit(&k->key, CW_RELAXED) & 15);
  if (CW_STARTED(counts) == 0) cw_add(&k->started, 1); /* so that started never stays behind completed */

  bool cpu = false;
  uint64_t ns = superseded ? 0 : duration(o, now, &cpu);
  if (superseded) cw_add(&s->drops_complete[CW_DROP_SUPERSEDED], 1);
  if (cpu && index >= CW_FUNCS) {
    uint32_t key = atomic_load_explicit(&k->key, CW_RELAXED) | CW_KEY_CPU;
    k = &s->keys[cw_key_index(s, key, s->drops_complete)];
  }
  cw_add(&k->completed, 1);
  cw_add(&k->bytes, bytes);
  if (ns == 0) {
    cw_add(&k->untimed, 1);
    return;
  }
  cw_add(&k->busy_ns, ns);
  cw_add(&k->dur[cw_bucket((double)ns * 1e-9, CW_DUR_MIN_EXP, CW_DUR_BUCKETS)], 1);
  double bandwidth = (double)bytes * c->bus_factor[op] * 1e9 / (double)ns;
  cw_add(&k->bw[cw_bucket(bandwidth, CW_BW_MIN_EXP, CW_BW_BUCKETS)], 1);
  cw_add(&k->bw_kbps_sum, (uint64_t)(bandwidth * 1e-3));
}

static struct cw_op_slot *end(struct cw_comm *c, uint64_t order) {
  struct cw_op_slot *o = &c->slot->ops[order % CW_OPS];
  uint64_t tag = order << 8 | CW_TAG_LIVE;
  /* Busy while it is counted: nobody else may count it, and its slot is not reused until that is done. */
  if (!atomic_compare_exchange_strong_explicit(&o->tag, &tag, order << 8 | CW_TAG_BUSY, memory_order_acq_rel, CW_RELAXED))
    return NULL;
  return o;
}

bool cw_superseded(const struct cw_comm *c, const struct cw_op_slot *o) {
  uint16_t behind = (uint16_t)((uint16_t)cw_get(&c->frontier) - CW_GROUP(cw_get(&o->counts)));
  return behind >= CW_SUPERSEDE_GROUPS && behind < 0x8000;
}

/* Follows the oldest operation still in flight and ends those that were left behind. */
static void sweep(struct cw_comm *c, uint64_t now) {
  uint64_t at = cw_get(&c->sweep), head = cw_get(&c->next_order);
  if (head - at > CW_OPS) at = head - CW_OPS;
  for (int i = 0; i < CW_SWEEP_STEPS && at != head; i++, at++) {
    struct cw_op_slot *o = &c->slot->ops[at % CW_OPS];
    uint64_t tag = atomic_load_explicit(&o->tag, memory_order_acquire);
    if (tag >> 8 != at) continue;
    if ((tag & 0xff) == CW_TAG_BUSY) break;
    if ((tag & 0xff) != CW_TAG_LIVE) continue;
    if (!cw_superseded(c, o)) break;
    cw_settle(c, at, now, true);
  }
  cw_put(&c->sweep, at);
}

/* Counts one operation as completed, once, whoever comes first. */
void cw_settle(struct cw_comm *c, uint64_t order, uint64_t now, bool superseded) {
  struct cw_op_slot *o = end(c, order);
  if (!o) return;
  struct cw_comm_slot *s = c->slot;
  uint64_t counts = cw_get(&o->counts);
  bool whole = CW_STARTED(counts) > 0 && CW_STARTED(counts) == CW_FINISHED(counts);
  count(c, o, now, superseded && !whole);
  enum cw_op op = (enum cw_op)(atomic_load_explicit(&s->keys[cw_get(&o->key_bytes) >> 48].key, CW_RELAXED) & 15);
  bool p2p = op == CW_OP_SEND || op == CW_OP_RECV || op == CW_OP_SENDRECV;
  if (!p2p && cw_get(&o->seq) >= cw_get(&s->last_completed_seq[op])) cw_put(&s->last_completed_seq[op], cw_get(&o->seq));
  atomic_store_explicit(&o->tag, order << 8 | CW_TAG_DONE, memory_order_release);
  if (superseded) return;

  cw_put(&s->last_complete_ns, now);
  uint64_t group = CW_GROUP(counts), frontier = cw_get(&c->frontier);
  if ((uint16_t)(group - frontier) < 0x8000) cw_put(&c->frontier, group);
  sweep(c, now);
}
