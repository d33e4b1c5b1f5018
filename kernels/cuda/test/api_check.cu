// api_check.cu - compares lt_api.h and nccl_api.h with the real headers. Nothing is run: it compiles, or says what differs.
// scripts/cuda-check.sh compiles it where the headers are.
#include "lt_api.h"
#include "nccl_api.h"
#include <cublasLt.h>
#include <nccl.h>
#include <type_traits>

// What a call passes of a type: an address, a number with its size, or a struct with its size.
template <class T> constexpr int passed() {
  if (std::is_void<T>::value) return 0;
  if (std::is_pointer<T>::value) return 1;
  if (std::is_enum<T>::value || std::is_integral<T>::value) return 100 + sizeof(T);
  if (std::is_floating_point<T>::value) return 200 + sizeof(T);
  return 1000 + sizeof(T);
}
template <class A, class B> struct same_call : std::false_type {};
template <class R, class... A, class S, class... B> struct same_call<R (*)(A...), S (*)(B...)> {
  template <bool... X> struct list {};
  template <class L, class M> struct zip : std::false_type {};
  template <int... X> struct kinds {};
  static constexpr bool value = passed<R>() == passed<S>() && std::is_same<kinds<passed<A>()...>, kinds<passed<B>()...>>::value;
};

#define X(member, symbol, result, args) static_assert(same_call<decltype(lt_api::member), decltype(&symbol)>::value, #symbol " is called otherwise");
LT_FUNCTIONS(X)
#undef X
#define X(member, symbol, result, args) static_assert(same_call<decltype(nccl_api::member), decltype(&symbol)>::value, #symbol " is called otherwise");
NCCL_FUNCTIONS(X)
#undef X

#define SAME(ours, theirs) static_assert((long long)(ours) == (long long)(theirs), #ours " is not " #theirs)
SAME(LT_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME(LT_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(LT_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED);
SAME(LT_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE);
SAME(LT_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(LT_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(LT_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(LT_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(LT_R_32F, CUDA_R_32F);
SAME(LT_R_16BF, CUDA_R_16BF);
SAME(LT_OP_N, CUBLAS_OP_N);
SAME(LT_OP_T, CUBLAS_OP_T);
SAME(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(LT_LAYOUT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(LT_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(LT_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(LT_PREF_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(LT_PREF_ALIGN_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(LT_PREF_ALIGN_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(LT_PREF_ALIGN_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(sizeof(lt_algo), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(lt_heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(lt_heuristic, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(lt_heuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME(offsetof(lt_heuristic, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

SAME(NCCL_SUCCESS, ncclSuccess);
SAME(NCCL_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError);
SAME(NCCL_SYSTEM_ERROR, ncclSystemError);
SAME(NCCL_INTERNAL_ERROR, ncclInternalError);
SAME(NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(NCCL_IN_PROGRESS, ncclInProgress);
SAME(NCCL_UINT8, ncclUint8);
SAME(NCCL_INT32, ncclInt32);
SAME(NCCL_FLOAT32, ncclFloat32);
SAME(NCCL_BFLOAT16, ncclBfloat16);
SAME(NCCL_SUM, ncclSum);
SAME(NCCL_MAX, ncclMax);
SAME(sizeof(nccl_id), sizeof(ncclUniqueId));
// A config as of an older version is the beginning of today's; its initial values must be those of the real macro.
SAME(offsetof(nccl_config, size), offsetof(ncclConfig_t, size));
SAME(offsetof(nccl_config, magic), offsetof(ncclConfig_t, magic));
SAME(offsetof(nccl_config, version), offsetof(ncclConfig_t, version));
SAME(offsetof(nccl_config, blocking), offsetof(ncclConfig_t, blocking));
SAME(offsetof(nccl_config, cga_cluster_size), offsetof(ncclConfig_t, cgaClusterSize));
SAME(offsetof(nccl_config, min_ctas), offsetof(ncclConfig_t, minCTAs));
SAME(offsetof(nccl_config, max_ctas), offsetof(ncclConfig_t, maxCTAs));
SAME(offsetof(nccl_config, net_name), offsetof(ncclConfig_t, netName));
SAME(offsetof(nccl_config, split_share), offsetof(ncclConfig_t, splitShare));
SAME(NCCL_UNDEFINED, NCCL_CONFIG_UNDEF_INT);
constexpr ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
SAME(initial.magic, (uint32_t)NCCL_MAGIC_WORD);
