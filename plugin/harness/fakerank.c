/*
 * Stands in for one rank of a training job: real ring all-reduces over TCP with real times, and the calls to the
 * profiler plugin exactly as NCCL makes them. One thread calls the API and runs ahead of the GPU; another plays the GPU's
 * stream and NCCL's progress thread: it computes (sleeps), then runs the collective.
 *
 *   fakerank --rank R --nranks N --port P --next HOST:PORT [--channels C] [--count FLOATS] [--compute-ms MS] [--ahead N]
 *            [--abi V] [--comm ID] [--name TEXT] [--staggered] [--iterations N]
 *
 * The time a rank computes can be changed while it runs: SIGUSR1 adds 100 ms, SIGUSR2 takes the addition back.
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "ring.h"

enum { QUEUE = 64 };

struct work {
  uint64_t seq;
  void *op;
};

struct rank {
  struct host host;
  int mask;
  struct host_comm comm;
  struct ring ring;
  int compute_ms, ahead, iterations, port;
  const char *next;
  size_t count;
  bool staggered;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct work queue[QUEUE];
  int put, got; /* guarded by lock */

  /* of the collective that is running; the stream thread's own */
  void *op, *kernel[RING_MAX_CHANNELS], *send_op[RING_MAX_CHANNELS], *recv_op[RING_MAX_CHANNELS];
  void *send_step[RING_MAX_CHANNELS], *recv_step[RING_MAX_CHANNELS];
};

static volatile bool stop_now;
static atomic_int extra_ms;

static void on_signal(int s) {
  if (s == SIGUSR1) extra_ms = 100;
  else if (s == SIGUSR2) extra_ms = 0;
  else stop_now = true;
}

static uint64_t gpu_clock(void) { /* the "GPU's" global timer */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_step(void *arg, int ch, int step, enum ring_event e) {
  struct rank *r = arg;
  struct host *h = &r->host;
  struct host_event start = {.type = CW_EV_PROXY_STEP, .rank = r->comm.rank, .step = step};
  switch (e) {
  case RING_SEND_START:
    start.parent = r->send_op[ch];
    r->send_step[ch] = host_start(&r->comm, &start);
    host_record(h, r->send_step[ch], CW_ST_STEP_SEND_GPU_WAIT, 0, true);
    break;
  case RING_SEND_READY: host_record(h, r->send_step[ch], CW_ST_STEP_SEND_PEER_WAIT, 0, true); break;
  case RING_SEND_CREDIT: host_record(h, r->send_step[ch], CW_ST_STEP_SEND_WAIT, 0, true); break;
  case RING_SEND_DONE: host_stop(h, r->send_step[ch]); break;
  case RING_RECV_START:
    start.parent = r->recv_op[ch];
    r->recv_step[ch] = host_start(&r->comm, &start);
    break;
  case RING_RECV_POSTED: host_record(h, r->recv_step[ch], CW_ST_STEP_RECV_WAIT, 0, true); break;
  case RING_RECV_ARRIVED: host_record(h, r->recv_step[ch], CW_ST_STEP_RECV_FLUSH_WAIT, 0, true); break;
  case RING_RECV_FLUSHED: host_record(h, r->recv_step[ch], CW_ST_STEP_RECV_GPU_WAIT, 0, true); break;
  case RING_RECV_DONE: host_stop(h, r->recv_step[ch]); break;
  }
}

static void *proxy(struct rank *r, int ch, int peer, int send) {
  return host_start(&r->comm, &(struct host_event){.type = CW_EV_PROXY_OP, .parent = r->op, .rank = r->comm.rank, .pid = getpid(),
                                                   .channel = ch, .peer = peer, .nsteps = 2 * (r->comm.nranks - 1), .send = send});
}

/* Channels [first, first+n): their kernels begin, the ring runs, their kernels end. */
static bool run_channels(struct rank *r, float *data, size_t count, int first, int n) {
  int np = r->comm.nranks;
  bool bits = __atomic_load_n(&r->mask, __ATOMIC_RELAXED) & (CW_EV_PROXY_OP | CW_EV_PROXY_STEP);
  for (int c = first; c < first + n; c++) {
    r->send_op[c] = bits ? proxy(r, c, (r->comm.rank + 1) % np, 1) : NULL;
    r->recv_op[c] = bits ? proxy(r, c, (r->comm.rank + np - 1) % np, 0) : NULL;
    r->kernel[c] = host_start(&r->comm, &(struct host_event){.type = CW_EV_KERNEL_CH, .parent = r->op, .channel = c, .gpu_ns = gpu_clock()});
  }
  bool ok = ring_allreduce(&r->ring, data, count, first, n);
  for (int c = first; ok && c < first + n; c++) {
    host_stop(&r->host, r->send_op[c]);
    host_stop(&r->host, r->recv_op[c]);
    host_record(&r->host, r->kernel[c], CW_ST_KERNEL_CH_STOP, gpu_clock(), true);
    host_stop(&r->host, r->kernel[c]);
  }
  return ok;
}

/* At most a second, because a signal sets stop_now without waking anybody. The lock is held. */
static void wait_changed(struct rank *r) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec++;
  pthread_cond_timedwait(&r->changed, &r->lock, &t);
}

static void *stream(void *arg) {
  struct rank *r = arg;
  float *data = malloc(r->count * sizeof(float));
  int channels = r->ring.channels;
  for (;;) {
    pthread_mutex_lock(&r->lock);
    while (r->put == r->got && !stop_now) wait_changed(r);
    struct work w = r->queue[r->got % QUEUE];
    pthread_mutex_unlock(&r->lock);
    if (stop_now) break;

    usleep((useconds_t)(r->compute_ms + extra_ms) * 1000);
    for (size_t i = 0; i < r->count; i++) data[i] = (float)(r->comm.rank + 1) * (float)(i % 97);
    r->op = w.op;
    bool ok = true;
    if (!r->staggered) {
      ok = run_channels(r, data, r->count, 0, channels);
    } else {
      for (int c = 0; ok && c < channels; c++) {
        size_t at = r->count * (size_t)c / (size_t)channels, end = r->count * (size_t)(c + 1) / (size_t)channels;
        ok = run_channels(r, data + at, end - at, c, 1);
      }
    }
    if (!ok) break;
    float sum = (float)(r->comm.nranks * (r->comm.nranks + 1) / 2);
    for (size_t i = 0; i < r->count; i++)
      if (data[i] != sum * (float)(i % 97)) {
        fprintf(stderr, "rank %d: wrong sum at %zu in operation %lu\n", r->comm.rank, i, (unsigned long)w.seq);
        _exit(3);
      }
    pthread_mutex_lock(&r->lock);
    r->got++;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
  }
  free(data);
  return NULL;
}

/* The application's thread: hands operations to NCCL until it is `ahead` of the GPU. */
static void call(struct rank *r) {
  struct host_comm *c = &r->comm;
  for (uint64_t seq = 1; !stop_now && (r->iterations == 0 || seq <= (uint64_t)r->iterations); seq++) {
    pthread_mutex_lock(&r->lock);
    while (r->put - r->got >= r->ahead && !stop_now) wait_changed(r);
    pthread_mutex_unlock(&r->lock);
    if (stop_now) return;
    struct host_event e = {.type = CW_EV_COLL_API, .func = "AllReduce", .datatype = "ncclFloat32", .count = r->count,
                           .algo = "RING", .proto = "SIMPLE", .seq = seq, .channels = r->ring.channels, .rank = c->rank};
    void *api = r->host.version >= 5 ? host_start(c, &e) : NULL;
    host_stop(&r->host, api);
    void *group = host_start(c, &(struct host_event){.type = CW_EV_GROUP});
    e.type = CW_EV_COLL;
    e.parent = api;
    void *op = host_start(c, &e);
    pthread_mutex_lock(&r->lock);
    r->queue[r->put++ % QUEUE] = (struct work){seq, op};
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    host_stop(&r->host, op);
    host_stop(&r->host, group);
  }
  pthread_mutex_lock(&r->lock);
  while (r->put != r->got && !stop_now) wait_changed(r);
  pthread_mutex_unlock(&r->lock);
}

static const struct option options[] = {
  {"rank", 1, 0, 'r'}, {"nranks", 1, 0, 'n'}, {"port", 1, 0, 'p'}, {"next", 1, 0, 'x'}, {"channels", 1, 0, 'c'},
  {"count", 1, 0, 'k'}, {"compute-ms", 1, 0, 'm'}, {"ahead", 1, 0, 'a'}, {"abi", 1, 0, 'v'}, {"comm", 1, 0, 'i'},
  {"name", 1, 0, 'e'}, {"staggered", 0, 0, 's'}, {"iterations", 1, 0, 't'}, {0},
};

int main(int argc, char **argv) {
  static struct rank r = {.compute_ms = 20, .ahead = 3, .count = 1 << 16, .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER, .ring = {.channels = 2}};
  int abi = 6;
  r.comm = (struct host_comm){.host = &r.host, .id = 0xc0ffee, .name = "world", .nnodes = 1, .nranks = 1};
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (o) {
    case 'r': r.comm.rank = atoi(optarg); break;
    case 'n': r.comm.nranks = atoi(optarg); break;
    case 'p': r.port = atoi(optarg); break;
    case 'x': r.next = optarg; break;
    case 'c': r.ring.channels = atoi(optarg); break;
    case 'k': r.count = (size_t)atoll(optarg); break;
    case 'm': r.compute_ms = atoi(optarg); break;
    case 'a': r.ahead = atoi(optarg); break;
    case 'v': abi = atoi(optarg); break;
    case 'i': r.comm.id = strtoull(optarg, NULL, 0); break;
    case 'e': r.comm.name = optarg; break;
    case 's': r.staggered = true; break;
    case 't': r.iterations = atoi(optarg); break;
    default: return 2;
    }
  if (!r.next || r.ring.channels < 1 || r.ring.channels > RING_MAX_CHANNELS || r.ahead < 1 || r.ahead > QUEUE) return 2;
  struct sigaction act = {.sa_handler = on_signal};
  int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};
  for (int i = 0; i < 4; i++) sigaction(signals[i], &act, NULL);
  signal(SIGPIPE, SIG_IGN);

  r.ring.rank = r.comm.rank;
  r.ring.nranks = r.comm.nranks;
  r.ring.on = on_step;
  r.ring.arg = &r;
  r.ring.stop = &stop_now;
  r.host.mask = &r.mask;
  const char *plugin = getenv("NCCL_PROFILER_PLUGIN");
  if (!host_load(&r.host, plugin ? plugin : "collwatch", abi)) {
    fprintf(stderr, "fakerank: no plugin: set NCCL_PROFILER_PLUGIN and LD_LIBRARY_PATH\n");
    return 1;
  }
  if (!ring_connect(&r.ring, r.port, r.next)) {
    fprintf(stderr, "fakerank: rank %d cannot connect\n", r.comm.rank);
    return 1;
  }
  host_init(&r.comm);
  pthread_t t;
  pthread_create(&t, NULL, stream, &r);
  call(&r);
  stop_now = true;
  pthread_cond_broadcast(&r.changed);
  pthread_join(t, NULL);
  host_finalize(&r.comm);
  host_unload(&r.host);
  return 0;
}
