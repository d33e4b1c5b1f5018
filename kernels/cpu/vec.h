/* vec.h - vectors of the instruction set that is being compiled (BT_ISA_…): loads, stores, exp.
 * Included by isa_*.c after the target pragma. Nothing here assumes finite numbers: NaN stays NaN. */
#include "internal.h"
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(BT_ISA_AVX512)
#define VBYTES 64
#elif defined(BT_ISA_AVX2)
#define VBYTES 32
#else
#define VBYTES 16
#endif
#define VW (VBYTES / 4)
typedef float vf __attribute__((vector_size(VBYTES), aligned(4), may_alias));
typedef uint32_t vu __attribute__((vector_size(VBYTES), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(VBYTES), aligned(4), may_alias));
typedef float vh __attribute__((vector_size(VBYTES / 2), aligned(4), may_alias)); /* half a vector, of floats */
typedef double vd __attribute__((vector_size(VBYTES), aligned(8)));

/* i runs over [from, n) in vectors of w elements, the last of which may be shorter. */
#define VLOOP(i, w, from, n) for (int64_t i = (from), w; i < (n) && ((w) = (n)-i < VW ? (n)-i : VW, 1); i += VW)

static inline vf vset(float x) { return x - (vf){0}; }
static inline vf vload(const float *p, int64_t w) {
  if (w == VW) return *(const vf *)p;
  vf v = {0};
  for (int64_t l = 0; l < w; l++) v[l] = p[l];
  return v;
}
static inline vf vload_or(const float *p, int64_t w, float other) {
  if (w == VW) return *(const vf *)p;
  vf v = vset(other);
  for (int64_t l = 0; l < w; l++) v[l] = p[l];
  return v;
}
static inline void vstore(float *p, vf v, int64_t w) {
  if (w == VW) {
    *(vf *)p = v;
    return;
  }
  for (int64_t l = 0; l < w; l++) p[l] = v[l];
}
static inline vf vblend(vi mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }
static inline vf vmax(vf a, vf b) { return vblend(a > b, a, b); }
static inline float vsum(vf v) {
  float t[VW];
  *(vf *)t = v;
  for (int n = VW / 2; n; n /= 2)
    for (int l = 0; l < n; l++) t[l] += t[l + n];
  return t[0];
}
static inline float vmaxes(vf v) {
  float m = v[0];
  for (int l = 1; l < VW; l++) m = v[l] > m ? v[l] : m;
  return m;
}

static inline vf vsqrt(vf v) {
#if defined(BT_ISA_AVX512)
  return (vf)_mm512_sqrt_ps((__m512)v);
#elif defined(BT_ISA_AVX2)
  return (vf)_mm256_sqrt_ps((__m256)v);
#elif defined(__x86_64__)
  return (vf)_mm_sqrt_ps((__m128)v);
#elif defined(__aarch64__)
  return (vf)vsqrtq_f32((float32x4_t)v);
#else
  for (int l = 0; l < VW; l++) v[l] = sqrtf(v[l]);
  return v;
#endif
}

/* exp, relative error 1e-7; below exp(-86.6) = 2.4e-38 the result is 0, above 88.72 infinity. */
static inline vf vexp(vf x) {
  const float round = 12582912.0f; /* 1.5 * 2^23: the sum's low bits are the nearest integer */
  vi under = x<-86.6f, over = x> 88.7228f;
  vf t = x * 1.44269504f + round;
  vf n = t - round;
  vf r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  vf p = vset(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  vu scale = ((vu)t << 23) + 0x3f000000u; /* 2^(n-1), so that n = 128 can be had */
  vf y = p * (vf)scale * 2.0f;
  return vblend(over, vset(INFINITY), (vf)((vi)y & ~under));
}
static inline vf vsigmoid(vf x) { return 1.0f / (1.0f + vexp(-x)); }
static inline vf vsilu(vf x) { return x / (1.0f + vexp(-x)); }
/* d silu(x) / dx */
static inline vf vsilu_slope(vf x) {
  vf s = vsigmoid(x);
  return s * (1.0f + x * (1.0f - s));
}

/* The k-th matrix of an operation, and a row of it. */
#define MAT(k) ((float *)(uintptr_t)o->m[k].p)
#define ROW(k, r) (MAT(k) + (r)*o->m[k].ld)
#define HAS(k) (o->m[k].p != 0)
#define BODY(name) static void name(void *arg, int64_t lo, int64_t hi, bt_worker w_)
#define OP                                                                                                                         \
  const bt_op *o = arg;                                                                                                            \
  (void)w_
