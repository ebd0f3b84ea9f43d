#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define V 2
#include "host_template.h"
#undef V
#define V 3
#include "host_template.h"
#undef V
#define V 4
#include "host_template.h"
#undef V
#define V 5
#include "host_template.h"
#undef V
#define V 6
#include "host_template.h"
#undef V
#define V 7
#include "host_template.h"
#undef V

#define BY_VERSION(v, name, ...)             \
  ((v) == 2   ? name##_v2(__VA_ARGS__)       \
   : (v) == 3 ? name##_v3(__VA_ARGS__)       \
   : (v) == 4 ? name##_v4(__VA_ARGS__)       \
   : (v) == 5 ? name##_v5(__VA_ARGS__)       \
   : (v) == 6 ? name##_v6(__VA_ARGS__)       \
              : name##_v7(__VA_ARGS__))

bool host_load(struct host *h, const char *value, int newest) {
  char name[512];
  if (value && strcasecmp(value, "none") == 0) return false;
  h->lib = dlopen(value ? value : "libnccl-profiler.so", RTLD_NOW | RTLD_LOCAL);
  if (!h->lib && value && !strchr(value, '/')) {
    snprintf(name, sizeof name, "libnccl-profiler-%s.so", value);
    h->lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!h->lib) return false;
  for (int v = newest; v >= 2; v--) {
    snprintf(name, sizeof name, "ncclProfiler_v%d", v);
    h->table = dlsym(h->lib, name);
    h->version = v;
    if (h->table) return true;
  }
  return false;
}

void host_unload(struct host *h) {
  if (h->lib) dlclose(h->lib);
  h->lib = h->table = NULL;
}

int host_init(struct host_comm *c) { return BY_VERSION(c->host->version, init, c); }

/* From here on every version has the same shape: take v4's. */
int host_finalize(struct host_comm *c) { return ((cw_abi_table_v4 *)c->host->table)->finalize(c->ctx); }
void host_stop(struct host *h, void *handle) { ((cw_abi_table_v4 *)h->table)->stopEvent(handle); }

void *host_start(struct host_comm *c, const struct host_event *e) { return host_start_ctx(c->host, c->ctx, c, e); }

void *host_start_ctx(struct host *h, void *ctx, struct host_comm *c, const struct host_event *e) {
  return BY_VERSION(h->version, start, h, ctx, c, e);
}

void host_record(struct host *h, void *handle, int state, uint64_t value, bool args) {
  BY_VERSION(h->version, record, h, handle, state, value, args);
}
