// bt_nvcc.h - nvcc's side of bt_cuda.h.
#pragma once
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define BT_UNROLL _Pragma("unroll")
#define BT_SMEM(T, name, N) __shared__ T name[N]
#define BT_SMEM_DYN(T, name)                                                                                                       \
  extern __shared__ __align__(16) unsigned char bt_dyn_smem[];                                                                     \
  T *name = reinterpret_cast<T *>(bt_dyn_smem)
#define BT_SPTR(T) T *

// Blocks of a launch whose threads stride over their work: enough to fill any GPU several times.
constexpr unsigned BT_MAX_GRID = 2112;

namespace bt {
template <class... KA, class... A>
inline cudaError_t launch(const char *, void (*k)(KA...), dim3 g, dim3 b, size_t smem, cudaStream_t s, A... a) {
  k<<<g, b, smem, s>>>(static_cast<KA>(a)...);
  return cudaGetLastError();
}
} // namespace bt
#define BT_LAUNCH(k, g, b, smem, s, ...) bt::launch(#k, k, g, b, smem, s, __VA_ARGS__)

static __device__ __forceinline__ uint32_t bt_float_bits(float f) { return __float_as_uint(f); }
static __device__ __forceinline__ float bt_bits_float(uint32_t u) { return __uint_as_float(u); }
static __device__ __forceinline__ uint32_t bt_pair(__nv_bfloat16 lo, __nv_bfloat16 hi) {
  __nv_bfloat162 v;
  v.x = lo;
  v.y = hi;
  return *reinterpret_cast<uint32_t *>(&v);
}
#include "bt_ptx.h"
