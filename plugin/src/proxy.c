/*
 * Network proxy operations and steps: where a transfer waits. All on the network progress thread, where every
 * microsecond delays the network; a receive step is started again in every polling round until it can be posted, so the
 * repeated start must cost next to nothing.
 */
#include "inside.h"

void cw_proxy_stop(struct cw_proc *p, void *handle);
void cw_step_stop(struct cw_proc *p, void *handle);

/* Proxy operations whose slot is wanted again and which saw no change for this long have lost their stop. */
#define CW_PROXY_STALE_NS 60000000000ull

#define CW_STEP_TIME(w) ((w) & ((1ull << 48) - 1))
#define CW_STEP_NUMBER(w) ((uint32_t)((w) >> 48 & 0xfff))
#define CW_STEP_PHASE(w) ((enum cw_phase)((w) >> 60))

static uint64_t step_word(enum cw_phase phase, uint32_t number, uint64_t ticks) {
  return (uint64_t)phase << 60 | (uint64_t)(number & 0xfff) << 48 | (ticks & ((1ull << 48) - 1));
}

/* One rotating share of the channels of every operation, so that a hang always leaves some of them visible. */
static bool sampled(const struct cw_proc *p, uint64_t parent, uint8_t channel) {
  return p->proxy_sample <= 1 || (parent + channel) % p->proxy_sample == 0;
}

void *cw_proxy_start(void *ctx, void *parent, const cw_abi_proxy_op *op) {
  struct cw_proc *p = cw_proc_ready();
  if (!p) return NULL;
  /* First of all: an operation of another process (PXN) carries that process's context and parent, which may look like
   * ours. */
  if ((uint32_t)op->pid != p->pid) {
    cw_add(&p->head->foreign_ops, 1);
    return NULL;
  }
  bool has_parent = cw_handle_kind(parent) == CW_KIND_OP;
  struct cw_comm *c = has_parent ? cw_comm_at(p, cw_handle_comm(parent)) : cw_comm_of(p, ctx);
  if (!c) return NULL;
  uint64_t parent_order = has_parent ? cw_handle_order(parent) : 0;
  if (!sampled(p, parent_order, op->channelId)) return NULL;

  struct cw_comm_slot *s = c->slot;
  uint64_t now = cw_now();
  cw_put(&s->last_proxy_ns, now);
  cw_mode_tick(p, now);
  struct cw_peer_slot *peer = cw_peer_at(s, op->peer, s->drops_proxy);
  if (!peer) return NULL;

  uint64_t order = atomic_fetch_add_explicit(&c->next_proxy, 1, CW_RELAXED) & CW_ORDER_MASK;
  struct cw_proxy_slot *o = &s->proxies[order % CW_PROXIES];
  uint64_t tag = cw_get(&o->tag);
  bool in_use = (tag & 0xff) == CW_TAG_BUSY || ((tag & 0xff) == CW_TAG_LIVE && now - cw_get(&o->last_ns) < CW_PROXY_STALE_NS);
  if (in_use || !atomic_compare_exchange_strong_explicit(&o->tag, &tag, order << 8 | CW_TAG_BUSY, memory_order_acq_rel,
                                                         CW_RELAXED)) {
    cw_add(&s->drops_proxy[CW_DROP_PROXIES_FULL], 1);
    return NULL;
  }
  atomic_thread_fence(memory_order_release);
  cw_put(&o->parent, parent_order);
  cw_put(&o->info, (uint64_t)(uint32_t)op->peer | (uint64_t)op->channelId << 32 | (uint64_t)(op->isSend != 0) << 40 |
                     (uint64_t)(peer - s->peers) << 48);
  cw_put(&o->start_ns, now);
  cw_put(&o->last_ns, now);
  for (uint32_t i = 0; i < CW_STEPS; i++) cw_put(&o->step[i], 0);
  atomic_store_explicit(&o->tag, order << 8 | CW_TAG_LIVE, memory_order_release);
  cw_add(&peer->dir[op->isSend ? 0 : 1].proxy_started, 1);
  return cw_handle(CW_KIND_PROXY, cw_comm_index(p, c), order, 0);
}

static struct cw_proxy_slot *live(struct cw_proc *p, const void *handle, struct cw_comm **comm) {
  struct cw_comm *c = cw_comm_at(p, cw_handle_comm(handle));
  if (!c) return NULL;
  uint64_t order = cw_handle_order(handle);
  struct cw_proxy_slot *o = &c->slot->proxies[order % CW_PROXIES];
  *comm = c;
  return atomic_load_explicit(&o->tag, memory_order_acquire) == (order << 8 | CW_TAG_LIVE) ? o : NULL;
}

void cw_proxy_stop(struct cw_proc *p, void *handle) {
  struct cw_comm *c = NULL;
  struct cw_proxy_slot *o = live(p, handle, &c);
  if (!o) {
    if (c) cw_add(&c->slot->unmatched_stops, 1);
    return;
  }
  uint64_t info = cw_get(&o->info), tag = cw_get(&o->tag);
  struct cw_peer_slot *peer = &c->slot->peers[(info >> 48) % CW_PEERS];
  if (!atomic_compare_exchange_strong_explicit(&o->tag, &tag, (tag & ~0xffull) | CW_TAG_DONE, memory_order_acq_rel, CW_RELAXED))
    return;
  cw_add(&peer->dir[info >> 40 & 1 ? 0 : 1].proxy_completed, 1);
}

static uint64_t ticks(const struct cw_proc *p, uint64_t now) { return (now - p->base_ns) >> 6; }

void *cw_step_start(void *parent, int number) {
  struct cw_proc *p = cw_proc_ready();
  if (!p || cw_handle_kind(parent) != CW_KIND_PROXY) return NULL;
  struct cw_comm *c;
  struct cw_proxy_slot *o = live(p, parent, &c);
  if (!o) return NULL;
  uint32_t step = (uint32_t)number;
  cw_u64 *word = &o->step[step % CW_STEPS];
  uint64_t seen = cw_get(word);
  enum cw_phase first = cw_get(&o->info) >> 40 & 1 ? CW_PH_GPU_WAIT : CW_PH_RECV_POST;
  if (CW_STEP_PHASE(seen) != first || CW_STEP_NUMBER(seen) != (step & 0xfff)) {
    uint64_t now = cw_now();
    cw_put(word, step_word(first, step, ticks(p, now)));
    cw_put(&o->last_ns, now);
    cw_put(&c->slot->last_proxy_ns, now);
  }
  return cw_handle(CW_KIND_STEP, cw_handle_comm(parent), cw_handle_order(parent), step);
}

/* Ends the phase a step is in, credits its wait to the peer and enters the next one. */
static void move(struct cw_proc *p, struct cw_comm *c, struct cw_proxy_slot *o, cw_u64 *word, uint64_t seen,
                 enum cw_phase next) {
  uint64_t now = cw_now(), at = ticks(p, now);
  uint64_t waited = ((at - CW_STEP_TIME(seen)) & ((1ull << 48) - 1)) << 6;
  enum cw_phase phase = CW_STEP_PHASE(seen);
  struct cw_peer_slot *peer = &c->slot->peers[(cw_get(&o->info) >> 48) % CW_PEERS];
  if (phase <= CW_PH_WIRE)
    cw_add(&peer->dir[0].wait_ns[phase - CW_PH_GPU_WAIT], waited);
  else if (phase < CW_PH_COUNT)
    cw_add(&peer->dir[1].wait_ns[phase - CW_PH_RECV_POST], waited);
  cw_put(word, next == CW_PH_NONE ? 0 : step_word(next, CW_STEP_NUMBER(seen), at));
  cw_put(&o->last_ns, now);
  cw_put(&c->slot->last_proxy_ns, now);
}

void cw_step_record(void *handle, int state) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c;
  struct cw_proxy_slot *o = p ? live(p, handle, &c) : NULL;
  if (!o) return;
  cw_u64 *word = &o->step[cw_handle_step(handle)];
  uint64_t seen = cw_get(word);
  enum cw_phase phase = CW_STEP_PHASE(seen), next;
  switch (state) {
  case CW_ST_STEP_SEND_PEER_WAIT: next = CW_PH_PEER_WAIT; break; /* recorded again while the transport refuses */
  case CW_ST_STEP_SEND_WAIT: next = CW_PH_WIRE; break;
  case CW_ST_STEP_RECV_WAIT: next = CW_PH_RECV_WAIT; break;
  case CW_ST_STEP_RECV_FLUSH_WAIT: next = CW_PH_FLUSH; break;
  case CW_ST_STEP_RECV_GPU_WAIT: next = CW_PH_RECV_GPU_WAIT; break;
  default: return; /* "send: waits for the GPU" is where its start has put it */
  }
  bool send = next <= CW_PH_WIRE;
  if (phase == CW_PH_NONE || next <= phase || send != (phase <= CW_PH_WIRE)) return;
  move(p, c, o, word, seen, next);
}

void cw_step_stop(struct cw_proc *p, void *handle) {
  struct cw_comm *c;
  struct cw_proxy_slot *o = live(p, handle, &c);
  if (!o) return; /* steps need not pair up */
  cw_u64 *word = &o->step[cw_handle_step(handle)];
  uint64_t seen = cw_get(word);
  if (CW_STEP_PHASE(seen) != CW_PH_NONE) move(p, c, o, word, seen, CW_PH_NONE);
}
