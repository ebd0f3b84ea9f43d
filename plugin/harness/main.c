/*
 * Runs every scenario for every ABI version, each in a process of its own with a data folder of its own.
 * Usage: harness [scenario] [version]. The library is found by NCCL's rules: set LD_LIBRARY_PATH.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scen.h"

static struct world *the_world; /* for the logger, which has no context argument */

__attribute__((format(printf, 5, 6))) static void logger(int level, unsigned long flags, const char *file, int line,
                                                         const char *fmt, ...) {
  (void)level, (void)flags, (void)file, (void)line;
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (the_world) the_world->warnings++;
  if (getenv("HARNESS_VERBOSE")) fprintf(stderr, "log: %s\n", text);
}

void world_load(struct world *w) {
  const char *plugin = getenv("NCCL_PROFILER_PLUGIN");
  the_world = w;
  w->host.mask = &w->mask;
  w->host.log = logger;
  CHECK(host_load(&w->host, plugin ? plugin : "collwatch", w->version), "plugin not found: set LD_LIBRARY_PATH");
  CHECK(w->host.version == w->version, "table v%d found, v%d wanted", w->host.version, w->version);
}

struct host_comm world_comm(struct world *w, uint64_t id, int rank, int nranks) {
  return (struct host_comm){.host = &w->host, .id = id, .name = "test", .nnodes = 1, .nranks = nranks, .rank = rank};
}

struct host_comm world_open(struct world *w, uint64_t id, int rank, int nranks) {
  struct host_comm c = world_comm(w, id, rank, nranks);
  CHECK(host_init(&c) == 0, "init failed");
  CHECK(c.ctx != NULL, "init gave no context");
  return c;
}

const struct cw_shm_head *world_file(struct world *w) {
  char path[600] = "";
  DIR *d = opendir(w->dir);
  if (!d) return NULL;
  for (struct dirent *e; (e = readdir(d));)
    if (strncmp(e->d_name, "nccl-", 5) == 0) snprintf(path, sizeof path, "%s/%s", w->dir, e->d_name);
  closedir(d);
  int fd = path[0] ? open(path, O_RDONLY) : -1;
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0) return NULL;
  CHECK((st.st_mode & 0777) == 0640, "mode is %o", st.st_mode & 0777);
  void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  CHECK(map != MAP_FAILED && st.st_size >= (off_t)CW_HEAD_SIZE, "cannot map %s", path);
  const struct cw_shm_head *h = map;
  CHECK(h->magic == CW_SHM_MAGIC && h->version == CW_SHM_VERSION && h->pid == (uint32_t)getpid(), "bad head");
  return h;
}

static int run(const struct scenario *s, int version) {
  char dir[] = "/dev/shm/collwatch-harness-XXXXXX", cmd[128];
  fflush(NULL);
  CHECK(mkdtemp(dir), "mkdtemp");
  pid_t pid = fork();
  if (pid == 0) {
    alarm(240);
    setenv("COLLWATCH_DIR", dir, 1);
    struct world w = {.version = version, .dir = dir};
    s->run(&w);
    exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  snprintf(cmd, sizeof cmd, "umount -l %s/small 2>/dev/null; rm -rf %s", dir, dir); /* a scenario that died left its mount */
  if (system(cmd) != 0) fprintf(stderr, "cannot remove %s\n", dir);
  bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  printf("%s v%d %s", ok ? "ok  " : "FAIL", version, s->name);
  if (!ok) printf(" (%s %d)", WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  printf("\n");
  return ok ? 0 : 1;
}

int main(int argc, char **argv) {
  const struct scenario *all[] = {scen_life, scen_order, scen_hostile, scen_stall, scen_bad};
  int failed = 0, done = 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    for (const struct scenario *s = all[i]; s->name; s++)
      for (int v = s->oldest; v <= 7; v++) {
        if (argc > 1 && strcmp(argv[1], s->name) != 0) continue;
        if (argc > 2 && atoi(argv[2]) != v) continue;
        failed += run(s, v);
        done++;
      }
  printf("%d scenarios, %d failed\n", done, failed);
  return failed || !done;
}
