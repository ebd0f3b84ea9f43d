/*
 * The thin shim of one ABI version from 4 on. Include with V set to the number; everything that differs between versions
 * is decided here, at compile time, and nowhere else.
 *
 * startEvent always writes the handle: hosts reuse the place and would pass an old value to stop. Group is never
 * answered with NULL: up to NCCL 2.27 that would suppress its children, and in CUDA graphs it would freeze the sequence
 * numbers.
 */
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NAME(x) CAT(x, V)
#define DESCR NAME(cw_abi_descr_v)

/* Set-up thread. */
static int NAME(init_v)(void **ctx,
#if V == 4
                        int *mask, const char *name, uint64_t comm_id,
#else
                        uint64_t comm_id, int *mask, const char *name,
#endif
                        int nnodes, int nranks, int rank, cw_logger log) {
  return cw_init(ctx, &(struct cw_init_args){.abi = V, .mask = mask, .comm_id = comm_id, .name = name, .nnodes = nnodes,
                                             .nranks = nranks, .rank = rank, .log = log});
}

/* Any thread; each case says which. */
static int NAME(start_v)(void *ctx, void **handle, DESCR *d) {
  void *h = NULL;
  if (!handle) return 0;
  if (!d) {
    *handle = NULL;
    return 0;
  }
  switch (d->type) {
  case CW_EV_KERNEL_CH: /* progress or profiler thread */
    h = cw_kernel_start(d->parentObj, d->kernelCh.pTimer);
    break;
  case CW_EV_PROXY_STEP: /* progress thread, hot */
    h = cw_step_start(d->parentObj, d->proxyStep.step);
    break;
  case CW_EV_PROXY_OP: /* progress thread */
    h = cw_proxy_start(ctx, d->parentObj, &d->proxyOp);
    break;
  case CW_EV_GROUP: /* caller, async group or CUDA host-callback thread, as the next two */
    h = cw_group_start(ctx);
    break;
  case CW_EV_COLL:
    h = cw_coll_start(ctx, &(struct cw_call){.func = d->coll.func, .datatype = d->coll.datatype, .algo = d->coll.algo,
                                             .proto = d->coll.proto, .seq = d->coll.seqNumber, .count = d->coll.count,
                                             .channels = d->coll.nChannels, .peer = -1,
#if V >= 7
                                             .symmetric = d->coll.isSymColl,
#endif
                                            });
    break;
  case CW_EV_P2P:
    h = cw_p2p_start(ctx, &(struct cw_call){.func = d->p2p.func, .datatype = d->p2p.datatype, .count = d->p2p.count,
                                            .peer = d->p2p.peer,
#if V >= 7 /* earlier hosts fill the number of channels loosely or not at all */
                                            .channels = d->p2p.nChannels,
#endif
                                           });
    break;
#if V >= 5
  case CW_EV_COLL_API: /* caller */
  case CW_EV_P2P_API: cw_api_call(ctx); break;
#endif
#if V >= 6
  case CW_EV_CE_COLL: /* caller */
    cw_coll_start(ctx, &(struct cw_call){.func = d->ceColl.func, .datatype = d->ceColl.datatype, .seq = d->ceColl.seqNumber,
                                         .count = d->ceColl.count, .peer = -1, .copy_engine = true});
    break;
#endif
  default: break; /* not wanted, or from a host newer than this library */
  }
  *handle = h;
  return 0;
}

/* Any thread. */
static int NAME(stop_v)(void *handle) {
  cw_stop(handle);
  return 0;
}

/* Any thread; args may be NULL. */
static int NAME(record_v)(void *handle, int state, cw_abi_state_v4 *args) {
  cw_record(handle, state, args && state == CW_ST_KERNEL_CH_STOP ? args->kernelCh.pTimer : 0);
  return 0;
}

__attribute__((visibility("default"))) const NAME(cw_abi_table_v) NAME(ncclProfiler_v) = {
  "collwatch", NAME(init_v), NAME(start_v), NAME(stop_v), NAME(record_v), cw_finalize,
};

#undef DESCR
#undef NAME
#undef CAT
#undef CAT_
