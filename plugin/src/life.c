/* The life of the process's state and of its communicators: init, finalize, and what a fork leaves. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inside.h"

_Atomic(struct cw_proc *) cw_the_proc;

/* A closed communicator's counters stay readable this long before its slot is taken again, if another slot is free. */
#define CW_CLOSED_KEEP_NS 60000000000ull

static void forget(void) {
  struct cw_proc *p = atomic_load(&cw_the_proc);
  if (p) memset((void *)p, 0, sizeof *p);
}

static struct cw_proc *the_proc(void) {
  struct cw_proc *p = atomic_load(&cw_the_proc);
  if (p) return p;
  p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  /* In a forked child these pages read as zeros, which is the state before the first init: no handler is needed, and a
   * lock held by another thread at the time of the fork is open again. */
  bool wiped = madvise(p, sizeof *p, MADV_WIPEONFORK) == 0;
  struct cw_proc *other = NULL;
  if (atomic_compare_exchange_strong(&cw_the_proc, &other, p)) {
    if (!wiped) pthread_atfork(NULL, NULL, forget); /* before Linux 4.14 */
    return p;
  }
  munmap(p, sizeof *p);
  return other;
}

static uint64_t mix(uint64_t v) { /* splitmix64's finisher */
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ v >> 27) * 0x94d049bb133111ebull;
  return v ^ v >> 31;
}

static void warn(struct cw_proc *p, cw_logger log, const char *what) {
  if (p->warned || !log) return;
  p->warned = true;
  log(CW_LOG_WARN, CW_LOG_FLAG_INIT | CW_LOG_FLAG_PROFILE, "collwatch", 0,
      "collwatch: %s in %s: %s; communication of this process is not watched", what, p->dir, strerror(errno));
}

static bool start(struct cw_proc *p, const struct cw_init_args *a) {
  if (atomic_load(&p->ready)) return true;
  if (!p->configured) {
    p->configured = true;
    p->fd = -1;
    cw_host_configure(p, a->log);
  }
  if (p->off) return false;
  p->pid = (uint32_t)getpid();
  p->base_ns = cw_now();
  p->mono_offset = cw_host_mono_offset();
  /* Eight bits above a counter of 38; never zero, so that order 0 is nobody. */
  p->salt = (mix(p->base_ns ^ (uint64_t)p->pid << 32) % 255 + 1) << CW_COUNTER_BITS;
  atomic_store(&p->abi, a->abi);
  if (!cw_file_create(p)) {
    warn(p, a->log, "cannot make the data file");
    return false;
  }
  /* The mapping never moves again, so neither do the slots: a late callback may hold one across finalize. */
  for (uint32_t i = 0; i < p->comm_count && !p->comms[i].slot; i++)
    p->comms[i].slot = (struct cw_comm_slot *)(void *)(p->map + CW_HEAD_SIZE + (size_t)i * CW_COMM_SIZE);
  atomic_store(&p->mask, a->mask);
  cw_put(&p->deadline_ns, 0);
  cw_put(&p->control_seen, 0);
  return true;
}

/* A slot that was never used, else the one closed longest ago: its last state was probably scraped. */
static int pick(struct cw_proc *p, uint64_t now) {
  int oldest = -1, unused = -1;
  uint64_t when = ~0ull;
  for (uint32_t i = 0; i < p->comm_count; i++) {
    struct cw_comm *c = &p->comms[i];
    if (cw_get(&c->generation)) continue;
    if (!c->used) {
      if (unused < 0) unused = (int)i;
      continue;
    }
    uint64_t closed = cw_get(&c->slot->closed_ns);
    if (closed < when) {
      when = closed;
      oldest = (int)i;
    }
  }
  if (oldest >= 0 && (unused < 0 || now - when > CW_CLOSED_KEEP_NS)) return oldest;
  return unused;
}

static void put_name(struct cw_comm_slot *s, const char *name) {
  size_t n = name ? strnlen(name, CW_NAME_LEN) : 0;
  memcpy(s->name, name ? name : "", n);
  s->name_len = (uint32_t)n;
}

static void *open_comm(struct cw_proc *p, const struct cw_init_args *a) {
  uint64_t now = cw_now();
  int i = pick(p, now);
  if (i < 0) {
    atomic_fetch_add(&p->head->comms_capped, 1);
    return NULL;
  }
  struct cw_comm *c = &p->comms[i];
  if (!cw_file_reserve(p, (uint32_t)i)) {
    atomic_fetch_add(&p->head->comms_failed, 1);
    warn(p, a->log, "no room for a communicator");
    return NULL;
  }
  struct cw_comm_slot *s = c->slot;
  uint64_t incarnation = c->last_generation + 1;
  c->last_generation = incarnation;
  c->used = true;
  c->nranks = a->nranks > 0 ? (uint64_t)a->nranks : 0;
  c->identified = a->abi >= 4;
  for (int op = 0; op < CW_OP_COUNT; op++) c->bus_factor[op] = cw_bus_factor((enum cw_op)op, c->nranks);
  if (cw_get(&c->next_order) == 0) {
    cw_put(&c->next_order, p->salt + 1);
    cw_put(&c->next_proxy, p->salt + 1);
  }
  c->first_order = cw_get(&c->next_order);
  cw_put(&c->first_enqueue_ns, 0);
  cw_put(&c->frontier, cw_get(&c->group));
  cw_put(&c->sweep, c->first_order);
  cw_put(&c->pending, 0);

  s->incarnation = (uint32_t)incarnation;
  s->comm_id = a->comm_id;
  s->nranks = (uint32_t)c->nranks;
  s->rank = (uint32_t)a->rank;
  s->nnodes = a->nnodes > 0 ? (uint32_t)a->nnodes : 0;
  s->tracking = 1;
  s->opened_ns = now;
  put_name(s, a->name);
  cw_gpu_identity(s->gpu_uuid, sizeof s->gpu_uuid, s->pci_bus_id, sizeof s->pci_bus_id);
  if (c->identified) atomic_store_explicit(&s->state, CW_COMM_OPEN, memory_order_release);
  uint64_t generation = (p->salt + incarnation) & CW_ORDER_MASK;
  atomic_store_explicit(&c->generation, generation, memory_order_release);
  p->open_comms++;
  atomic_store(&p->head->comms_open, p->open_comms);
  return cw_handle(CW_KIND_CTX, (uint32_t)i, generation, 0);
}

int cw_init(void **ctx, const struct cw_init_args *a) {
  if (!ctx) return 0;
  *ctx = cw_handle(CW_KIND_OFF, 0, 0, 0);
  int saved = errno;
  struct cw_proc *p = the_proc();
  if (!p || !a->mask) return 0;
  pthread_mutex_lock(&p->lock);
  bool fresh = !atomic_load(&p->ready);
  if (start(p, a)) {
    void *handle = open_comm(p, a);
    if (handle) *ctx = handle;
    atomic_store(&p->mask, a->mask);
    /* The last init wins the mask, so every init writes it; a request in force stays in force. */
    cw_mode_apply(p, fresh ? atomic_load(&p->base_mode) : atomic_load(&p->mode));
    if (!fresh) cw_control_look(p);
    if (fresh) {
      atomic_store_explicit(&p->ready, 1, memory_order_release);
      cw_mode_tick(p, cw_now());
    }
  } else {
    __atomic_store_n(a->mask, 0, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&p->lock);
  errno = saved;
  return 0;
}

/* v2 and v3 hosts tell who the communicator is with each collective, not at init. */
void cw_identify(void *ctx, uint64_t comm_id, const char *name, int rank) {
  struct cw_proc *p = cw_proc_ready();
  struct cw_comm *c = p ? cw_comm_of(p, ctx) : NULL;
  if (!c || c->identified) return;
  c->identified = true; /* these hosts send a communicator's calls from one thread */
  c->slot->comm_id = comm_id;
  c->slot->rank = (uint32_t)rank;
  put_name(c->slot, name);
  atomic_store_explicit(&c->slot->state, CW_COMM_OPEN, memory_order_release);
}

int cw_finalize(void *ctx) {
  struct cw_proc *p = atomic_load(&cw_the_proc);
  if (!p || !atomic_load(&p->ready)) return 0;
  int saved = errno;
  pthread_mutex_lock(&p->lock);
  struct cw_comm *c = cw_comm_of(p, ctx);
  if (c) {
    uint64_t now = cw_now();
    uint64_t pending = atomic_exchange(&c->pending, 0);
    if (pending) cw_settle(c, pending, now, false);
    atomic_store_explicit(&c->generation, 0, memory_order_release);
    cw_put(&c->slot->closed_ns, now);
    atomic_store_explicit(&c->slot->state, CW_COMM_CLOSED, memory_order_release);
    p->open_comms--;
    atomic_store(&p->head->comms_open, p->open_comms);
    if (p->open_comms == 0) {
      atomic_store_explicit(&p->ready, 0, memory_order_release);
      atomic_store(&p->mask, NULL);
      cw_file_drop(p);
      for (uint32_t i = 0; i < p->comm_count; i++) p->comms[i].used = false;
    }
  }
  pthread_mutex_unlock(&p->lock);
  errno = saved;
  return 0;
}
