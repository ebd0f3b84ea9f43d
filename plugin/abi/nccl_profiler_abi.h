/*
 * The binary interface between NCCL and a profiler plugin, versions 2 to 7.
 *
 * Written from a description of the layouts, not from NVIDIA's headers. Only LP64 hosts exist (x86-64, aarch64);
 * abi_assert.c pins every size and offset. Versions differ in small ways that corrupt memory silently when mixed up:
 *  - `type` is one byte up to v4 and eight bytes from v5;
 *  - the communicator id is the 4th argument of init in v4 and the 2nd from v5.
 *
 * A host may be older or newer than these structs, or a fork with longer ones (RCCL): read only the members that
 * belong to the given `type` and never copy a whole descriptor.
 */
#ifndef COLLWATCH_NCCL_PROFILER_ABI_H
#define COLLWATCH_NCCL_PROFILER_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Event types: values of `type` and bits of the activation mask. */
enum {
  CW_EV_GROUP = 1 << 0,
  CW_EV_COLL = 1 << 1,
  CW_EV_P2P = 1 << 2,
  CW_EV_PROXY_OP = 1 << 3,
  CW_EV_PROXY_STEP = 1 << 4,
  CW_EV_PROXY_CTRL = 1 << 5,
  CW_EV_KERNEL_CH = 1 << 6,      /* v3 */
  CW_EV_NET_PLUGIN = 1 << 7,     /* v3 */
  CW_EV_GROUP_API = 1 << 8,      /* v5 */
  CW_EV_COLL_API = 1 << 9,       /* v5 */
  CW_EV_P2P_API = 1 << 10,       /* v5 */
  CW_EV_KERNEL_LAUNCH = 1 << 11, /* v5 */
  CW_EV_CE_COLL = 1 << 12,       /* v6 */
  CW_EV_CE_SYNC = 1 << 13,       /* v6 */
  CW_EV_CE_BATCH = 1 << 14,      /* v6 */
  CW_EV_KERNEL_PHASE = 1 << 15,  /* v7 */
};

/* Event states for recordEventState that this project uses; every other value is ignored. */
enum {
  CW_ST_STEP_SEND_GPU_WAIT = 8,
  CW_ST_STEP_SEND_WAIT = 9,
  CW_ST_STEP_RECV_WAIT = 10,
  CW_ST_STEP_RECV_FLUSH_WAIT = 11,
  CW_ST_STEP_RECV_GPU_WAIT = 12,
  CW_ST_OP_IN_PROGRESS = 19,       /* v4 */
  CW_ST_STEP_SEND_PEER_WAIT = 20,  /* v4 */
  CW_ST_KERNEL_CH_STOP = 22,       /* v4 */
  CW_ST_GROUP_START_API_STOP = 23, /* v5, args NULL */
  CW_ST_GROUP_END_API_START = 24,  /* v5, args NULL */
};

/* The host's logger; v1 to v3 have none. */
typedef void (*cw_logger)(int level, unsigned long flags, const char *file, int line, const char *fmt, ...);
enum { CW_LOG_WARN = 2, CW_LOG_INFO = 3 };
enum { CW_LOG_FLAG_INIT = 0x1, CW_LOG_FLAG_PROFILE = 0x4000 };

/* Members that stay the same in every version that has them. */
typedef struct {
  int pid;
  uint8_t channelId;
  int peer;
  int nSteps;
  int chunkSize;
  int isSend;
} cw_abi_proxy_op;

typedef struct { int step; } cw_abi_proxy_step;
typedef struct { uint8_t channelId; } cw_abi_kernel_ch_v3;
typedef struct { void *stream; } cw_abi_kernel_launch;

typedef struct {
  uint8_t channelId;
  uint64_t pTimer;
} cw_abi_kernel_ch;

typedef struct { int64_t id; void *data; } cw_abi_net_plugin;

typedef struct {
  bool graphCaptured;
  int groupDepth;
} cw_abi_group_api;

typedef struct {
  bool isComplete;
  int nRanks;
} cw_abi_ce_sync;

typedef struct {
  int numOps;
  size_t totalBytes;
  bool useIntraSync;
} cw_abi_ce_batch;

typedef struct {
  uint8_t channelId;
  uint8_t phaseId;
  const char *phaseName;
  uint64_t pTimer;
} cw_abi_kernel_phase;

/* v2 and v3: the communicator's identity travels with every collective. */
typedef struct {
  const char *name;
  uint64_t commHash;
  uint64_t seqNumber;
  const char *func;
  const void *sendBuff;
  void *recvBuff;
  size_t count;
  int root;
  const char *datatype;
  size_t trafficBytes;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char *algo;
  const char *proto;
} cw_abi_coll_v2;

typedef struct {
  const char *name;
  uint64_t commHash;
  uint64_t seqNumber;
  const char *func;
  const void *sendBuff;
  void *recvBuff;
  size_t count;
  int root;
  const char *datatype;
  uint8_t nMaxChannels;
  uint8_t nWarps;
  const char *algo;
  const char *proto;
} cw_abi_coll_v3;

typedef struct {
  const char *name;
  uint64_t commHash;
  const char *func;
  void *buff;
  const char *datatype;
  size_t count;
  int peer;
} cw_abi_p2p_v2;

#define CW_ABI_COLL_COMMON \
  uint64_t seqNumber;      \
  const char *func;        \
  const void *sendBuff;    \
  void *recvBuff;          \
  size_t count;            \
  int root;                \
  const char *datatype;    \
  uint8_t nChannels;       \
  uint8_t nWarps;          \
  const char *algo;        \
  const char *proto;

typedef struct {
  CW_ABI_COLL_COMMON
} cw_abi_coll_v4;

typedef struct {
  CW_ABI_COLL_COMMON
  void *parentGroup;
} cw_abi_coll_v5;

typedef struct {
  CW_ABI_COLL_COMMON
  void *parentGroup;
  const char *kernelVariant;
  bool isSymColl;
  uint64_t userTag;
} cw_abi_coll_v7;

#define CW_ABI_P2P_COMMON \
  const char *func;       \
  void *buff;             \
  const char *datatype;   \
  size_t count;           \
  int peer;               \
  uint8_t nChannels;

typedef struct {
  CW_ABI_P2P_COMMON
} cw_abi_p2p_v4;

typedef struct {
  CW_ABI_P2P_COMMON
  void *parentGroup;
} cw_abi_p2p_v5;

typedef struct {
  CW_ABI_P2P_COMMON
  void *parentGroup;
  uint64_t userTag;
} cw_abi_p2p_v7;

#define CW_ABI_COLL_API_COMMON \
  const char *func;            \
  size_t count;                \
  const char *datatype;        \
  int root;                    \
  void *stream;                \
  bool graphCaptured;

typedef struct {
  CW_ABI_COLL_API_COMMON
} cw_abi_coll_api_v5;

typedef struct {
  CW_ABI_COLL_API_COMMON
  uint64_t userTag;
} cw_abi_coll_api_v7;

#define CW_ABI_P2P_API_COMMON \
  const char *func;           \
  size_t count;               \
  const char *datatype;       \
  void *stream;               \
  bool graphCaptured;

typedef struct {
  CW_ABI_P2P_API_COMMON
} cw_abi_p2p_api_v5;

typedef struct {
  CW_ABI_P2P_API_COMMON
  uint64_t userTag;
} cw_abi_p2p_api_v7;

#define CW_ABI_CE_COLL_COMMON \
  uint64_t seqNumber;         \
  const char *func;           \
  const void *sendBuff;       \
  void *recvBuff;             \
  size_t count;               \
  int root;                   \
  const char *datatype;       \
  const char *syncStrategy;   \
  bool intraBatchSync;        \
  uint32_t batchSize;         \
  uint32_t numBatches;        \
  uint32_t ceSeqNum;          \
  void *stream;

typedef struct {
  CW_ABI_CE_COLL_COMMON
} cw_abi_ce_coll_v6;

typedef struct {
  CW_ABI_CE_COLL_COMMON
  uint64_t userTag;
} cw_abi_ce_coll_v7;

#define CW_ABI_HEAD(type_t) \
  type_t type;              \
  void *parentObj;          \
  int rank;

typedef struct {
  CW_ABI_HEAD(uint8_t)
  union {
    cw_abi_coll_v2 coll;
    cw_abi_p2p_v2 p2p;
    cw_abi_proxy_op proxyOp;
    cw_abi_proxy_step proxyStep;
  };
} cw_abi_descr_v2;

typedef struct {
  CW_ABI_HEAD(uint8_t)
  union {
    cw_abi_coll_v3 coll;
    cw_abi_p2p_v2 p2p;
    cw_abi_proxy_op proxyOp;
    cw_abi_proxy_step proxyStep;
    cw_abi_kernel_ch_v3 kernelCh;
    cw_abi_net_plugin netPlugin;
  };
} cw_abi_descr_v3;

typedef struct {
  CW_ABI_HEAD(uint8_t)
  union {
    cw_abi_coll_v4 coll;
    cw_abi_p2p_v4 p2p;
    cw_abi_proxy_op proxyOp;
    cw_abi_proxy_step proxyStep;
    cw_abi_kernel_ch kernelCh;
    cw_abi_net_plugin netPlugin;
  };
} cw_abi_descr_v4;

typedef struct {
  CW_ABI_HEAD(uint64_t)
  union {
    cw_abi_group_api groupApi;
    cw_abi_coll_api_v5 collApi;
    cw_abi_p2p_api_v5 p2pApi;
    cw_abi_kernel_launch kernelLaunch;
    cw_abi_coll_v5 coll;
    cw_abi_p2p_v5 p2p;
    cw_abi_proxy_op proxyOp;
    cw_abi_proxy_step proxyStep;
    cw_abi_kernel_ch kernelCh;
    cw_abi_net_plugin netPlugin;
  };
} cw_abi_descr_v5;

typedef struct {
  CW_ABI_HEAD(uint64_t)
  union {
    cw_abi_group_api groupApi;
    cw_abi_coll_api_v5 collApi;
    cw_abi_p2p_api_v5 p2pApi;
    cw_abi_kernel_launch kernelLaunch;
    cw_abi_coll_v5 coll;
    cw_abi_p2p_v5 p2p;
    cw_abi_proxy_op proxyOp;
    cw_abi_proxy_step proxyStep;
    cw_abi_kernel_ch kernelCh;
    cw_abi_net_plugin netPlugin;
    cw_abi_ce_coll_v6 ceColl;
    cw_abi_ce_sync ceCollSync;
    cw_abi_ce_batch ceCollBatch;
  };
} cw_abi_descr_v6;

typedef struct {
  CW_ABI_HEAD(uint64_t)
  union {
    cw_abi_group_api groupApi;
    cw_abi_coll_api_v7 collApi;
    cw_abi_p2p_api_v7 p2pApi;
    cw_abi_kernel_launch kernelLaunch;
    cw_abi_coll_v7 coll;
    cw_abi_p2p_v7 p2p;
    cw_abi_proxy_op proxyOp;
    cw_abi_proxy_step proxyStep;
    cw_abi_kernel_ch kernelCh;
    cw_abi_net_plugin netPlugin;
    cw_abi_ce_coll_v7 ceColl;
    cw_abi_ce_sync ceCollSync;
    cw_abi_ce_batch ceCollBatch;
    cw_abi_kernel_phase kernelPhase;
  };
} cw_abi_descr_v7;

/* State arguments: 16 bytes up to v3, 8 bytes from v4. The pointer itself may be NULL. */
typedef union {
  struct {
    size_t transSize;
    int steps;
  } proxyOp;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
} cw_abi_state_v2;

typedef union {
  struct {
    size_t transSize;
  } proxyStep;
  struct {
    int appendedProxyOps;
  } proxyCtrl;
  struct {
    void *data;
  } netPlugin;
  struct {
    uint64_t pTimer;
  } kernelCh;
} cw_abi_state_v4;

/* The exported tables. The return value is an int-sized enum, 0 is success. */
#define CW_ABI_TABLE(v, state_t, ...)                                        \
  typedef struct {                                                           \
    const char *name;                                                        \
    int (*init)(__VA_ARGS__);                                                \
    int (*startEvent)(void *ctx, void **handle, cw_abi_descr_v##v *descr);   \
    int (*stopEvent)(void *handle);                                          \
    int (*recordEventState)(void *handle, int state, state_t *args);         \
    int (*finalize)(void *ctx);                                              \
  } cw_abi_table_v##v;

CW_ABI_TABLE(2, cw_abi_state_v2, void **ctx, int *mask)
CW_ABI_TABLE(3, cw_abi_state_v2, void **ctx, int *mask)
CW_ABI_TABLE(4, cw_abi_state_v4, void **ctx, int *mask, const char *commName, uint64_t commHash, int nNodes, int nranks,
             int rank, cw_logger log)
CW_ABI_TABLE(5, cw_abi_state_v4, void **ctx, uint64_t commId, int *mask, const char *commName, int nNodes, int nranks,
             int rank, cw_logger log)
CW_ABI_TABLE(6, cw_abi_state_v4, void **ctx, uint64_t commId, int *mask, const char *commName, int nNodes, int nranks,
             int rank, cw_logger log)
CW_ABI_TABLE(7, cw_abi_state_v4, void **ctx, uint64_t commId, int *mask, const char *commName, int nNodes, int nranks,
             int rank, cw_logger log)

#endif
