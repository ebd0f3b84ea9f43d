/* Modes, the event mask that belongs to each, and their change at run time on the exporter's request. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

/* Longest time a request may hold, whatever it says: a forgotten deep mode must not cost a job for days. */
#define CW_REQUEST_MAX_NS (3600ull * 1000000000ull)

int cw_mode_parse(const char *text) {
  static const char *const names[CW_MODE_COUNT] = {"off", "light", "normal", "net", "deep"};
  for (int i = 0; i < CW_MODE_COUNT; i++)
    if (text && strcmp(text, names[i]) == 0) return i;
  return -1;
}

uint32_t cw_mode_mask(int mode, int abi) {
  uint32_t mask = 0;
  switch (mode) {
  case CW_MODE_DEEP:
    /* Hosts give plugins below v4 no peer-wait state, so that the waits could not be told apart. */
    if (abi >= 4) mask |= CW_EV_PROXY_STEP;
    mask |= CW_EV_PROXY_OP | CW_EV_COLL | CW_EV_P2P;
    break;
  case CW_MODE_NET: mask |= CW_EV_PROXY_OP | CW_EV_COLL | CW_EV_P2P; break;
  case CW_MODE_NORMAL:
  case CW_MODE_LIGHT: mask |= CW_EV_COLL | CW_EV_P2P; break;
  default: return 0;
  }
  if (mode >= CW_MODE_NORMAL && abi >= 3) mask |= CW_EV_KERNEL_CH;
  if (abi >= 6) mask |= CW_EV_CE_COLL;
  return mask;
}

/* The mask is one int of the host's, shared by all communicators; the host reads it while we write it. */
void cw_mode_apply(struct cw_proc *p, int mode) {
  uint32_t bits = cw_mode_mask(mode, atomic_load_explicit(&p->abi, CW_RELAXED));
  int *mask = atomic_load_explicit(&p->mask, CW_RELAXED);
  if (mask) __atomic_store_n(mask, (int)bits, __ATOMIC_RELAXED);
  atomic_store_explicit(&p->mode, mode, CW_RELAXED);
  atomic_store_explicit(&p->head->mode, (uint32_t)mode, CW_RELAXED);
  atomic_store_explicit(&p->head->mask, bits, CW_RELAXED);
}

/* Runs on whatever thread met the change first. A torn request is met again at the next operation. */
void cw_mode_change(struct cw_proc *p, uint64_t now) {
  struct cw_control *ctl = atomic_load_explicit(&p->control, CW_RELAXED);
  if (!ctl) return;
  uint64_t seq = atomic_load_explicit(&ctl->sequence, memory_order_acquire);
  uint64_t deadline = cw_get(&p->deadline_ns), seen = cw_get(&p->control_seen);
  if (seq == seen) {
    if (deadline && now >= deadline && atomic_compare_exchange_strong_explicit(&p->deadline_ns, &deadline, 0, CW_RELAXED, CW_RELAXED))
      cw_mode_apply(p, atomic_load_explicit(&p->base_mode, CW_RELAXED));
    return;
  }
  if (seq & 1) return;
  uint64_t mode = cw_get(&ctl->mode), until = cw_get(&ctl->until_ns);
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&ctl->sequence, CW_RELAXED) != seq) return;
  if (!atomic_compare_exchange_strong_explicit(&p->control_seen, &seen, seq, CW_RELAXED, CW_RELAXED)) return;

  if (until) until += p->mono_offset;
  if (until > now + CW_REQUEST_MAX_NS) until = now + CW_REQUEST_MAX_NS;
  bool wanted = until > now && mode > CW_MODE_OFF && mode < CW_MODE_COUNT;
  if (!wanted && deadline == 0) return;
  cw_put(&p->deadline_ns, wanted ? until : 0);
  cw_mode_apply(p, wanted ? (int)mode : atomic_load_explicit(&p->base_mode, CW_RELAXED));
}

/* Maps the exporter's control file if it is there and nobody but root or the folder's owner can change it. */
void cw_control_open(struct cw_proc *p, int dirfd) {
  if (atomic_load_explicit(&p->control, CW_RELAXED)) return;
  struct stat dir, st;
  int fd = openat(dirfd, "control", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return;
  if (cw_fstat(fd, &st) == 0 && cw_fstat(dirfd, &dir) == 0 && S_ISREG(st.st_mode) && st.st_size == CW_CTL_SIZE &&
      (st.st_uid == 0 || st.st_uid == dir.st_uid) && (st.st_mode & 022) == 0) {
    struct cw_control *ctl = mmap(NULL, CW_CTL_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    if (ctl != MAP_FAILED) {
      if (atomic_load_explicit(&ctl->magic, memory_order_acquire) == CW_CTL_MAGIC) {
        madvise(ctl, CW_CTL_SIZE, MADV_DONTFORK);
        atomic_store_explicit(&p->control, ctl, memory_order_release);
      } else {
        munmap(ctl, CW_CTL_SIZE);
      }
    }
  }
  close(fd);
}
