/* Places that cannot be written to, and too much of everything. Training is never disturbed. */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scen.h"

static void unwatched(struct world *w, const char *dir) {
  setenv("COLLWATCH_DIR", dir, 1);
  world_load(w);
  struct host_comm c = world_open(w, 1, 0, 4), d = world_open(w, 2, 0, 4);
  whole_coll(&c, 1, 4, 100);
  host_finalize(&c);
  whole_coll(&d, 1, 4, 100);
  host_finalize(&d);
  CHECK(w->version < 4 || w->warnings >= 1, "no warning for %s", dir);
  CHECK(w->warnings <= 1, "%d warnings for %s", w->warnings, dir);
}

static void no_such_parent(struct world *w) { unwatched(w, "/dev/shm/does/not/exist"); }
static void dir_is_file(struct world *w) { unwatched(w, "/proc/self/stat"); }
static void read_only(struct world *w) { unwatched(w, "/proc"); }

static void dir_is_link(struct world *w) {
  char path[300];
  snprintf(path, sizeof path, "%s/link", w->dir);
  CHECK(symlink(w->dir, path) == 0, "symlink");
  unwatched(w, path);
}

static void no_permission(struct world *w) {
  if (geteuid() != 0) return;
  world_load(w); /* the library itself may lie where only root reads */
  CHECK(chmod(w->dir, 0700) == 0 && setuid(65534) == 0, "drop");
  unwatched(w, w->dir);
}

/* A node's folder: anybody may make files and nobody sees those of others; the exporter's group reads them. */
static void shared_folder(struct world *w) {
  if (geteuid() != 0) return;
  world_load(w);
  CHECK(chown(w->dir, 4321, 4321) == 0 && chmod(w->dir, 03773) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "drop");
  struct host_comm c = world_open(w, 1, 0, 4);
  whole_coll(&c, 1, 4, 100);
  CHECK(w->warnings == 0, "warned");
  struct stat st;
  FILE *f = fopen("/proc/self/maps", "r");
  bool found = false;
  for (char line[600]; f && fgets(line, sizeof line, f);) {
    char *at = strstr(line, w->dir);
    if (!at) continue;
    at[strcspn(at, "\n")] = 0;
    found = stat(at, &st) == 0 && st.st_gid == 4321 && st.st_uid == 65534 && (st.st_mode & 07777) == 0640;
  }
  if (f) fclose(f);
  CHECK(found, "file of the wrong group or mode, or none");
  host_finalize(&c);
}

/* A full tmpfs: no bus error, the head fits or not, and a communicator without room is not watched. */
static void full_tmpfs(struct world *w) {
  static const char *const sizes[] = {"size=4k", "size=16k", "size=400k"};
  if (geteuid() != 0) return;
  char path[300];
  snprintf(path, sizeof path, "%s/small", w->dir);
  CHECK(mkdir(path, 0700) == 0, "mkdir");
  if (mount("none", path, "tmpfs", 0, sizes[w->version % 3]) != 0) return; /* no privilege here */
  setenv("COLLWATCH_DIR", path, 1);
  world_load(w);
  struct host_comm c[8];
  for (int i = 0; i < 8; i++) c[i] = world_open(w, 1 + (uint64_t)i, 0, 4);
  for (int i = 0; i < 8; i++)
    for (uint64_t n = 1; n < 300; n++) whole_coll(&c[i], n, 4, 100);
  for (int i = 0; i < 8; i++) host_finalize(&c[i]);
  umount2(path, MNT_DETACH);
}

/* A framework closes every descriptor it does not know and opens files of its own: they must not grow, and the next
 * communicator is watched all the same. */
static void closed_descriptors(struct world *w) {
  world_load(w);
  world_open(w, 1, 0, 4);
  for (int fd = 3; fd < 64; fd++) close(fd);
  char path[300];
  snprintf(path, sizeof path, "%s/checkpoint", w->dir);
  int fds[40];
  for (int i = 0; i < 40; i++) fds[i] = open(path, O_CREAT | O_RDWR, 0600);
  struct host_comm c = world_open(w, 2, 0, 4);
  whole_coll(&c, 1, 4, 100);
  struct stat st;
  CHECK(fstat(fds[0], &st) == 0 && st.st_size == 0 && st.st_blocks == 0, "wrote to a file of the framework");
  if (w->version >= 4) CHECK(comm_totals(file_comm(world_file(w), 2, 0)).completed == 1, "not watched");
  host_finalize(&c);
  for (int i = 0; i < 40; i++) CHECK(close(fds[i]) == 0, "closed a descriptor of the framework");
}

/* 10,000 communicators, with names that are long and no text; the cap is counted. */
static void many_comms(struct world *w) {
  world_load(w);
  enum { N = 10000 };
  static struct host_comm c[N];
  char name[301];
  memset(name, '\xff', 300);
  memcpy(name, "quote\" newline\n", 15);
  name[300] = 0;
  for (int i = 0; i < N; i++) {
    c[i] = world_comm(w, (uint64_t)i, i % 100000, 100000);
    c[i].name = name;
    CHECK(host_init(&c[i]) == 0 && c[i].ctx, "init %d", i);
  }
  for (int i = 0; i < N; i++) whole_coll(&c[i], 1, 2, 100);
  const struct cw_shm_head *h = world_file(w);
  CHECK(h->comms_open == 256 && h->comms_capped == N - 256, "capped %u", h->comms_capped);
  if (w->version >= 4) CHECK(file_comm(h, 3, 3)->name_len == CW_NAME_LEN && file_comm(h, 3, 3)->nranks == 100000, "name");
  for (int i = 0; i < N; i++) host_finalize(&c[i]);
  CHECK(world_file(w) == NULL, "left");
}

/* Communicators come and go: slots are used again and start from zero. */
static void turnover(struct world *w) {
  setenv("COLLWATCH_MAX_COMMS", "4", 1);
  world_load(w);
  struct host_comm keep = world_open(w, 999, 0, 2);
  for (int i = 0; i < 200; i++) {
    struct host_comm c = world_open(w, 1000 + (uint64_t)i, 0, 2);
    whole_coll(&c, 1, 2, 100);
    if (w->version >= 4) {
      struct totals got = comm_totals(file_comm(world_file(w), c.id, 0));
      CHECK(got.enqueued == 1 && got.completed == 1, "slot not cleared: %lu", got.enqueued);
    }
    host_finalize(&c);
  }
  CHECK(world_file(w)->comms_capped == 0, "capped");
  host_finalize(&keep);
}

const struct scenario scen_bad[] = {
  {"no_such_parent", 2, no_such_parent}, {"dir_is_file", 2, dir_is_file}, {"read_only", 2, read_only}, {"dir_is_link", 2, dir_is_link},
  {"no_permission", 2, no_permission}, {"shared_folder", 2, shared_folder}, {"full_tmpfs", 2, full_tmpfs}, {"closed_descriptors", 2, closed_descriptors}, {"many_comms", 2, many_comms}, {"turnover", 2, turnover}, {0},
};
