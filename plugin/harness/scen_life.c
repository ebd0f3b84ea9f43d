/* Loading, parallel inits, splits, finalize and reload, fork. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scen.h"

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *init_thread(void *arg) {
  struct host_comm *c = arg;
  host_init(c);
  for (uint64_t seq = 1; seq <= 50; seq++) whole_coll(c, seq, 4, 1000);
  return NULL;
}

/* Several ranks in one process: the same hash in each, inits in parallel, one shared mask, a name that is NULL. */
static void parallel_init(struct world *w) {
  enum { N = 8 };
  pthread_t t[N];
  struct host_comm c[N];
  world_load(w);
  for (int i = 0; i < N; i++) {
    c[i] = world_comm(w, 0xabc, i, N);
    c[i].name = i % 2 ? NULL : "several ranks";
    pthread_create(&t[i], NULL, init_thread, &c[i]);
  }
  for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
  CHECK(w->mask & CW_EV_COLL, "mask %x", w->mask);
  CHECK((w->version >= 3) == !!(w->mask & CW_EV_KERNEL_CH), "mask %x", w->mask);
  const struct cw_shm_head *h = world_file(w);
  CHECK(h && h->comms_open == N && h->abi == (uint32_t)w->version, "head");
  for (int i = 0; i < N && w->version >= 4; i++) {
    const struct cw_comm_slot *s = file_comm(h, 0xabc, i);
    CHECK(s, "rank %d is missing", i);
    struct totals got = comm_totals(s);
    CHECK(got.enqueued == 50 && got.completed == 50 && got.started == 50, "rank %d: %lu %lu", i, got.enqueued, got.completed);
    CHECK(s->name_len == (i % 2 ? 0 : 13), "name %u", s->name_len);
  }
}

/* What v2 and v3 hosts say about the communicator comes with the first collective. */
static void identity_from_events(struct world *w) {
  if (w->version > 3) return;
  world_load(w);
  struct host_comm c = world_open(w, 0x77, 5, 8);
  const struct cw_shm_head *h = world_file(w);
  CHECK(!file_comm(h, 0x77, 5), "identity before the first event");
  whole_coll(&c, 9, 4, 1000);
  const struct cw_comm_slot *s = file_comm(h, 0x77, 5);
  CHECK(s && s->last_enqueued_seq[CW_OP_ALLREDUCE] == 9 && memcmp(s->name, "test", 4) == 0, "identity");
}

/* A parent is finalized, its child goes on; events with the parent's context do nothing. */
static void split(struct world *w) {
  world_load(w);
  struct host_comm parent = world_open(w, 1, 0, 4), child = world_open(w, 2, 0, 2);
  whole_coll(&parent, 1, 4, 1000);
  host_finalize(&parent);
  void *ctrl = host_start(&parent, &(struct host_event){.type = CW_EV_PROXY_CTRL});
  CHECK(ctrl == NULL, "ProxyCtrl got a handle");
  CHECK(start_coll(&parent, 2, 4) == NULL, "a closed communicator gave a handle");
  whole_coll(&child, 1, 4, 1000);
  const struct cw_shm_head *h = world_file(w);
  if (w->version >= 4) {
    CHECK(file_comm(h, 1, 0)->state == CW_COMM_CLOSED, "state");
    CHECK(comm_totals(file_comm(h, 1, 0)).completed == 1, "closed counters stay readable");
    CHECK(comm_totals(file_comm(h, 2, 0)).completed == 1, "child");
  }
  host_finalize(&child);
}

static long resident_kb(void) {
  long size = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%ld %ld", &size, &pages) == 2, "statm");
  fclose(f);
  return pages * 4;
}

/* The last finalize is quick, gives the memory back, removes the file, and the library may be closed and used again.
 * Late stops of the first life do nothing. */
static void finalize_reload(struct world *w) {
  void *late[64];
  long base = 0;
  uint64_t best = ~0ull;
  for (int life = 0; life < 3; life++) {
    if (life == 1) base = resident_kb(); /* after the first life: libc's own buffers and the code are there by now */
    world_load(w);
    struct host_comm c[16];
    for (int i = 0; i < 16; i++) {
      c[i] = world_open(w, 10 + (uint64_t)i, 0, 2);
      for (uint64_t n = 0; n < CW_OPS; n++) whole_coll(&c[i], n, 1, 10);
    }
    CHECK(world_file(w) != NULL, "no file in life %d", life);
    void *op = start_coll(&c[3], 1, 64);
    for (int i = 0; i < 64; i++) late[i] = w->version >= 3 ? start_kernel(&c[3], op, i, 5) : NULL;
    if (w->version >= 3) CHECK(resident_kb() > base + 16 * 64, "%ld kB before, %ld kB in use: shows nothing", base, resident_kb());
    uint64_t t = now_ns();
    for (int i = 0; i < 16; i++) host_finalize(&c[i]);
    t = now_ns() - t;
    if (t < best) best = t;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their shadow memory stays */
    if (life > 0) CHECK(resident_kb() < base + 64, "%ld kB before, %ld kB after", base, resident_kb());
#endif
    for (int i = 0; i < 64; i++) stop_kernel(&c[3], late[i], 9);
    host_stop(&w->host, op);
    CHECK(world_file(w) == NULL, "file left behind");
    host_finalize(&c[3]); /* twice */
    host_unload(&w->host);
  }
  CHECK(best < 100000000u, "finalize took %lu ns", (unsigned long)best); /* the best of three: the machine may be busy */
}

/* A data-loader forks: the child's events vanish, the parent's go on, the child may even set up its own. */
static void forked(struct world *w) {
  world_load(w);
  struct host_comm c = world_open(w, 5, 1, 2);
  void *op = start_coll(&c, 1, 2);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    whole_coll(&c, 2, 2, 1000);
    stop_kernel(&c, start_kernel(&c, op, 0, 1), 2);
    host_finalize(&c);
    struct host_comm own = world_open(w, 6, 0, 1);
    whole_coll(&own, 1, 2, 1000);
    host_finalize(&own);
    _exit(0);
  }
  int status;
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child died: %x", status);
  whole_coll(&c, 2, 2, 1000);
  const struct cw_shm_head *h = world_file(w);
  CHECK(h, "the child removed the parent's file");
  const struct cw_comm_slot *s = file_comm(h, 5, w->version >= 4 ? 1 : 0);
  if (w->version >= 4) CHECK(comm_totals(s).enqueued == 2 && comm_totals(s).completed == 1, "counters of the parent");
}

/* The GPU's identity comes from the driver that the process has loaded; without one it is empty. */
static void gpu_identity(struct world *w) {
  world_load(w);
  struct host_comm a = world_open(w, 1, 0, 2);
  CHECK(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), "%s", dlerror());
  setenv("FAKE_GPU", "7", 1);
  struct host_comm b = world_open(w, 2, 1, 2);
  const struct cw_shm_head *h = world_file(w);
  if (w->version < 4) return;
  CHECK(file_comm(h, a.id, 0)->gpu_uuid[0] == 0, "a GPU without a driver");
  const struct cw_comm_slot *s = file_comm(h, b.id, 1);
  CHECK(strcmp((const char *)s->gpu_uuid, "GPU-07070707-0707-0707-0707-070707070707") == 0, "%s", (const char *)s->gpu_uuid);
  CHECK(strcmp((const char *)s->pci_bus_id, "0000:07:00.0") == 0, "%s", (const char *)s->pci_bus_id);
  setenv("FAKE_MIG", "1", 1);
  struct host_comm m = world_open(w, 3, 1, 2);
  CHECK(memcmp(file_comm(h, m.id, 1)->gpu_uuid, "MIG-08", 6) == 0, "MIG");
}

const struct scenario scen_life[] = {
  {"parallel_init", 2, parallel_init},   {"identity_from_events", 2, identity_from_events}, {"split", 2, split},
  {"finalize_reload", 2, finalize_reload}, {"forked", 2, forked}, {"gpu_identity", 2, gpu_identity}, {0},
};
