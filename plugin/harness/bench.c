/*
 * What the plugin costs an all-reduce, in NCCL's order of calls. Prints one figure a line as "name value"; the caller
 * takes off what the same calls cost with the empty plugin.
 *
 *   bench PLUGIN counts           lock operations, allocations, clock reads (with libcount.so preloaded)
 *   bench PLUGIN strict           the same under a filter where a system call kills
 *   bench PLUGIN loop OPS CH      OPS all-reduces of CH channels, for callgrind and strace
 *   bench PLUGIN time OPS         ns an all-reduce of 8 channels: one thread, caller and progress thread, two workers
 *   bench PLUGIN steps OPS        ns a network step of 4 states, and of a receive that is started again (COLLWATCH_MODE=deep)
 *   bench PLUGIN memory           resident kB a communicator in use, kept after finalize, ns of the last finalize
 *   bench PLUGIN steady SECONDS   2,000 operations a second: CPU of other threads
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static struct host host;
static int mask;

static uint64_t now_ns(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct host_comm open_comm(uint64_t id) {
  struct host_comm c = {.host = &host, .id = id, .name = "bench", .nnodes = 2, .nranks = 16};
  host_init(&c);
  return c;
}

/* Descriptors are made once: the benchmark is about the plugin, not about filling in structs. */
static cw_abi_descr_v6 coll = {.type = CW_EV_COLL}, group = {.type = CW_EV_GROUP}, kernel = {.type = CW_EV_KERNEL_CH},
                       api = {.type = CW_EV_COLL_API}, group_api = {.type = CW_EV_GROUP_API};
#define TABLE ((cw_abi_table_v6 *)host.table)

static void *call(struct host_comm *c, uint64_t seq, int channels) {
  cw_abi_descr_v6 d = coll;
  void *ga, *ca, *g, *op;
  cw_abi_descr_v6 a = api;
  TABLE->startEvent(c->ctx, &ga, &group_api);
  a.parentObj = ga;
  TABLE->startEvent(c->ctx, &ca, &a);
  TABLE->stopEvent(ca);
  TABLE->recordEventState(ga, CW_ST_GROUP_START_API_STOP, NULL);
  TABLE->recordEventState(ga, CW_ST_GROUP_END_API_START, NULL);
  TABLE->startEvent(c->ctx, &g, &group);
  d.parentObj = ca;
  d.coll.seqNumber = seq;
  d.coll.nChannels = (uint8_t)channels;
  TABLE->startEvent(c->ctx, &op, &d);
  TABLE->stopEvent(op);
  TABLE->stopEvent(g);
  TABLE->stopEvent(ga);
  return op;
}

static void progress(struct host_comm *c, void *op, uint64_t seq, int channels) {
  void *h[64];
  cw_abi_state_v4 s;
  cw_abi_descr_v6 d = kernel;
  d.parentObj = op;
  for (int i = 0; i < channels; i++) {
    d.kernelCh.channelId = (uint8_t)i;
    d.kernelCh.pTimer = 1000000 + seq * 1000;
    TABLE->startEvent(c->ctx, &h[i], &d);
  }
  for (int i = 0; i < channels; i++) {
    s.kernelCh.pTimer = 1000500 + seq * 1000;
    TABLE->recordEventState(h[i], CW_ST_KERNEL_CH_STOP, &s);
    TABLE->stopEvent(h[i]);
  }
}

static void one(struct host_comm *c, uint64_t seq, int channels) { progress(c, call(c, seq, channels), seq, channels); }

static void counts(void) {
  void (*begin)(void);
  void (*end)(long *, long *, long *);
  void *b = dlsym(RTLD_DEFAULT, "count_begin"), *e = dlsym(RTLD_DEFAULT, "count_end");
  if (!b || !e) exit(2);
  memcpy(&begin, &b, sizeof b);
  memcpy(&end, &e, sizeof e);
  struct host_comm c = open_comm(1);
  for (uint64_t i = 1; i <= 100; i++) one(&c, i, 8);
  long locks, allocs, clocks;
  begin();
  for (uint64_t i = 101; i <= 200; i++) one(&c, i, 8);
  end(&locks, &allocs, &clocks);
  printf("locks %g\nallocs %g\nclocks %g\n", (double)locks / 100, (double)allocs / 100, (double)clocks / 100);
}

/* Only write and exit are allowed: whatever else the callbacks would do ends the process. (The strict mode of seccomp
 * would do, but it forbids the time stamp counter as well, which the vDSO reads.) */
static void strict(void) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog filter = {.len = sizeof code / sizeof code[0], .filter = code};
  struct host_comm c = open_comm(1);
  for (uint64_t i = 1; i <= 100; i++) one(&c, i, 8);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) exit(2);
  for (uint64_t i = 101; i <= 3000; i++) one(&c, i, 8);
  static const char text[] = "syscalls 0\n";
  if (write(1, text, sizeof text - 1) < 0) return;
  syscall(SYS_exit, 0);
}

struct lane {
  struct host_comm c;
  int ops;
  _Atomic(void *) cell[256];
  _Alignas(64) _Atomic int put;
  _Alignas(64) _Atomic int got;
};

static void *caller(void *arg) {
  struct lane *l = arg;
  for (int i = 0; i < l->ops; i++) {
    while (atomic_load_explicit(&l->put, memory_order_relaxed) - atomic_load_explicit(&l->got, memory_order_acquire) >= 200) sched_yield();
    atomic_store_explicit(&l->cell[i % 256], call(&l->c, (uint64_t)i + 1, 8), memory_order_relaxed);
    atomic_store_explicit(&l->put, i + 1, memory_order_release);
  }
  return NULL;
}

static void *progressor(void *arg) {
  struct lane *l = arg;
  for (int i = 0; i < l->ops; i++) {
    while (atomic_load_explicit(&l->put, memory_order_acquire) == i) sched_yield();
    progress(&l->c, atomic_load_explicit(&l->cell[i % 256], memory_order_relaxed), (uint64_t)i + 1, 8);
    atomic_store_explicit(&l->got, i + 1, memory_order_release);
  }
  return NULL;
}

static void *worker(void *arg) {
  struct lane *l = arg;
  for (int i = 0; i < l->ops; i++) one(&l->c, (uint64_t)i + 1, 8);
  return NULL;
}

static double cpu_of_process(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static uint64_t run(void *(*a)(void *), void *x, void *(*b)(void *), void *y) {
  pthread_t t[2];
  uint64_t start = now_ns(CLOCK_MONOTONIC);
  pthread_create(&t[0], NULL, a, x);
  if (b) pthread_create(&t[1], NULL, b, y);
  pthread_join(t[0], NULL);
  if (b) pthread_join(t[1], NULL);
  return now_ns(CLOCK_MONOTONIC) - start;
}

static void times(int ops) {
  static struct lane a, b, p;
  a.c = open_comm(1);
  b.c = open_comm(2);
  p.c = open_comm(3);
  a.ops = b.ops = p.ops = ops;
  worker(&a);
  worker(&b);
  double cpu = cpu_of_process();
  double one_thread = (double)run(worker, &a, NULL, NULL) / ops;
  double one_cpu = cpu_of_process() - cpu;
  double two_threads = (double)run(caller, &p, progressor, &p) / ops;
  cpu = cpu_of_process();
  double two_workers = (double)run(worker, &a, worker, &b) / ops;
  /* Whatever the two get in each other's way with costs CPU time; a busy machine does not. */
  double speedup = 2 * one_cpu / ((cpu_of_process() - cpu) / 2);
  printf("one_thread_ns %.1f\ntwo_threads_ns %.1f\ntwo_workers_ns %.1f\nspeedup %.3f\n", one_thread, two_threads, two_workers, speedup);
}

static void steps(int n) {
  struct host_comm c = open_comm(1);
  void *op = call(&c, 1, 8);
  cw_abi_descr_v6 d = {.type = CW_EV_PROXY_OP, .parentObj = op, .proxyOp = {.pid = getpid(), .peer = 1, .nSteps = n, .isSend = 1}};
  void *send, *recv, *step;
  TABLE->startEvent(c.ctx, &send, &d);
  d.proxyOp.isSend = 0;
  TABLE->startEvent(c.ctx, &recv, &d);
  cw_abi_state_v4 state = {.proxyStep = {.transSize = 1 << 19}};
  uint64_t t = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < n; i++) {
    d = (cw_abi_descr_v6){.type = CW_EV_PROXY_STEP, .parentObj = send, .proxyStep = {.step = i}};
    TABLE->startEvent(c.ctx, &step, &d);
    TABLE->recordEventState(step, CW_ST_STEP_SEND_GPU_WAIT, &state);
    TABLE->recordEventState(step, CW_ST_STEP_SEND_PEER_WAIT, &state);
    TABLE->recordEventState(step, CW_ST_STEP_SEND_WAIT, &state);
    TABLE->stopEvent(step);
  }
  printf("step_ns %.1f\n", (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - t) / n);
  d = (cw_abi_descr_v6){.type = CW_EV_PROXY_STEP, .parentObj = recv, .proxyStep = {.step = 5}};
  t = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < n; i++) TABLE->startEvent(c.ctx, &step, &d);
  printf("restart_ns %.1f\n", (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - t) / n);
}

static long resident_kb(void) {
  long size = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2) exit(2);
  fclose(f);
  return pages * 4;
}

static void memory(void) {
  enum { N = 32 };
  struct host_comm c[N];
  c[0] = open_comm(99);
  one(&c[0], 1, 8);
  host_finalize(&c[0]);
  long base = resident_kb();
  for (int i = 0; i < N; i++) {
    c[i] = open_comm(100 + (uint64_t)i);
    for (uint64_t n = 1; n <= 5000; n++) one(&c[i], n, 8);
    for (uint64_t n = 1; n <= 900; n++) call(&c[i], n, 8); /* and as much in flight as it can hold */
  }
  printf("comm_kb %.1f\n", (double)(resident_kb() - base) / N);
  for (int i = 1; i < N; i++) host_finalize(&c[i]);
  uint64_t t = now_ns(CLOCK_MONOTONIC);
  host_finalize(&c[0]);
  printf("finalize_ns %llu\nkept_kb %.1f\n", (unsigned long long)(now_ns(CLOCK_MONOTONIC) - t), (double)(resident_kb() - base) / N);
}

static void steady(int seconds) {
  struct host_comm c = open_comm(1);
  uint64_t start = now_ns(CLOCK_MONOTONIC), n = 0;
  double all = cpu_of_process(), mine = (double)now_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
  while (n < 2000u * (uint64_t)seconds) {
    while (n < (now_ns(CLOCK_MONOTONIC) - start) / 500000 && n < 2000u * (uint64_t)seconds) one(&c, ++n, 8);
    usleep(400);
  }
  all = cpu_of_process() - all;
  mine = (double)now_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9 - mine;
  printf("background_percent %.3f\noperations %llu\n", 100 * (all - mine > 0 ? all - mine : 0) / seconds, (unsigned long long)n);
  fflush(stdout);
  if (getenv("BENCH_WAIT")) pause(); /* so that the exporter can read what was counted */
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  coll.coll.func = api.collApi.func = "AllReduce";
  coll.coll.datatype = api.collApi.datatype = "ncclBfloat16";
  coll.coll.algo = "RING";
  coll.coll.proto = "SIMPLE";
  coll.coll.count = api.collApi.count = 1 << 20;
  host.mask = &mask;
  if (!host_load(&host, argv[1], 6) || host.version < 5) {
    fprintf(stderr, "bench: %s: no plugin of ABI 5 or 6\n", argv[1]);
    return 1;
  }
  if (host.version == 5) fprintf(stderr, "bench: ABI 5\n");
  const char *what = argv[2];
  int n = argc > 3 ? atoi(argv[3]) : 0;
  if (strcmp(what, "counts") == 0) counts();
  else if (strcmp(what, "strict") == 0) strict();
  else if (strcmp(what, "time") == 0) times(n);
  else if (strcmp(what, "steps") == 0) steps(n);
  else if (strcmp(what, "memory") == 0) memory();
  else if (strcmp(what, "steady") == 0) steady(n);
  else if (strcmp(what, "loop") == 0) {
    struct host_comm c = open_comm(1);
    for (uint64_t i = 1; i <= (uint64_t)n; i++) one(&c, i, argc > 4 ? atoi(argv[4]) : 8);
  } else return 2;
  return 0;
}
