/*
 * The data file: made once per process, readable by its group, never reached through a link, its pages reserved before
 * they are written, so that a full file system means "off" and not a bus error in somebody's training.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

#define CW_PAGE 4096u
#ifndef CW_RELEASE
#define CW_RELEASE "unknown"
#endif

/* As a path only: in the shared folder of a node jobs may make files but not list those of others. */
static int open_dir(const char *path) {
  const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  int fd = open(path, flags);
  if (fd < 0 && errno == ENOENT && mkdir(path, 0750) == 0) fd = open(path, flags);
  return fd;
}

/* Reserves blocks; where the file system cannot, writes zeros, which does the same. */
static bool reserve(int fd, off_t at, off_t len) {
  if (fallocate(fd, 0, at, len) == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  static const char zeros[CW_PAGE];
  for (off_t i = 0; i < len; i += CW_PAGE)
    if (pwrite(fd, zeros, CW_PAGE, at + i) != (ssize_t)CW_PAGE) return false;
  return true;
}

/* A record lock tells the exporter that the owner lives, also across pid namespaces. A child does not inherit it. */
static void hold(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  (void)fcntl(fd, F_SETLK, &lock);
}

static bool create(struct cw_proc *p, int dirfd) {
  uint64_t start = cw_host_start_ticks(), ns = cw_host_pid_ns();
  snprintf(p->file, sizeof p->file, "nccl-%u-%llu-%llu-%llu.shm", p->pid, (unsigned long long)start,
           (unsigned long long)ns, (unsigned long long)cw_now());
  int fd = openat(dirfd, p->file, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0640);
  if (fd < 0) return false;
  size_t size = CW_HEAD_SIZE + (size_t)p->comm_count * CW_COMM_SIZE;
  struct stat st;
  bool ok = fchmod(fd, 0640) == 0 && ftruncate(fd, (off_t)size) == 0 && reserve(fd, 0, CW_HEAD_SIZE) && cw_fstat(fd, &st) == 0;
  /* At the former address if there was one: a late callback must never meet a hole. */
  void *map = ok ? mmap(p->map, size, PROT_READ | PROT_WRITE, MAP_SHARED | (p->map ? MAP_FIXED : 0), fd, 0) : MAP_FAILED;
  if (map == MAP_FAILED) {
    int saved = errno;
    unlinkat(dirfd, p->file, 0);
    close(fd);
    errno = saved;
    return false;
  }
  madvise(map, size, MADV_DONTFORK);
  hold(fd);
  p->fd = fd;
  p->file_dev = (uint64_t)st.st_dev;
  p->file_ino = (uint64_t)st.st_ino;
  p->map = map;
  p->map_size = size;
  p->head = map;

  struct cw_shm_head *h = p->head;
  h->version = CW_SHM_VERSION;
  h->head_size = CW_HEAD_SIZE;
  h->comm_size = CW_COMM_SIZE;
  h->comm_count = p->comm_count;
  h->ops = CW_OPS;
  h->keys = CW_KEYS;
  h->peers = CW_PEERS;
  h->proxies = CW_PROXIES;
  h->dur_buckets = CW_DUR_BUCKETS;
  h->bw_buckets = CW_BW_BUCKETS;
  h->pid = p->pid;
  h->abi = (uint32_t)atomic_load(&p->abi);
  h->start_ticks = start;
  h->pid_ns = ns;
  h->created_ns = p->base_ns;
  struct timespec real;
  clock_gettime(CLOCK_REALTIME, &real);
  h->created_real = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
  h->mono_offset = p->mono_offset;
  h->base_ns = p->base_ns;
  h->global_rank = p->global_rank;
  h->local_rank = p->local_rank;
  memcpy(h->job_id, p->job_id, sizeof h->job_id);
  memcpy(h->hostname, p->hostname, sizeof h->hostname);
  memcpy(h->release, CW_RELEASE, sizeof CW_RELEASE < sizeof h->release ? sizeof CW_RELEASE : sizeof h->release);
  atomic_store_explicit(&h->magic, CW_SHM_MAGIC, memory_order_release);
  return true;
}

bool cw_file_create(struct cw_proc *p) {
  int dirfd = open_dir(p->dir);
  if (dirfd < 0) return false;
  bool ok = create(p, dirfd);
  int saved = errno;
  if (ok) cw_control_open(p, dirfd);
  close(dirfd);
  errno = saved;
  return ok;
}

/* The exporter may have started after us: every further communicator looks again. */
void cw_control_look(struct cw_proc *p) {
  if (atomic_load_explicit(&p->control, CW_RELAXED)) return;
  int dirfd = open_dir(p->dir);
  if (dirfd < 0) return;
  cw_control_open(p, dirfd);
  close(dirfd);
}

static bool is_ours(const struct cw_proc *p, int fd) {
  struct stat st;
  return fd >= 0 && cw_fstat(fd, &st) == 0 && (uint64_t)st.st_dev == p->file_dev && (uint64_t)st.st_ino == p->file_ino;
}

/* Frameworks close descriptors that they do not know, and the number may be somebody else's file by now. */
static bool own_descriptor(struct cw_proc *p) {
  if (is_ours(p, p->fd)) return true;
  int dirfd = open_dir(p->dir);
  if (dirfd < 0) return false;
  int fd = openat(dirfd, p->file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  close(dirfd);
  if (!is_ours(p, fd)) {
    if (fd >= 0) close(fd);
    return false;
  }
  p->fd = fd;
  hold(fd);
  return true;
}

/* Reserves and clears the pages of one communicator's slot. */
bool cw_file_reserve(struct cw_proc *p, uint32_t comm) {
  off_t at = (off_t)CW_HEAD_SIZE + (off_t)comm * (off_t)CW_COMM_SIZE;
  struct cw_comm_slot *s = (struct cw_comm_slot *)(p->map + at);
  if (!own_descriptor(p) || !reserve(p->fd, at, CW_COMM_SIZE)) return false;
  if (atomic_load_explicit(&s->state, CW_RELAXED) != CW_COMM_FREE) {
    atomic_store_explicit(&s->state, CW_COMM_SETUP, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    cw_u64 *words = (cw_u64 *)(void *)s;
    for (size_t i = 1; i < sizeof *s / sizeof *words; i++) cw_put(&words[i], 0);
  }
  return true;
}

/* Gives the memory back. The exporter keeps the file open and so sees the last state for its grace time; a late callback
 * meets private zero pages in place of the file. */
void cw_file_drop(struct cw_proc *p) {
  int dirfd = open_dir(p->dir);
  if (dirfd >= 0) {
    unlinkat(dirfd, p->file, 0);
    close(dirfd);
  }
  void *map = mmap(p->map, p->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  (void)map;
  struct cw_control *ctl = atomic_exchange(&p->control, NULL);
  if (ctl) (void)mmap(ctl, CW_CTL_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (is_ours(p, p->fd)) close(p->fd);
  p->fd = -1;
}
