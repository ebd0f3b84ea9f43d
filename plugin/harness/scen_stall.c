/* What a hang looks like, and the modes. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "scen.h"

/* Queued and never started, running on all channels, running on some. */
static void stall_states(struct world *w) {
  if (w->version < 4) return;
  world_load(w);
  struct host_comm c = world_open(w, 1, 3, 4);
  for (uint64_t i = 1; i <= 5; i++) whole_coll(&c, i, 4, 100);
  void *running = start_coll(&c, 6, 4), *partial = start_coll(&c, 7, 4);
  start_coll(&c, 8, 4);
  for (int i = 0; i < 4; i++) start_kernel(&c, running, i, 10);
  for (int i = 0; i < 2; i++) stop_kernel(&c, start_kernel(&c, partial, i, 10), 20);
  const struct cw_comm_slot *s = file_comm(world_file(w), 1, 3);
  CHECK(s->last_enqueued_seq[CW_OP_ALLREDUCE] == 8 && s->last_completed_seq[CW_OP_ALLREDUCE] == 5, "seq");
  CHECK(comm_totals(s).live == 3 && comm_totals(s).completed == 5 && comm_totals(s).started == 7, "live");
  uint32_t started[3], finished[3];
  for (unsigned i = 0; i < 3; i++) {
    const struct cw_op_slot *o = comm_live_op(s, i);
    CHECK(o && o->seq >= 6 && CW_EXPECTED(o->counts) == 4, "op %u", i);
    started[o->seq - 6] = CW_STARTED(o->counts);
    finished[o->seq - 6] = CW_FINISHED(o->counts);
    CHECK((o->start_ns != 0) == (o->seq != 8), "start time");
  }
  CHECK(started[0] == 4 && finished[0] == 0, "running");
  CHECK(started[1] == 2 && finished[1] == 2, "partial");
  CHECK(started[2] == 0, "queued");
}

/* Light mode counts what is enqueued and follows nothing, so that nothing looks stuck. */
static void light_mode(struct world *w) {
  setenv("COLLWATCH_MODE", "light", 1);
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  CHECK(!(w->mask & CW_EV_KERNEL_CH) && (w->mask & CW_EV_COLL), "mask %x", w->mask);
  for (uint64_t i = 1; i <= 2000; i++) CHECK(start_coll(&c, i, 4) == NULL, "followed");
  if (w->version < 4) return;
  struct totals got = comm_totals(file_comm(world_file(w), 1, 0));
  CHECK(got.enqueued == 2000 && got.live == 0 && got.drops == 0, "light");
}

/* A host that enqueues on and on and never tells of kernels: after ten seconds nothing of it may look like a hang; the
 * first kernel event brings the following back. */
static void no_kernel_events(struct world *w) {
  if (!getenv("HARNESS_SLOW")) return;
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  void *first = start_coll(&c, 1, 4);
  for (uint64_t i = 2; i <= 40; i++) start_coll(&c, i, 4);
  const struct cw_comm_slot *s = file_comm(world_file(w), 1, 0);
  CHECK(s->tracking == 1 && comm_totals(s).live == 40, "in the beginning it may be a hang");
  usleep(10200000);
  CHECK(start_coll(&c, 41, 4) == NULL && s->tracking == 0, "still believed in");
  CHECK(s->drops_enqueue[CW_DROP_NO_KERNEL] == 1, "not counted");
  CHECK(start_kernel(&c, first, 0, 1) && s->tracking == 1 && start_coll(&c, 42, 4), "it came late, but it came");
}

static void off_mode(struct world *w) {
  setenv("COLLWATCH_MODE", "off", 1);
  world_load(w);
  w->mask = 0xfff;
  struct host_comm c = world_open(w, 1, 0, 4);
  CHECK(w->mask == 0 && world_file(w) == NULL, "off");
  whole_coll(&c, 1, 4, 100);
  host_finalize(&c);
}

static void bad_values(struct world *w) {
  setenv("COLLWATCH_MODE", "turbo", 1);
  setenv("COLLWATCH_MAX_COMMS", "-3", 1);
  setenv("COLLWATCH_PROXY_SAMPLE", "many", 1);
  world_load(w);
  world_open(w, 1, 0, 4);
  CHECK(w->version < 4 || w->warnings == 3, "%d lines of warning", w->warnings);
  const struct cw_shm_head *h = world_file(w);
  CHECK(h->mode == CW_MODE_NORMAL && h->comm_count == 256, "fall back");
}

static void write_control(struct cw_control *ctl, int mode, uint64_t until) {
  ctl->sequence++;
  ctl->mode = (uint64_t)mode;
  ctl->until_ns = until;
  ctl->sequence++;
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The exporter asks for deep mode for a while; the job follows at its next operation and comes back by itself. */
static void mode_switch(struct world *w) {
  char path[300];
  snprintf(path, sizeof path, "%s/control", w->dir);
  int fd = open(path, O_CREAT | O_RDWR, 0644);
  CHECK(fd >= 0 && ftruncate(fd, CW_CTL_SIZE) == 0, "control");
  struct cw_control *ctl = mmap(NULL, CW_CTL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ctl->magic = CW_CTL_MAGIC;
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  int normal = w->mask;
  const struct cw_shm_head *h = world_file(w);
  CHECK(h->mode == CW_MODE_NORMAL, "mode %u", h->mode);
  write_control(ctl, CW_MODE_DEEP, now_ns() + 1000000000);
  whole_coll(&c, 1, 1, 10);
  CHECK(h->mode == CW_MODE_DEEP && (w->mask & CW_EV_PROXY_OP) && h->mask == (uint32_t)w->mask, "deep: mask %x", w->mask);
  CHECK(w->version < 4 || (w->mask & CW_EV_PROXY_STEP), "deep");
  usleep(1100000);
  whole_coll(&c, 2, 1, 10);
  CHECK(h->mode == CW_MODE_NORMAL && w->mask == normal, "back: mask %x", w->mask);
  write_control(ctl, CW_MODE_LIGHT, now_ns() + 3600ull * 1000000000);
  whole_coll(&c, 3, 1, 10);
  CHECK(h->mode == CW_MODE_LIGHT, "light");
  struct host_comm d = world_open(w, 2, 0, 4); /* a new communicator does not undo a request */
  whole_coll(&d, 1, 1, 10);
  CHECK(h->mode == CW_MODE_LIGHT && !(w->mask & CW_EV_KERNEL_CH), "light with a new communicator");
  write_control(ctl, CW_MODE_OFF, 0);
  whole_coll(&c, 4, 1, 10);
  CHECK(h->mode == CW_MODE_NORMAL && w->mask == normal, "taken back");
  write_control(ctl, 77, now_ns() + 1000000000);
  whole_coll(&c, 5, 1, 10);
  CHECK(h->mode == CW_MODE_NORMAL, "nonsense");
  munmap(ctl, CW_CTL_SIZE);
  close(fd);
}

/* A control file that anybody could have made is not obeyed. */
static void control_of_others(struct world *w) {
  char path[300];
  snprintf(path, sizeof path, "%s/control", w->dir);
  int fd = open(path, O_CREAT | O_RDWR, 0666);
  CHECK(fd >= 0 && fchmod(fd, 0666) == 0 && ftruncate(fd, CW_CTL_SIZE) == 0, "control");
  struct cw_control *ctl = mmap(NULL, CW_CTL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ctl->magic = CW_CTL_MAGIC;
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4);
  write_control(ctl, CW_MODE_DEEP, now_ns() + 1000000000);
  whole_coll(&c, 1, 1, 10);
  CHECK(world_file(w)->mode == CW_MODE_NORMAL, "a world-writable control file was obeyed");
}

const struct scenario scen_stall[] = {
  {"stall_states", 4, stall_states}, {"light_mode", 2, light_mode}, {"no_kernel_events", 7, no_kernel_events}, {"off_mode", 2, off_mode}, {"bad_values", 2, bad_values},
  {"mode_switch", 2, mode_switch}, {"control_of_others", 7, control_of_others}, {0},
};
