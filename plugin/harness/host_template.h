/* How a host of ABI version V calls a plugin. */
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define NAME(x) CAT(x, V)

static void NAME(fill_v)(NAME(cw_abi_descr_v) *d, struct host_comm *c, const struct host_event *e) {
  memset(d, 0xa5, sizeof *d);
  /* Up to v4 only the low byte travels; the rest of the word stays garbage. */
  d->type = (__typeof__(d->type))e->type;
  d->parentObj = e->parent;
  d->rank = e->rank;
  (void)c;
  switch (e->type) {
  case CW_EV_COLL:
    d->coll.seqNumber = e->seq;
    d->coll.func = e->func;
    d->coll.count = e->count;
    d->coll.root = 0;
    d->coll.datatype = e->datatype;
    d->coll.algo = e->algo;
    d->coll.proto = e->proto;
#if V <= 3
    d->coll.name = c->name;
    d->coll.commHash = c->id;
    d->coll.nMaxChannels = 64;
#else
    if (e->channels >= 0) d->coll.nChannels = (uint8_t)e->channels;
#endif
#if V >= 7
    d->coll.isSymColl = e->symmetric;
    d->coll.userTag = 0;
#endif
    break;
  case CW_EV_P2P:
    d->p2p.func = e->func;
    d->p2p.datatype = e->datatype;
    d->p2p.count = e->count;
    d->p2p.peer = e->peer;
#if V <= 3
    d->p2p.name = c->name;
    d->p2p.commHash = c->id;
#else
    if (e->channels >= 0) d->p2p.nChannels = (uint8_t)e->channels;
#endif
    break;
  case CW_EV_PROXY_OP:
    d->proxyOp.pid = e->pid;
    d->proxyOp.channelId = (uint8_t)e->channel;
    d->proxyOp.peer = e->peer;
    d->proxyOp.nSteps = e->nsteps;
    d->proxyOp.chunkSize = e->chunk;
    d->proxyOp.isSend = e->send;
    break;
  case CW_EV_PROXY_STEP: d->proxyStep.step = e->step; break;
#if V >= 3
  case CW_EV_KERNEL_CH:
    d->kernelCh.channelId = (uint8_t)e->channel;
#if V >= 4
    d->kernelCh.pTimer = e->gpu_ns;
#endif
    break;
#endif
#if V >= 5
  case CW_EV_COLL_API:
    d->collApi.func = e->func;
    d->collApi.count = e->count;
    d->collApi.datatype = e->datatype;
    break;
  case CW_EV_GROUP_API: d->groupApi.groupDepth = 1; break;
#endif
#if V >= 6
  case CW_EV_CE_COLL:
    d->ceColl.seqNumber = e->seq;
    d->ceColl.func = e->func;
    d->ceColl.count = e->count;
    d->ceColl.datatype = e->datatype;
    break;
#endif
  default: break;
  }
}

static void *NAME(start_v)(struct host *h, void *ctx, struct host_comm *c, const struct host_event *e) {
  NAME(cw_abi_descr_v) d;
  void *handle = HOST_POISON;
  NAME(fill_v)(&d, c, e);
  ((NAME(cw_abi_table_v) *)h->table)->startEvent(ctx, &handle, &d);
  return handle;
}

static void NAME(record_v)(struct host *h, void *handle, int state, uint64_t value, bool args) {
#if V <= 3
  cw_abi_state_v2 s;
  memset(&s, 0xa5, sizeof s);
  s.proxyOp.transSize = (size_t)value;
#else
  cw_abi_state_v4 s = {.kernelCh = {.pTimer = value}};
#endif
  ((NAME(cw_abi_table_v) *)h->table)->recordEventState(handle, state, args ? &s : NULL);
}

static int NAME(init_v)(struct host_comm *c) {
  struct host *h = c->host;
  NAME(cw_abi_table_v) *t = h->table;
#if V <= 3
  return t->init(&c->ctx, h->mask);
#elif V == 4
  return t->init(&c->ctx, h->mask, c->name, c->id, c->nnodes, c->nranks, c->rank, h->log);
#else
  return t->init(&c->ctx, c->id, h->mask, c->name, c->nnodes, c->nranks, c->rank, h->log);
#endif
}

#undef NAME
#undef CAT
#undef CAT_
