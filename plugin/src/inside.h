/* Small inline pieces shared by the files of the core: clock, handles, counters. */
#ifndef COLLWATCH_INSIDE_H
#define COLLWATCH_INSIDE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

#define CW_RELAXED memory_order_relaxed
#define CW_RARELY(x) __builtin_expect(!!(x), 0)
#define CW_COLD __attribute__((noinline))

static inline uint64_t cw_get(const cw_u64 *w) { return atomic_load_explicit(w, CW_RELAXED); }
static inline void cw_put(cw_u64 *w, uint64_t v) { atomic_store_explicit(w, v, CW_RELAXED); }
static inline void cw_add(cw_u64 *w, uint64_t v) { atomic_fetch_add_explicit(w, v, CW_RELAXED); }

/* Monotonic, through the vDSO: no system call. */
static inline uint64_t cw_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * A handle is a number dressed as a pointer and never dereferenced: bit 0 set, kind:4, communicator:10, then the order
 * number of the occupant. It is checked against the table on every use, so stale, foreign and invented handles only miss.
 * A step handle gives three bits of the order away to the step.
 */
enum cw_kind { CW_KIND_CTX = 1, CW_KIND_GROUP, CW_KIND_OP, CW_KIND_KERNEL, CW_KIND_PROXY, CW_KIND_STEP, CW_KIND_OFF };

#define CW_ORDER_BITS 46
#define CW_ORDER_MASK ((1ull << CW_ORDER_BITS) - 1)
#define CW_COUNTER_BITS 38 /* of an order; the rest is the salt */

static inline void *cw_handle(enum cw_kind kind, uint32_t comm, uint64_t order, uint32_t step) {
  return (void *)(uintptr_t)(1u | (uint64_t)kind << 1 | (uint64_t)comm << 5 | (uint64_t)(step & 7) << 15 | order << 18);
}
static inline enum cw_kind cw_handle_kind(const void *h) {
  uint64_t v = (uintptr_t)h;
  return (v & 1) ? (enum cw_kind)(v >> 1 & 15) : (enum cw_kind)0;
}
static inline uint32_t cw_handle_comm(const void *h) { return (uint32_t)((uintptr_t)h >> 5 & 1023); }
static inline uint32_t cw_handle_step(const void *h) { return (uint32_t)((uintptr_t)h >> 15 & 7); }
static inline uint64_t cw_handle_order(const void *h) { return (uint64_t)(uintptr_t)h >> 18; }

/* The process if it counts events; NULL before the first init, after the last finalize and in a forked child. */
static inline struct cw_proc *cw_proc_ready(void) {
  struct cw_proc *p = atomic_load_explicit(&cw_the_proc, memory_order_acquire);
  return p && atomic_load_explicit(&p->ready, memory_order_acquire) ? p : NULL;
}

static inline struct cw_comm *cw_comm_at(struct cw_proc *p, uint32_t index) {
  if (index >= p->comm_count) return NULL;
  struct cw_comm *c = &p->comms[index];
  return atomic_load_explicit(&c->generation, memory_order_acquire) ? c : NULL;
}

static inline struct cw_comm *cw_comm_of(struct cw_proc *p, const void *ctx) {
  if (cw_handle_kind(ctx) != CW_KIND_CTX) return NULL;
  struct cw_comm *c = cw_comm_at(p, cw_handle_comm(ctx));
  return c && cw_get(&c->generation) == cw_handle_order(ctx) ? c : NULL;
}

static inline uint32_t cw_comm_index(const struct cw_proc *p, const struct cw_comm *c) {
  return (uint32_t)(c - p->comms);
}

/* The library is built on a new system and loaded on old ones: glibc's fstat got a new symbol in 2.33, so the kernel is
 * asked directly, whose struct is glibc's on both 64-bit platforms. */
static inline int cw_fstat(int fd, struct stat *st) { return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH); }
static inline int cw_stat(const char *path, struct stat *st) { return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0); }

/* names.c */
enum cw_op cw_op_of(const char *func);
enum cw_algo cw_algo_of(const char *algo);
enum cw_proto cw_proto_of(const char *proto);
uint32_t cw_type_size(const char *datatype);
uint32_t cw_size_class(uint64_t bytes);
double cw_bus_factor(enum cw_op op, uint64_t nranks);

/* table.c: places in the shared tables, found or taken without a lock. */
uint32_t cw_key_index(struct cw_comm_slot *s, uint32_t key, cw_u64 *drops);
struct cw_peer_slot *cw_peer_at(struct cw_comm_slot *s, int peer, cw_u64 *drops);
uint32_t cw_bucket(double v, int min_exp, uint32_t buckets);

/* complete.c */
bool cw_superseded(const struct cw_comm *c, const struct cw_op_slot *o);
void cw_settle(struct cw_comm *c, uint64_t order, uint64_t now, bool superseded);

/* mode.c */
int cw_mode_parse(const char *text);
void cw_mode_apply(struct cw_proc *p, int mode);
void cw_mode_change(struct cw_proc *p, uint64_t now);
void cw_control_open(struct cw_proc *p, int dirfd);
uint32_t cw_mode_mask(int mode, int abi);

/* Looks at the request of the exporter, one load from a line that nobody writes. */
static inline void cw_mode_tick(struct cw_proc *p, uint64_t now) {
  struct cw_control *ctl = atomic_load_explicit(&p->control, CW_RELAXED);
  if (!ctl) return;
  uint64_t deadline = cw_get(&p->deadline_ns);
  if (atomic_load_explicit(&ctl->sequence, CW_RELAXED) == cw_get(&p->control_seen) && (!deadline || now < deadline)) return;
  cw_mode_change(p, now);
}

/* file.c: the data file. */
bool cw_file_create(struct cw_proc *p);
bool cw_file_reserve(struct cw_proc *p, uint32_t comm);
void cw_file_drop(struct cw_proc *p);
void cw_control_look(struct cw_proc *p);

/* host.c: who we are. */
void cw_host_configure(struct cw_proc *p, cw_logger log);
uint64_t cw_host_start_ticks(void);
uint64_t cw_host_pid_ns(void);
uint64_t cw_host_mono_offset(void);

/* gpu.c: the device that is current now, or empty strings. */
void cw_gpu_identity(unsigned char *uuid, size_t uuid_len, unsigned char *pci, size_t pci_len);

#endif
