// types.cuh - what the kernel files share: matrices and rows by element type, vectors of elements as floats, the choice of a kernel
// by type, reductions over a block. Storage is fp32 or bf16; arithmetic is fp32 or wider, and a bf16 element is rounded once, to
// nearest even, when it is stored.
#pragma once
#include "kernels.h"

typedef __nv_bfloat16 bf16;

static __device__ __forceinline__ float bt_float(float x) { return x; }
static __device__ __forceinline__ float bt_float(bf16 x) { return __bfloat162float(x); }
template <class T> __device__ __forceinline__ T bt_from(float x);
template <> __device__ __forceinline__ float bt_from<float>(float x) { return x; }
template <> __device__ __forceinline__ bf16 bt_from<bf16>(float x) { return __float2bfloat16(x); }
// What remains of a number when it is stored.
template <class T> static __device__ __forceinline__ float bt_round(float x) { return bt_float(bt_from<T>(x)); }
static __device__ __forceinline__ bool bt_finite(float x) { return (bt_float_bits(x) & 0x7f800000u) != 0x7f800000u; }

// V elements at p as floats. V is 1, or such that they are a multiple of 16 bytes and p is aligned to it.
template <int V> static __device__ __forceinline__ void bt_load(float (&x)[V], const float *p) {
  if constexpr (V == 1) x[0] = p[0];
  else BT_UNROLL for (int k = 0; k < V; k += 4) {
      uint4 q = bt_ld16(p + k);
      x[k] = bt_bits_float(q.x), x[k + 1] = bt_bits_float(q.y), x[k + 2] = bt_bits_float(q.z), x[k + 3] = bt_bits_float(q.w);
    }
}
template <int V> static __device__ __forceinline__ void bt_load(float (&x)[V], const bf16 *p) {
  if constexpr (V == 1) x[0] = bt_float(p[0]);
  else BT_UNROLL for (int k = 0; k < V; k += 8) {
      uint4 q = bt_ld16(p + k);
      const unsigned w[4] = {q.x, q.y, q.z, q.w};
      BT_UNROLL for (int j = 0; j < 4; j++) x[k + 2 * j] = bt_bits_float(w[j] << 16),
                                                      x[k + 2 * j + 1] = bt_bits_float(w[j] & 0xffff0000u);
    }
}
template <int V> static __device__ __forceinline__ void bt_store(float *p, const float (&x)[V]) {
  if constexpr (V == 1) p[0] = x[0];
  else
    BT_UNROLL for (int k = 0; k < V; k += 4)
        bt_st16(p + k, make_uint4(bt_float_bits(x[k]), bt_float_bits(x[k + 1]), bt_float_bits(x[k + 2]), bt_float_bits(x[k + 3])));
}
template <int V> static __device__ __forceinline__ void bt_store(bf16 *p, const float (&x)[V]) {
  if constexpr (V == 1) p[0] = bt_from<bf16>(x[0]);
  else
    BT_UNROLL for (int k = 0; k < V; k += 8)
        bt_st16(p + k, make_uint4(bt_pack_bf16(x[k], x[k + 1]), bt_pack_bf16(x[k + 2], x[k + 3]), bt_pack_bf16(x[k + 4], x[k + 5]),
                                  bt_pack_bf16(x[k + 6], x[k + 7])));
}

// A matrix of an operation. p is null where it is absent.
template <class T> struct bt_rows {
  T *p;
  int64_t ld;
  __device__ __forceinline__ T *row(int64_t r) const { return p + r * ld; }
  __host__ __device__ __forceinline__ explicit operator bool() const { return p != nullptr; }
};
template <class T> static inline bt_rows<T> bt_mat_of(const bt_op *o, int k) { return {bt_at<T>(o->m[k].p), o->m[k].ld}; }

// Whether rows of the matrices whose bits are in mask may be read V elements at a time: addresses and leading dimensions are
// multiples of 16 bytes and the width is one of V.
static inline bool bt_vectorised(const bt_op *o, unsigned mask, int v) {
  if (o->cols % v) return false;
  for (int k = 0; k < 10; k++) {
    if (!(mask >> k & 1) || !o->m[k].p) continue;
    int64_t size = o->t[k] == BT_BF16 ? 2 : 4;
    if (o->m[k].p % 16 || (o->rows > 1 && o->m[k].ld * size % 16)) return false;
  }
  return true;
}
// Whether the matrices of mask have no gaps between rows, so that an element-wise operation is one long row.
static inline bool bt_flat(const bt_op *o, unsigned mask) {
  for (int k = 0; k < 10; k++)
    if (mask >> k & 1 && o->m[k].p && o->rows > 1 && o->m[k].ld != o->cols) return false;
  return true;
}
// Verifies that the present matrices of mask are all of the type of matrix first, fp32 or bf16, and those of fp32 are fp32.
bt_status bt_types(bt_ctx *, const char *name, const bt_op *, int first, unsigned mask, unsigned fp32);
static inline bool bt_empty(const bt_op *o) { return o->rows <= 0 || o->cols <= 0; }

// Calls f(T{}) with the element type of a matrix, as BT_TYPED(o->t[0], T, return run<T>(…)).
#define BT_TYPED(type, T, ...)                                                                                                     \
  do {                                                                                                                             \
    if ((type) == BT_BF16) {                                                                                                       \
      typedef bf16 T;                                                                                                              \
      __VA_ARGS__;                                                                                                                 \
    } else {                                                                                                                       \
      typedef float T;                                                                                                             \
      __VA_ARGS__;                                                                                                                 \
    }                                                                                                                              \
  } while (0)
// How many elements of T are read at a time.
template <class T> constexpr int bt_width() { return 16 / (int)sizeof(T); }
