// bt_clangcheck.h - just enough of CUDA for clang -x cuda --cuda-device-only -nocudainc -nocudalib -S: a check that kernels compile
// to PTX, and to which, on machines that have no SDK.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define BT_UNROLL _Pragma("unroll")
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
static __host__ __device__ __forceinline__ uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
#define BT_SREG(N, R)                                                                                                              \
  struct bt_##N {                                                                                                                  \
    __declspec(property(get = gx)) unsigned x;                                                                                     \
    __declspec(property(get = gy)) unsigned y;                                                                                     \
    __declspec(property(get = gz)) unsigned z;                                                                                     \
    __device__ static unsigned gx() { return __nvvm_read_ptx_sreg_##R##_x(); }                                                     \
    __device__ static unsigned gy() { return __nvvm_read_ptx_sreg_##R##_y(); }                                                     \
    __device__ static unsigned gz() { return __nvvm_read_ptx_sreg_##R##_z(); }                                                     \
  };                                                                                                                               \
  extern const __device__ __attribute__((weak)) bt_##N N;
BT_SREG(threadIdx, tid)
BT_SREG(blockIdx, ctaid)
BT_SREG(blockDim, ntid)
BT_SREG(gridDim, nctaid)
#undef BT_SREG

// Functions of CUDA's device library, which is not there: PTX keeps the calls.
extern "C" {
__device__ float __nv_expf(float);
__device__ float __nv_exp2f(float);
__device__ float __nv_logf(float);
__device__ float __nv_sqrtf(float);
__device__ float __nv_rsqrtf(float);
__device__ float __nv_fabsf(float);
__device__ float __nv_fmaxf(float, float);
__device__ float __nv_fminf(float, float);
__device__ float __nv_sinf(float);
__device__ float __nv_cosf(float);
__device__ double __nv_exp(double);
__device__ double __nv_log(double);
__device__ double __nv_sqrt(double);
__device__ double __nv_pow(double, double);
__device__ double __nv_sin(double);
__device__ double __nv_cos(double);
__device__ double __nv_sinpi(double);
__device__ double __nv_cospi(double);
}
#define BT_UNARY(T, f)                                                                                                             \
  static __device__ __forceinline__ T f(T x) { return __nv_##f(x); }
BT_UNARY(float, expf)
BT_UNARY(float, exp2f)
BT_UNARY(float, logf)
BT_UNARY(float, sqrtf)
BT_UNARY(float, rsqrtf)
BT_UNARY(float, fabsf)
BT_UNARY(float, sinf)
BT_UNARY(float, cosf)
BT_UNARY(double, exp)
BT_UNARY(double, log)
BT_UNARY(double, sqrt)
BT_UNARY(double, sin)
BT_UNARY(double, cos)
BT_UNARY(double, sinpi)
BT_UNARY(double, cospi)
#undef BT_UNARY
static __device__ __forceinline__ double pow(double x, double y) { return __nv_pow(x, y); }
static __device__ __forceinline__ float fmaxf(float a, float b) { return __nv_fmaxf(a, b); }
static __device__ __forceinline__ float fminf(float a, float b) { return __nv_fminf(a, b); }
static __device__ __forceinline__ float __expf(float x) { return __nv_expf(x); }
static __device__ __forceinline__ float __fdividef(float a, float b) { return a / b; }
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
#ifndef NAN
#define NAN __builtin_nanf("")
#endif

#define __syncwarp(...) __nvvm_bar_warp_sync(0xffffffffu)
static __device__ __forceinline__ float __shfl_xor_sync(unsigned m, float v, int l) {
  return __nvvm_shfl_sync_bfly_f32(m, v, l, 31);
}
static __device__ __forceinline__ int __shfl_xor_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_bfly_i32(m, v, l, 31); }
static __device__ __forceinline__ float __shfl_down_sync(unsigned m, float v, int l) {
  return __nvvm_shfl_sync_down_f32(m, v, l, 31);
}
static __device__ __forceinline__ float __shfl_sync(unsigned m, float v, int l) { return __nvvm_shfl_sync_idx_f32(m, v, l, 31); }
static __device__ __forceinline__ int __shfl_sync(unsigned m, int v, int l) { return __nvvm_shfl_sync_idx_i32(m, v, l, 31); }
static __device__ __forceinline__ double __shfl_xor_sync(unsigned m, double v, int l) {
  uint64_t b = __builtin_bit_cast(uint64_t, v);
  unsigned lo = __nvvm_shfl_sync_bfly_i32(m, (int)(unsigned)b, l, 31),
           hi = __nvvm_shfl_sync_bfly_i32(m, (int)(unsigned)(b >> 32), l, 31);
  return __builtin_bit_cast(double, (uint64_t)hi << 32 | lo);
}
static __device__ __forceinline__ float atomicAdd(float *p, float v) { return __nvvm_atom_add_gen_f(p, v); }

struct __nv_bfloat16 {
  unsigned short r;
};
static __device__ __forceinline__ uint32_t bt_float_bits(float f) { return __builtin_bit_cast(uint32_t, f); }
static __device__ __forceinline__ float bt_bits_float(uint32_t u) { return __builtin_bit_cast(float, u); }
static __device__ __forceinline__ float __bfloat162float(__nv_bfloat16 h) { return bt_bits_float((uint32_t)h.r << 16); }
static __device__ __forceinline__ __nv_bfloat16 __float2bfloat16(float f) {
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(f));
  return {r};
}
static __device__ __forceinline__ uint32_t bt_pair(__nv_bfloat16 lo, __nv_bfloat16 hi) {
  return (uint32_t)lo.r | (uint32_t)hi.r << 16;
}
#define BT_SMEM(T, name, N) __shared__ T name[N]
#define BT_SMEM_DYN(T, name)                                                                                                       \
  extern __shared__ __attribute__((aligned(16))) unsigned char bt_dyn_smem[];                                                      \
  T *name = reinterpret_cast<T *>(bt_dyn_smem)
#define BT_SPTR(T) T *
constexpr unsigned BT_MAX_GRID = 2112;
#include "bt_ptx.h"

// Host code is read, too: that makes the kernels that it launches.
#include "bt_runtime_api.h"
template <class... KA> inline cudaError_t bt_named(void (*)(KA...)) { return cudaSuccess; }
#define BT_LAUNCH(k, g, b, dyn_bytes, s, ...) bt_named(k)
