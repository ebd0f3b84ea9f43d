/* Collectives, P2P operations and their kernel channels: from the call to the last channel's stop. */
#include "inside.h"

/* How long a host may enqueue without ever sending a kernel event before we stop believing that it will. A job that
 * hangs in its very first collective stops enqueueing long before that. */
#define CW_NO_KERNEL_NS 10000000000ull
#define CW_NO_KERNEL_OPS 32

static uint64_t payload(const struct cw_comm *c, enum cw_op op, const struct cw_call *call) {
  uint64_t bytes = call->count * cw_type_size(call->datatype);
  /* AllGather's count arrives in bytes, but per rank, as ReduceScatter's does. */
  if ((op == CW_OP_ALLGATHER || op == CW_OP_REDUCESCATTER) && c->nranks > 1) bytes *= c->nranks;
  return bytes & ((1ull << 48) - 1);
}

static bool tracking(struct cw_proc *p, struct cw_comm *c, uint64_t now) {
  struct cw_comm_slot *s = c->slot;
  /* Others may change the mask too: NCCL's RAS can, for the whole job. */
  int *mask = atomic_load_explicit(&p->mask, CW_RELAXED);
  uint32_t bits = mask ? (uint32_t)__atomic_load_n(mask, __ATOMIC_RELAXED) : 0;
  if (CW_RARELY(bits != atomic_load_explicit(&p->head->mask, CW_RELAXED)))
    atomic_store_explicit(&p->head->mask, bits, CW_RELAXED);
  if (!(bits & CW_EV_KERNEL_CH)) return false;
  if (atomic_load_explicit(&s->kernel_seen, CW_RELAXED)) return true;
  uint64_t first = cw_get(&c->first_enqueue_ns);
  if (first == 0) {
    cw_put(&c->first_enqueue_ns, now);
    return true;
  }
  if (now - first > CW_NO_KERNEL_NS && cw_get(&c->next_order) - c->first_order > CW_NO_KERNEL_OPS)
    atomic_store_explicit(&s->tracking, 0, CW_RELAXED);
  if (atomic_load_explicit(&s->tracking, CW_RELAXED)) return true;
  cw_add(&s->drops_enqueue[CW_DROP_NO_KERNEL], 1);
  return false;
}

/* Takes the next slot of the ring. A slot still in use is given up only if its stop was lost. */
static struct cw_op_slot *take(struct cw_comm *c, uint64_t now, uint64_t *order) {
  *order = atomic_fetch_add_explicit(&c->next_order, 1, CW_RELAXED) & CW_ORDER_MASK;
  struct cw_op_slot *o = &c->slot->ops[*order % CW_OPS];
  uint64_t tag = cw_get(&o->tag);
  if ((tag & 0xff) == CW_TAG_LIVE) {
    if (!cw_superseded(c, o)) return NULL;
    cw_settle(c, tag >> 8, now, true);
    tag = cw_get(&o->tag);
  }
  if ((tag & 0xff) == CW_TAG_LIVE || (tag & 0xff) == CW_TAG_BUSY) return NULL;
  if (!atomic_compare_exchange_strong_explicit(&o->tag, &tag, *order << 8 | CW_TAG_BUSY, memory_order_acq_rel, CW_RELAXED))
    return NULL;
  return o;
}

static void *begin(struct cw_proc *p, struct cw_comm *c, const struct cw_call *call, enum cw_op op, uint32_t key,
                   uint64_t bytes, uint64_t seq) {
  struct cw_comm_slot *s = c->slot;
  uint64_t now = cw_now();
  cw_put(&s->last_enqueue_ns, now);
  cw_mode_tick(p, now);

  uint32_t index = cw_key_index(s, key, s->drops_enqueue);
  cw_add(&s->keys[index].enqueued, 1);
  if (call->peer < 0) cw_put(&s->last_enqueued_seq[op], seq);
  if (call->copy_engine || !tracking(p, c, now)) {
    cw_add(&s->keys[index].untracked_bytes, bytes);
    return NULL;
  }

  uint64_t order;
  struct cw_op_slot *o = take(c, now, &order);
  if (!o) {
    cw_add(&s->drops_enqueue[CW_DROP_OPS_FULL], 1);
    return NULL;
  }
  atomic_thread_fence(memory_order_release);
  cw_put(&o->counts, (uint64_t)(call->channels & 0xffff) << 32 | cw_get(&c->group) << 48);
  cw_put(&o->seq, seq);
  cw_put(&o->enqueue_ns, now);
  cw_put(&o->start_ns, 0);
  cw_put(&o->gpu_min, ~0ull);
  cw_put(&o->gpu_max, 0);
  cw_put(&o->key_bytes, (uint64_t)index << 48 | bytes);
  atomic_store_explicit(&o->tag, order << 8 | CW_TAG_LIVE, memory_order_release);
  return cw_handle(CW_KIND_OP, cw_comm_index(p, c), order, 0);
}

void *cw_coll_start(void *ctx, const struct cw_call *call) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c = p ? cw_comm_of(p, ctx) : NULL;
  if (!c) return NULL;
  enum cw_op op = cw_op_of(call->func);
  enum cw_algo algo = call->copy_engine ? CW_ALGO_CE : call->symmetric ? CW_ALGO_SYM : cw_algo_of(call->algo);
  uint64_t bytes = payload(c, op, call);
  return begin(p, c, call, op, CW_KEY(op, cw_size_class(bytes), algo, cw_proto_of(call->proto)), bytes, call->seq);
}

void *cw_p2p_start(void *ctx, const struct cw_call *call) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c = p ? cw_comm_of(p, ctx) : NULL;
  if (!c) return NULL;
  enum cw_op op = cw_op_of(call->func);
  uint64_t bytes = payload(c, op, call);
  struct cw_peer_slot *peer = cw_peer_at(c->slot, call->peer, c->slot->drops_enqueue);
  if (peer && (op == CW_OP_SEND || op == CW_OP_RECV)) {
    struct cw_dir_slot *dir = &peer->dir[op == CW_OP_RECV];
    cw_add(&dir->p2p_ops, 1);
    cw_add(&dir->p2p_bytes, bytes);
  }
  return begin(p, c, call, op, CW_KEY(op, cw_size_class(bytes), CW_ALGO_P2P, CW_PROTO_UNKNOWN), bytes,
               (uint64_t)(uint32_t)call->peer);
}

void cw_api_call(void *ctx) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c = p ? cw_comm_of(p, ctx) : NULL;
  if (c) cw_add(&c->slot->api_calls, 1);
}

/* Also for contexts that are not ours: the handle is a constant and the number only tells batches of work apart. */
void *cw_group_start(void *ctx) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c = p ? cw_comm_of(p, ctx) : NULL;
  if (c) cw_add(&c->group, 1);
  return cw_handle(CW_KIND_GROUP, 0, 0, 0);
}

/*
 * The slot of an operation if the handle still names its occupant. That the communicator is still open need not be asked:
 * orders never repeat, so after a slot was cleared or the file was dropped no tag fits.
 */
static inline struct cw_op_slot *live(struct cw_proc *p, const void *handle, struct cw_comm **comm) {
  uint32_t index = cw_handle_comm(handle);
  *comm = NULL;
  if (CW_RARELY(index >= p->comm_count)) return NULL;
  struct cw_comm *c = &p->comms[index];
  uint64_t order = cw_handle_order(handle);
  struct cw_op_slot *o = &c->slot->ops[order % CW_OPS];
  *comm = c;
  return atomic_load_explicit(&o->tag, memory_order_acquire) == (order << 8 | CW_TAG_LIVE) ? o : NULL;
}

static CW_COLD void first_start(struct cw_comm *c, struct cw_op_slot *o, uint64_t order) {
  struct cw_comm_slot *s = c->slot;
  uint64_t now = cw_now();
  cw_put(&o->start_ns, now);
  cw_put(&s->last_complete_ns, now);
  if (!atomic_load_explicit(&s->kernel_seen, CW_RELAXED)) {
    atomic_store_explicit(&s->kernel_seen, 1, CW_RELAXED);
    atomic_store_explicit(&s->tracking, 1, CW_RELAXED);
  }
  cw_add(&s->keys[cw_get(&o->key_bytes) >> 48].started, 1);
  uint64_t pending = cw_get(&c->pending);
  if (pending && pending != order) {
    cw_put(&c->pending, 0);
    cw_settle(c, pending, now, false);
  }
}

void *cw_kernel_start(void *parent, uint64_t gpu_ns) {
  struct cw_proc *p = cw_proc_ready();
  if (CW_RARELY(!p) || cw_handle_kind(parent) != CW_KIND_OP) return NULL;
  struct cw_comm *c;
  struct cw_op_slot *o = live(p, parent, &c);
  if (CW_RARELY(!o)) return NULL;
  uint64_t before = atomic_fetch_add_explicit(&o->counts, CW_COUNT_STARTED, CW_RELAXED);
  if (CW_STARTED(before) == 0) first_start(c, o, cw_handle_order(parent));
  if (gpu_ns < cw_get(&o->gpu_min)) cw_put(&o->gpu_min, gpu_ns);
  return cw_handle(CW_KIND_KERNEL, cw_handle_comm(parent), cw_handle_order(parent), 0);
}

static inline void kernel_record(void *handle, uint64_t gpu_ns) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c;
  struct cw_op_slot *o = p ? live(p, handle, &c) : NULL;
  if (CW_RARELY(!o)) return;
  if (gpu_ns == 0) gpu_ns = ~0ull;
  if (gpu_ns > cw_get(&o->gpu_max)) cw_put(&o->gpu_max, gpu_ns);
}

/* All channels that began have ended. */
static CW_COLD void all_stopped(struct cw_comm *c, uint64_t order, uint64_t counts) {
  uint32_t finished = CW_FINISHED(counts), expected = CW_EXPECTED(counts);
  if (finished > CW_STARTED(counts)) {
    cw_add(&c->slot->unmatched_stops, 1);
    return;
  }
  if (expected) {
    if (finished >= expected) cw_settle(c, order, cw_now(), false);
    return;
  }
  /* The number of channels is unknown: it looks complete, and is once the next operation's kernel begins. */
  uint64_t now = cw_now();
  cw_put(&c->slot->last_complete_ns, now);
  uint64_t pending = atomic_exchange_explicit(&c->pending, order, CW_RELAXED);
  if (pending && pending != order) cw_settle(c, pending, now, false);
}

static inline void kernel_stop(struct cw_proc *p, void *handle) {
  struct cw_comm *c;
  struct cw_op_slot *o = live(p, handle, &c);
  if (CW_RARELY(!o)) {
    if (c) cw_add(&c->slot->unmatched_stops, 1);
    return;
  }
  uint64_t counts = atomic_fetch_add_explicit(&o->counts, CW_COUNT_FINISHED, CW_RELAXED) + CW_COUNT_FINISHED;
  if (CW_FINISHED(counts) >= CW_STARTED(counts)) all_stopped(c, cw_handle_order(handle), counts);
}

void cw_proxy_stop(struct cw_proc *p, void *handle);
void cw_step_stop(struct cw_proc *p, void *handle);

void cw_stop(void *handle) {
  struct cw_proc *p = cw_proc_ready();
  if (CW_RARELY(!p)) return;
  enum cw_kind kind = cw_handle_kind(handle);
  if (kind == CW_KIND_KERNEL) {
    kernel_stop(p, handle);
    return;
  }
  switch (kind) {
  case CW_KIND_STEP: cw_step_stop(p, handle); return;
  case CW_KIND_PROXY: cw_proxy_stop(p, handle); return;
  default: return; /* a collective's stop means "queued", which its start has said already */
  }
}

void cw_record(void *handle, int state, uint64_t value) {
  enum cw_kind kind = cw_handle_kind(handle);
  if (kind == CW_KIND_KERNEL) {
    if (state == CW_ST_KERNEL_CH_STOP) kernel_record(handle, value);
  } else if (kind == CW_KIND_STEP) {
    cw_step_record(handle, state);
  }
}
