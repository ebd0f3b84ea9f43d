/* NCCL's strings to small numbers, and the arithmetic that depends on them. No table of pointers: hosts may reuse them. */
#include <string.h>

#include "inside.h"

static enum cw_op pick(const char *s, const char *want, enum cw_op op) { return strcmp(s, want) == 0 ? op : CW_OP_OTHER; }

enum cw_op cw_op_of(const char *f) {
  if (!f) return CW_OP_OTHER;
  switch (f[0]) {
  case 'A':
    if (f[1] != 'l' || f[2] != 'l') return CW_OP_OTHER;
    if (f[3] == 'R') return pick(f, "AllReduce", CW_OP_ALLREDUCE);
    if (f[3] == 'G') return pick(f, "AllGather", CW_OP_ALLGATHER);
    if (f[3] == 'T') return pick(f, "AllToAll", CW_OP_ALLTOALL);
    return pick(f, "AlltoAll", CW_OP_ALLTOALL);
  case 'B': return pick(f, "Broadcast", CW_OP_BROADCAST);
  case 'G': return pick(f, "Gather", CW_OP_GATHER);
  case 'R':
    if (strcmp(f, "ReduceScatter") == 0) return CW_OP_REDUCESCATTER;
    if (strcmp(f, "Reduce") == 0) return CW_OP_REDUCE;
    return pick(f, "Recv", CW_OP_RECV);
  case 'S':
    if (strcmp(f, "Send") == 0) return CW_OP_SEND;
    if (strcmp(f, "SendRecv") == 0) return CW_OP_SENDRECV;
    if (strcmp(f, "Scatter") == 0) return CW_OP_SCATTER;
    return pick(f, "Signal", CW_OP_SIGNAL);
  case 'P': return pick(f, "PutSignal", CW_OP_PUTSIGNAL);
  case 'W': return pick(f, "WaitSignal", CW_OP_WAITSIGNAL);
  default: return CW_OP_OTHER;
  }
}

enum cw_algo cw_algo_of(const char *a) {
  static const struct { const char *name; enum cw_algo algo; } known[] = {
    {"RING", CW_ALGO_RING}, {"TREE", CW_ALGO_TREE}, {"NVLS", CW_ALGO_NVLS}, {"NVLS_TREE", CW_ALGO_NVLS_TREE},
    {"COLLNET_DIRECT", CW_ALGO_COLLNET_DIRECT}, {"COLLNET_CHAIN", CW_ALGO_COLLNET_CHAIN}, {"PAT", CW_ALGO_PAT},
  };
  if (!a) return CW_ALGO_UNKNOWN;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (a[0] == known[i].name[0] && strcmp(a, known[i].name) == 0) return known[i].algo;
  return CW_ALGO_UNKNOWN;
}

enum cw_proto cw_proto_of(const char *p) {
  if (!p) return CW_PROTO_UNKNOWN;
  if (p[0] == 'S') return strcmp(p, "SIMPLE") == 0 ? CW_PROTO_SIMPLE : CW_PROTO_UNKNOWN;
  if (p[0] != 'L' || p[1] != 'L') return CW_PROTO_UNKNOWN;
  if (p[2] == 0) return CW_PROTO_LL;
  return strcmp(p, "LL128") == 0 ? CW_PROTO_LL128 : CW_PROTO_UNKNOWN;
}

/* Element size from the digits of the name: ncclInt8, ncclUint32, ncclBfloat16, ncclFloat8e4m3. "Unknown" is ncclUint8 on
 * hosts that have no word for it (nccl#1764), so whatever cannot be read counts one byte. */
uint32_t cw_type_size(const char *d) {
  if (!d || d[0] != 'n' || d[1] != 'c' || d[2] != 'c' || d[3] != 'l') return 1;
  d += 4;
  while (*d > '9') d++; /* letters */
  switch (*d) {
  case '1': return d[1] == '6' ? 2 : 1;
  case '3': return d[1] == '2' ? 4 : 1;
  case '6': return d[1] == '4' ? 8 : 1;
  default: return 1;
  }
}

/* The exponent of the smallest power of two that holds the bytes: 0 and 1 byte are class 0, 1 MiB is 20. */
uint32_t cw_size_class(uint64_t bytes) { return bytes <= 1 ? 0 : 64u - (uint32_t)__builtin_clzll(bytes - 1); }

/* Bus bandwidth = payload / time * factor, by the convention of nccl-tests (doc/PERFORMANCE.md), where the payload of
 * AllGather and ReduceScatter is that of all ranks together. */
double cw_bus_factor(enum cw_op op, uint64_t nranks) {
  if (nranks < 2) return 1;
  double n = (double)nranks;
  switch (op) {
  case CW_OP_ALLREDUCE: return 2 * (n - 1) / n;
  case CW_OP_ALLGATHER:
  case CW_OP_REDUCESCATTER:
  case CW_OP_ALLTOALL:
  case CW_OP_GATHER:
  case CW_OP_SCATTER: return (n - 1) / n;
  default: return 1;
  }
}
