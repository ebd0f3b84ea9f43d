/* Who this process is and what its environment asks for. Runs once, in the first init. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"

#define WARN(log, ...) \
  do { if (log) (log)(CW_LOG_WARN, CW_LOG_FLAG_INIT | CW_LOG_FLAG_PROFILE, "collwatch", 0, __VA_ARGS__); } while (0)

static size_t read_file(const char *path, char *buf, size_t len) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, buf, len - 1);
  close(fd);
  buf[n > 0 ? n : 0] = 0;
  return n > 0 ? (size_t)n : 0;
}

/* Field 22 of stat, in clock ticks since boot. The second field may hold spaces and brackets: count from the last one. */
uint64_t cw_host_start_ticks(void) {
  char buf[1024];
  if (!read_file("/proc/self/stat", buf, sizeof buf)) return 0;
  char *at = strrchr(buf, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

uint64_t cw_host_pid_ns(void) {
  struct stat st;
  return cw_stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* What a time namespace adds to the monotonic clock. */
uint64_t cw_host_mono_offset(void) {
  char buf[256];
  long long sec = 0, nsec = 0;
  if (!read_file("/proc/self/timens_offsets", buf, sizeof buf)) return 0;
  char *line = strstr(buf, "monotonic");
  if (!line || sscanf(line, "monotonic %lld %lld", &sec, &nsec) != 2) return 0;
  return (uint64_t)(sec * 1000000000ll + nsec);
}

static const char *first_of(const char *const *names) {
  for (; *names; names++) {
    const char *v = getenv(*names);
    if (v && *v) return v;
  }
  return NULL;
}

static uint32_t rank_of(const char *const *names) {
  const char *v = first_of(names);
  char *end;
  if (!v) return ~0u;
  unsigned long n = strtoul(v, &end, 10);
  return *end == 0 && n < 0xffffffff ? (uint32_t)n : ~0u;
}

static uint32_t number(cw_logger log, const char *name, uint32_t fallback, uint32_t low, uint32_t high) {
  const char *v = getenv(name);
  char *end;
  if (!v || !*v) return fallback;
  errno = 0;
  unsigned long n = strtoul(v, &end, 10);
  if (errno == 0 && *end == 0 && isdigit((unsigned char)*v) && n >= low && n <= high) return (uint32_t)n;
  WARN(log, "collwatch: %s=\"%.40s\" is not a number from %u to %u: using %u", name, v, low, high, fallback);
  return fallback;
}

static void copy(char *to, size_t len, const char *from) {
  snprintf(to, len, "%s", from ? from : "");
}

void cw_host_configure(struct cw_proc *p, cw_logger log) {
  static const char *const job[] = {"COLLWATCH_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "RAY_JOB_ID",
                                    "TORCHELASTIC_RUN_ID", "KUBERNETES_JOB_NAME", NULL};
  static const char *const rank[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", NULL};
  static const char *const local[] = {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", NULL};

  int mode = CW_MODE_NORMAL;
  const char *text = getenv("COLLWATCH_MODE");
  if (text && *text && (mode = cw_mode_parse(text)) < 0) {
    mode = CW_MODE_NORMAL;
    WARN(log, "collwatch: COLLWATCH_MODE=\"%.40s\" is none of off, light, normal, net, deep: using normal", text);
  }
  atomic_store(&p->base_mode, mode);
  p->off = mode == CW_MODE_OFF;
  p->comm_count = number(log, "COLLWATCH_MAX_COMMS", CW_DEFAULT_COMMS, 1, CW_MAX_COMMS);
  p->proxy_sample = number(log, "COLLWATCH_PROXY_SAMPLE", 1, 1, 1024);

  const char *dir = getenv("COLLWATCH_DIR");
  if (dir && *dir && (dir[0] != '/' || strlen(dir) >= sizeof p->dir)) {
    WARN(log, "collwatch: COLLWATCH_DIR must be an absolute path below %zu characters: using /dev/shm/collwatch", sizeof p->dir);
    dir = NULL;
  }
  copy(p->dir, sizeof p->dir, dir && *dir ? dir : "/dev/shm/collwatch");
  copy(p->job_id, sizeof p->job_id, first_of(job));
  if (gethostname(p->hostname, sizeof p->hostname - 1) != 0) p->hostname[0] = 0;
  p->global_rank = rank_of(rank);
  p->local_rank = rank_of(local);
}
