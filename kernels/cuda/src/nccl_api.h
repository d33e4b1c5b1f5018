// nccl_api.h - what of NCCL is used: its values, its structs, its functions. They are declared here, so that nothing of NCCL is
// needed to build; scripts/cuda-check.sh compares them with the real header where there is one (api_check.cc).
#pragma once
#include "bt_cuda.h"
#include <climits>
#include <cstddef>
#include <cstdint>

typedef struct nccl_comm_t *nccl_comm;
typedef struct {
  char b[128];
} nccl_id;

// ncclResult_t
enum {
  NCCL_SUCCESS = 0,
  NCCL_UNHANDLED_CUDA_ERROR = 1,
  NCCL_SYSTEM_ERROR = 2,
  NCCL_INTERNAL_ERROR = 3,
  NCCL_INVALID_ARGUMENT = 4,
  NCCL_INVALID_USAGE = 5,
  NCCL_REMOTE_ERROR = 6,
  NCCL_IN_PROGRESS = 7
};
enum { NCCL_UINT8 = 1, NCCL_INT32 = 2, NCCL_FLOAT32 = 7, NCCL_BFLOAT16 = 9 }; // ncclDataType_t
enum { NCCL_SUM = 0, NCCL_MAX = 2 };                                          // ncclRedOp_t
enum { NCCL_NO_COLOR = -1 };

// ncclConfig_t as of 2.18. Later versions have more at the end, which they fill in by themselves for a config of this size.
enum { NCCL_CONFIG_VERSION = 21800, NCCL_UNDEFINED = INT_MIN };
typedef struct {
  size_t size;
  uint32_t magic, version;
  int32_t blocking, cga_cluster_size, min_ctas, max_ctas;
  const char *net_name;
  int32_t split_share;
} nccl_config;
enum { NCCL_MAGIC_WORD = (int32_t)0xcafebeef };

// X(member, symbol, result, arguments)
#define NCCL_FUNCTIONS(X)                                                                                                          \
  X(version, ncclGetVersion, int32_t, (int *))                                                                                     \
  X(error_string, ncclGetErrorString, const char *, (int32_t))                                                                     \
  X(last_error, ncclGetLastError, const char *, (nccl_comm))                                                                       \
  X(unique_id, ncclGetUniqueId, int32_t, (nccl_id *))                                                                              \
  X(init, ncclCommInitRankConfig, int32_t, (nccl_comm *, int n, nccl_id, int rank, nccl_config *))                                 \
  X(split, ncclCommSplit, int32_t, (nccl_comm, int color, int key, nccl_comm *, nccl_config *))                                    \
  X(async_error, ncclCommGetAsyncError, int32_t, (nccl_comm, int32_t *))                                                           \
  X(finalize, ncclCommFinalize, int32_t, (nccl_comm))                                                                              \
  X(destroy, ncclCommDestroy, int32_t, (nccl_comm))                                                                                \
  X(abort, ncclCommAbort, int32_t, (nccl_comm))                                                                                    \
  X(group_start, ncclGroupStart, int32_t, (void))                                                                                  \
  X(group_end, ncclGroupEnd, int32_t, (void))                                                                                      \
  X(all_reduce, ncclAllReduce, int32_t, (const void *, void *, size_t, int32_t type, int32_t op, nccl_comm, cudaStream_t))         \
  X(all_gather, ncclAllGather, int32_t, (const void *, void *, size_t sent, int32_t type, nccl_comm, cudaStream_t))                \
  X(reduce_scatter, ncclReduceScatter, int32_t,                                                                                    \
    (const void *, void *, size_t received, int32_t type, int32_t op, nccl_comm, cudaStream_t))                                    \
  X(broadcast, ncclBroadcast, int32_t, (const void *, void *, size_t, int32_t type, int root, nccl_comm, cudaStream_t))            \
  X(send, ncclSend, int32_t, (const void *, size_t, int32_t type, int peer, nccl_comm, cudaStream_t))                              \
  X(recv, ncclRecv, int32_t, (void *, size_t, int32_t type, int peer, nccl_comm, cudaStream_t))

struct nccl_api {
#define X(member, symbol, result, args) result(*member) args;
  NCCL_FUNCTIONS(X)
#undef X
};
