// lt_api.h - what of cuBLASLt is used: its values, its structs, its functions. They are declared here, so that nothing of
// cuBLAS is needed to build; scripts/cuda-check.sh compares them with the real header where there is one (api_check.cc).
#pragma once
#include "bt_cuda.h"
#include <cstddef>
#include <cstdint>

typedef struct lt_handle_t *lt_handle;
typedef struct lt_desc_t *lt_desc;     // cublasLtMatmulDesc_t
typedef struct lt_layout_t *lt_layout; // cublasLtMatrixLayout_t
typedef struct lt_pref_t *lt_pref;     // cublasLtMatmulPreference_t

enum {
  LT_SUCCESS = 0,
  LT_NOT_INITIALIZED = 1,
  LT_ALLOC_FAILED = 3,
  LT_INVALID_VALUE = 7,
  LT_ARCH_MISMATCH = 8,
  LT_EXECUTION_FAILED = 13,
  LT_INTERNAL_ERROR = 14,
  LT_NOT_SUPPORTED = 15
};
enum { LT_COMPUTE_32F = 68, LT_COMPUTE_32F_PEDANTIC = 69 }; // cublasComputeType_t
enum { LT_R_32F = 0, LT_R_16BF = 14 };                      // cudaDataType
enum { LT_OP_N = 0, LT_OP_T = 1 };                          // cublasOperation_t
enum { LT_DESC_TRANSA = 3, LT_DESC_TRANSB = 4 };            // cublasLtMatmulDescAttributes_t, int32 each
enum { LT_LAYOUT_BATCH = 5, LT_LAYOUT_STRIDE = 6 };         // cublasLtMatrixLayoutAttribute_t: int32, int64
// cublasLtMatmulPreferenceAttributes_t: uint64, then uint32 each
enum { LT_PREF_WORKSPACE = 1, LT_PREF_ALIGN_A = 5, LT_PREF_ALIGN_B = 6, LT_PREF_ALIGN_C = 7, LT_PREF_ALIGN_D = 8 };

typedef struct {
  uint64_t data[8];
} lt_algo;
typedef struct {
  lt_algo algo;
  size_t workspace;
  int32_t state; // of this one algorithm
  float waves;
  int32_t reserved[4];
} lt_heuristic;

// X(member, symbol, result, arguments)
#define LT_FUNCTIONS(X)                                                                                                            \
  X(version, cublasLtGetVersion, size_t, (void))                                                                                   \
  X(status_name, cublasLtGetStatusName, const char *, (int32_t))                                                                   \
  X(create, cublasLtCreate, int32_t, (lt_handle *))                                                                                \
  X(destroy, cublasLtDestroy, int32_t, (lt_handle))                                                                                \
  X(desc_create, cublasLtMatmulDescCreate, int32_t, (lt_desc *, int32_t compute, int32_t scale))                                   \
  X(desc_destroy, cublasLtMatmulDescDestroy, int32_t, (lt_desc))                                                                   \
  X(desc_set, cublasLtMatmulDescSetAttribute, int32_t, (lt_desc, int32_t attr, const void *, size_t))                              \
  X(layout_create, cublasLtMatrixLayoutCreate, int32_t, (lt_layout *, int32_t type, uint64_t rows, uint64_t cols, int64_t ld))     \
  X(layout_destroy, cublasLtMatrixLayoutDestroy, int32_t, (lt_layout))                                                             \
  X(layout_set, cublasLtMatrixLayoutSetAttribute, int32_t, (lt_layout, int32_t attr, const void *, size_t))                        \
  X(pref_create, cublasLtMatmulPreferenceCreate, int32_t, (lt_pref *))                                                             \
  X(pref_destroy, cublasLtMatmulPreferenceDestroy, int32_t, (lt_pref))                                                             \
  X(pref_set, cublasLtMatmulPreferenceSetAttribute, int32_t, (lt_pref, int32_t attr, const void *, size_t))                        \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic, int32_t,                                                                            \
    (lt_handle, lt_desc, lt_layout a, lt_layout b, lt_layout c, lt_layout d, lt_pref, int asked, lt_heuristic *, int *found))      \
  X(matmul, cublasLtMatmul, int32_t,                                                                                               \
    (lt_handle, lt_desc, const void *alpha, const void *a, lt_layout, const void *b, lt_layout, const void *beta, const void *c,   \
     lt_layout, void *d, lt_layout, const lt_algo *, void *workspace, size_t workspace_bytes, cudaStream_t))

struct lt_api {
#define X(member, symbol, result, args) result(*member) args;
  LT_FUNCTIONS(X)
#undef X
};
