// bt_emu_device.h - what kernels call: warp operations, bf16, tensor cores, asynchronous copies.
#pragma once

constexpr unsigned BT_MAX_GRID = 4; // more blocks would only be more fibers

static inline void bt_emu_syncwarp(const char *file, int line) {
  uint64_t none = 0;
  emu::warp_exchange(0xffffffffu, &none, 0, file, line);
}
template <class T> inline T bt_emu_shfl(unsigned mask, T v, unsigned from, bool valid, const char *file, int line) {
  static_assert(sizeof(T) <= 8, "a lane gives 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  uint32_t g = emu::warp_exchange(mask, &bits, 1, file, line);
  if (!valid) return v;
  if (!(mask >> from & 1)) emu::report("shuffle from lane %u, which mask %08x lacks (%s:%d)", from, mask, file, line);
  T r;
  memcpy(&r, emu::warp().slot[g & 1][from], sizeof r);
  return r;
}
#define __shfl_xor_sync(m, v, x) bt_emu_shfl(m, v, emu::lane() ^ (unsigned)(x), true, __FILE__, __LINE__)
#define __shfl_down_sync(m, v, d)                                                                                                  \
  bt_emu_shfl(m, v, emu::lane() + (unsigned)(d), emu::lane() + (unsigned)(d) < 32, __FILE__, __LINE__)
#define __shfl_up_sync(m, v, d) bt_emu_shfl(m, v, emu::lane() - (unsigned)(d), emu::lane() >= (unsigned)(d), __FILE__, __LINE__)
#define __shfl_sync(m, v, s) bt_emu_shfl(m, v, (unsigned)(s)&31, true, __FILE__, __LINE__)
template <class T> inline T atomicAdd(T *p, T v) { // a fiber is never interrupted
  T old = *p;
  *p = old + v;
  return old;
}

// The reductions that the other compilers do with five shuffles: the same sums in the same order after one exchange.
template <class T, class F> inline T bt_emu_reduce(T v, F f) {
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  uint32_t g = emu::warp_exchange(0xffffffffu, &bits, 1, "a reduction over a warp", 0);
  T x[32];
  for (int i = 0; i < 32; i++) memcpy(&x[i], emu::warp().slot[g & 1][i ^ emu::lane()], sizeof v);
  for (int o = 16; o > 0; o >>= 1)
    for (int i = 0; i < o; i++) x[i] = f(x[i], x[i + o]);
  return x[0];
}
static inline float bt_max(float a, float b) { return a != a ? a : b > a || b != b ? b : a; }
static inline float bt_warp_sum(float v) {
  return bt_emu_reduce(v, [](float a, float b) { return a + b; });
}
static inline double bt_warp_sum(double v) {
  return bt_emu_reduce(v, [](double a, double b) { return a + b; });
}
static inline float bt_warp_max(float v) { return bt_emu_reduce(v, bt_max); }

static inline double bt_sinpi(double x) { return std::sin(3.14159265358979323846 * std::remainder(x, 2.0)); }
static inline double bt_cospi(double x) { return std::cos(3.14159265358979323846 * std::remainder(x, 2.0)); }
static inline float bt_exp2(float x) { return x < -126 ? 0 : std::exp2(x); }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
#define __expf(x) expf(x)
static inline float __fdividef(float a, float b) { return a / b; }
static inline uint32_t bt_float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static inline float bt_bits_float(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

static inline uint4 bt_ld16(const void *p) {
  emu::aligned(p, 16, "load");
  uint4 v;
  memcpy(&v, p, 16);
  return v;
}
static inline void bt_st16(void *p, uint4 v) {
  emu::aligned(p, 16, "store");
  memcpy(p, &v, 16);
}

struct __nv_bfloat16 {
  uint16_t r;
};
static inline float __bfloat162float(__nv_bfloat16 h) { return bt_bits_float((uint32_t)h.r << 16); }
static inline __nv_bfloat16 __float2bfloat16(float f) {
  uint32_t u = bt_float_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {(uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16)};
}
static inline uint32_t bt_pair(__nv_bfloat16 lo, __nv_bfloat16 hi) { return lo.r | (uint32_t)hi.r << 16; }
static inline uint32_t bt_pack_bf16(float lo, float hi) { return bt_pair(__float2bfloat16(lo), __float2bfloat16(hi)); }

// mma.m16n8k16: the fragments travel to all lanes, then each makes its own four results.
static inline void bt_mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const uint64_t mine[3] = {a[0] | (uint64_t)a[1] << 32, a[2] | (uint64_t)a[3] << 32, b[0] | (uint64_t)b[1] << 32};
  uint32_t g = emu::warp_exchange(0xffffffffu, mine, 3, "mma", 0);
  const auto &slot = emu::warp().slot[g & 1];
  auto part = [](uint64_t v, int h) { return bt_bits_float((uint32_t)(v >> 16 * h) << 16); };
  unsigned row = emu::lane() >> 2, pair = emu::lane() & 3;
  for (int c = 0; c < 2; c++) {
    unsigned n = pair * 2 + c;
    float s0 = 0, s1 = 0;
    for (int q = 0; q < 4; q++) { // lane n*4+q holds B at k = 2q, 2q+1, 2q+8, 2q+9
      uint64_t y = slot[n * 4 + q][2], lo = slot[row * 4 + q][0], hi = slot[row * 4 + q][1];
      for (int h = 0; h < 2; h++) {
        s0 += part(lo, h) * part(y, h) + part(hi, h) * part(y, 2 + h);
        s1 += part(lo, 2 + h) * part(y, h) + part(hi, 2 + h) * part(y, 2 + h);
      }
    }
    d[c] += s0;
    d[2 + c] += s1;
  }
}

inline void bt_emu_ldmatrix(uint32_t (&r)[4], BT_SPTR(__nv_bfloat16) row, bool trans) {
  const __nv_bfloat16 *p = emu::touch(row, 8, false);
  emu::aligned(p, 16, "ldmatrix");
  uint64_t mine[2];
  memcpy(mine, p, 16);
  uint32_t g = emu::warp_exchange(0xffffffffu, mine, 2, "ldmatrix", 0);
  const auto &slot = emu::warp().slot[g & 1];
  auto at = [&](int matrix, int i, int k) { return (uint32_t)(slot[matrix * 8 + i][k / 4] >> 16 * (k % 4) & 0xffff); };
  int i = emu::lane() / 4, k = emu::lane() % 4 * 2;
  for (int m = 0; m < 4; m++) r[m] = trans ? at(m, k, i) | at(m, k + 1, i) << 16 : at(m, i, k) | at(m, i, k + 1) << 16;
}
static inline void bt_ldmatrix_x4(uint32_t (&r)[4], BT_SPTR(__nv_bfloat16) row, int further = 0) {
  bt_emu_ldmatrix(r, row + further, false);
}
static inline void bt_ldmatrix_x4_trans(uint32_t (&r)[4], BT_SPTR(__nv_bfloat16) row, int further = 0) {
  bt_emu_ldmatrix(r, row + further, true);
}

// The copy is done when it is waited for, and no earlier: a wait that is missing leaves what was there.
template <class T> inline void bt_emu_cp_async16(BT_SPTR(T) shared, const T *global, bool valid) {
  T *to = emu::touch(shared, 16 / sizeof(T), true);
  emu::aligned(to, 16, "asynchronous copy");
  if (valid) emu::aligned(global, 16, "asynchronous copy");
  emu::async_copy([=] {
    emu::touch(shared, 16 / sizeof(T), true);
    if (valid) memcpy((void *)to, (const void *)global, 16);
    else memset((void *)to, 0, 16);
  });
}
static inline void bt_cp_async16(BT_SPTR(__nv_bfloat16) s, const __nv_bfloat16 *g, bool valid) {
  bt_emu_cp_async16<__nv_bfloat16>(s, g, valid);
}
static inline void bt_cp_async16(BT_SPTR(float) s, const float *g, bool valid) { bt_emu_cp_async16<float>(s, g, valid); }
static inline void bt_cp_async_commit() { emu::async_commit(); }
template <int N> inline void bt_cp_async_wait() { emu::async_wait(N); }
