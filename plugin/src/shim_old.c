/*
 * ABI versions 2 and 3, for NCCL 2.24 to 2.26 only: there the communicator's name and hash come with each operation.
 * v2 knows no kernel events, so operations are counted when enqueued and not followed; v3 has them without GPU times.
 * A newer host never picks these tables, because it finds a newer one first.
 */
#include "core.h"

/* Set-up thread. */
static int init_v2(void **ctx, int *mask) {
  return cw_init(ctx, &(struct cw_init_args){.abi = 2, .mask = mask, .rank = -1});
}

static int init_v3(void **ctx, int *mask) {
  return cw_init(ctx, &(struct cw_init_args){.abi = 3, .mask = mask, .rank = -1});
}

#define COLL(d)                                                                                                       \
  (cw_identify(ctx, (d)->coll.commHash, (d)->coll.name, (d)->rank),                                                   \
   cw_coll_start(ctx, &(struct cw_call){.func = (d)->coll.func, .datatype = (d)->coll.datatype, .algo = (d)->coll.algo, \
                                        .proto = (d)->coll.proto, .seq = (d)->coll.seqNumber,                          \
                                        .count = (d)->coll.count, .channels = 0, .peer = -1}))
#define P2P(d)                                                                                                     \
  (cw_identify(ctx, (d)->p2p.commHash, (d)->p2p.name, (d)->rank),                                                  \
   cw_p2p_start(ctx, &(struct cw_call){.func = (d)->p2p.func, .datatype = (d)->p2p.datatype, .count = (d)->p2p.count, \
                                       .peer = (d)->p2p.peer}))

/* Any thread, as in the newer shims. nMaxChannels is an upper bound, so the number of channels counts as unknown. */
static int start_v2(void *ctx, void **handle, cw_abi_descr_v2 *d) {
  void *h = NULL;
  if (!handle) return 0;
  switch (d ? d->type : 0) {
  case CW_EV_GROUP: h = cw_group_start(ctx); break;
  case CW_EV_COLL: h = COLL(d); break;
  case CW_EV_P2P: h = P2P(d); break;
  case CW_EV_PROXY_OP: h = cw_proxy_start(ctx, d->parentObj, &d->proxyOp); break;
  default: break;
  }
  *handle = h;
  return 0;
}

static int start_v3(void *ctx, void **handle, cw_abi_descr_v3 *d) {
  void *h = NULL;
  if (!handle) return 0;
  switch (d ? d->type : 0) {
  case CW_EV_GROUP: h = cw_group_start(ctx); break;
  case CW_EV_COLL: h = COLL(d); break;
  case CW_EV_P2P: h = P2P(d); break;
  case CW_EV_KERNEL_CH: h = cw_kernel_start(d->parentObj, 0); break;
  case CW_EV_PROXY_OP: h = cw_proxy_start(ctx, d->parentObj, &d->proxyOp); break;
  default: break;
  }
  *handle = h;
  return 0;
}

static int stop(void *handle) {
  cw_stop(handle);
  return 0;
}

static int record(void *handle, int state, cw_abi_state_v2 *args) {
  (void)args;
  cw_record(handle, state, 0);
  return 0;
}

__attribute__((visibility("default"))) const cw_abi_table_v2 ncclProfiler_v2 = {"collwatch", init_v2, start_v2, stop, record, cw_finalize};
__attribute__((visibility("default"))) const cw_abi_table_v3 ncclProfiler_v3 = {"collwatch", init_v3, start_v3, stop, record, cw_finalize};
