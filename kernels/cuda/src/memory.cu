// memory.cu - sums of matrices, copies, fills, conversions, sparse matrices, random numbers, the search for what is not finite.
// Formulas: kernels/ops_linear.go, ops_sparse.go, ops_optim.go, number.go.
#include "each.cuh"

extern "C" bt_status btk_nop(bt_ctx *, cudaStream_t, const bt_op *) { return BT_OK; }

template <class T, int V> struct axpby {
  bt_rows<T> x, y, out;
  float a, b;
  explicit axpby(const bt_op *o)
      : x(bt_mat_of<T>(o, 0)), y(bt_mat_of<T>(o, 1)), out(bt_mat_of<T>(o, 2)), a((float)o->f[0]), b((float)o->f[1]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float p[V], q[V];
    bt_load<V>(p, x.row(r) + c);
    if (y) bt_load<V>(q, y.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) p[k] = y ? a * p[k] + b * q[k] : a * p[k];
    bt_store<V>(out.row(r) + c, p);
  }
};
extern "C" bt_status btk_axpby(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "axpby", o, 2, 7, 0)) return e;
  BT_TYPED(o->t[2], T, return bt_check(c, "axpby", bt_each_of<axpby, T>(s, o, 7, true)));
}

// Sixteen bytes or one element of type T at a time, as they are.
template <class T, int V> struct copy_rows {
  const T *from;
  T *to;
  int64_t from_ld, to_ld;
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    if constexpr (V == 1) to[r * to_ld + c] = from[r * from_ld + c];
    else bt_st16(to + r * to_ld + c, bt_ld16(from + r * from_ld + c));
  }
};
template <class T> static cudaError_t copy_of(cudaStream_t s, const bt_op *o) {
  constexpr int V = 16 / sizeof(T);
  const bt_mat &a = o->m[0], &b = o->m[1];
  const T *from = bt_at<const T>(a.p);
  T *to = bt_at<T>(b.p);
  if (o->cols % V || a.p % 16 || b.p % 16 || a.ld % V || b.ld % V)
    return bt_run_each<copy_rows<T, 1>, 1>(s, {from, to, a.ld, b.ld}, o->rows, o->cols);
  return bt_run_each<copy_rows<T, V>, V>(s, {from, to, a.ld, b.ld}, o->rows, o->cols);
}
extern "C" bt_status btk_copy(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  int64_t size = o->i[0];
  if (o->rows == 1 || (o->m[0].ld == o->cols && o->m[1].ld == o->cols))
    return bt_check(
        c, "copy",
        cudaMemcpyAsync(bt_at<void>(o->m[1].p), bt_at<void>(o->m[0].p), o->rows * o->cols * size, cudaMemcpyDeviceToDevice, s));
  switch (size) {
  case 1: return bt_check(c, "copy", copy_of<uint8_t>(s, o));
  case 2: return bt_check(c, "copy", copy_of<uint16_t>(s, o));
  case 4: return bt_check(c, "copy", copy_of<uint32_t>(s, o));
  }
  return bt_fail(c, BT_EINVAL, "copy: elements of %lld bytes", (long long)size);
}
extern "C" bt_status btk_memcpy(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (o->i[0] == 0) return BT_OK;
  return bt_check(c, "memcpy", cudaMemcpyAsync(bt_at<void>(o->m[1].p), bt_at<void>(o->m[0].p), o->i[0], cudaMemcpyDefault, s));
}

template <class T, int V> struct fill {
  bt_rows<T> x;
  float value;
  explicit fill(const bt_op *o) : x(bt_mat_of<T>(o, 0)), value((float)o->f[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V];
    BT_UNROLL for (int k = 0; k < V; k++) a[k] = value;
    bt_store<V>(x.row(r) + c, a);
  }
};
extern "C" bt_status btk_fill(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "fill", o, 0, 1, 0)) return e;
  BT_TYPED(o->t[0], T, return bt_check(c, "fill", bt_each_of<fill, T>(s, o, 1, true)));
}

// From type T to type U.
template <class T, class U, int V> struct convert {
  bt_rows<T> x;
  bt_rows<U> out;
  explicit convert(const bt_op *o) : x(bt_mat_of<T>(o, 0)), out(bt_mat_of<U>(o, 1)) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V];
    bt_load<V>(a, x.row(r) + c);
    bt_store<V>(out.row(r) + c, a);
  }
};
template <class T, int V> using to_fp32 = convert<T, float, V>;
template <class T, int V> using to_bf16 = convert<T, bf16, V>;
extern "C" bt_status btk_convert(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "convert", o, 0, 1, 0)) return e;
  if (bt_status e = bt_types(c, "convert", o, 1, 2, 0)) return e;
  if (o->t[1] == BT_BF16) BT_TYPED(o->t[0], T, return bt_check(c, "convert", bt_each_of<to_bf16, T, 8>(s, o, 3, true)));
  BT_TYPED(o->t[0], T, return bt_check(c, "convert", bt_each_of<to_fp32, T, 8>(s, o, 3, true)));
}

template <class T, int V> struct scatter {
  const T *values;
  const int32_t *index;
  T *out;
  int64_t n;
  explicit scatter(const bt_op *o)
      : values(bt_at<T>(o->m[0].p)), index(bt_at<int32_t>(o->m[1].p)), out(bt_at<T>(o->m[2].p)), n(o->i[0]) {}
  __device__ __forceinline__ void operator()(int64_t, int64_t c) const {
    int64_t at = index[c];
    if (at >= 0 && at < n) out[at] = values[c];
  }
};
extern "C" bt_status btk_scatter(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_status e = bt_types(c, "scatter", o, 0, 1 | 4, 0)) return e;
  cudaError_t e = cudaMemsetAsync(bt_at<void>(o->m[2].p), 0, o->i[0] * bt_size_of(o->t[2]), s);
  if (e || bt_empty(o)) return bt_check(c, "scatter", e);
  BT_TYPED(o->t[0], T, return bt_check(c, "scatter", bt_run_each<scatter<T, 1>, 1>(s, scatter<T, 1>(o), 1, o->cols)));
}

template <class T, class U> struct pick {
  const T *x;
  const int32_t *index;
  U *out;
  int64_t n;
  float beta;
  __device__ __forceinline__ void operator()(int64_t, int64_t c) const {
    int64_t at = index[c];
    float v = 0;
    if (at >= 0 && at < n) v = bt_float(x[at]) + (beta == 0 ? 0.f : beta * bt_float(out[c])); // beta 0: out may hold anything
    out[c] = bt_from<U>(v);
  }
};
template <class T, class U> static bt_status pick_of(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  pick<T, U> f = {bt_at<T>(o->m[0].p), bt_at<int32_t>(o->m[1].p), bt_at<U>(o->m[2].p), o->i[0], (float)o->f[0]};
  return bt_check(c, "pick", bt_run_each<pick<T, U>, 1>(s, f, 1, o->cols));
}
extern "C" bt_status btk_pick(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "pick", o, 0, 1, 0)) return e;
  if (bt_status e = bt_types(c, "pick", o, 2, 4, 0)) return e;
  BT_TYPED(o->t[0], T, BT_TYPED(o->t[2], U, return (pick_of<T, U>(c, s, o))));
}

// SplitMix64, as kernels.Uniform.
static __device__ __forceinline__ uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}
template <class T, int V> struct draw {
  bt_rows<T> x;
  uint64_t key, row, col, width;
  double bound;
  explicit draw(const bt_op *o)
      : x(bt_mat_of<T>(o, 0)), key((uint64_t)o->i[0]), row((uint64_t)o->i[1]), col((uint64_t)o->i[2]), width((uint64_t)o->i[3]),
        bound(o->f[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V];
    uint64_t first = (row + (uint64_t)r) * width + col + (uint64_t)c + 1;
    BT_UNROLL for (int k = 0; k < V; k++) {
      uint64_t z = mix(key + (first + k) * 0x9E3779B97F4A7C15ull) >> 11;
      a[k] = (float)(bound * (2 * (((double)z + 0.5) * 0x1p-53) - 1));
    }
    bt_store<V>(x.row(r) + c, a);
  }
};
extern "C" bt_status btk_draw(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "draw", o, 0, 1, 0)) return e;
  BT_TYPED(o->t[0], T, return bt_check(c, "draw", bt_each_of<draw, T>(s, o, 1, false)));
}

enum { SEARCHERS = 128 }; // blocks; each looks through a range of elements

// The first element of a range that is not finite, by its row-major number; n: there is none.
template <class T>
__global__ void __launch_bounds__(BT_THREADS) find_range(bt_rows<T> x, int64_t cols, int64_t n, int64_t range, int64_t *found) {
  BT_SMEM(int64_t, firsts, BT_THREADS);
  int64_t lo = blockIdx.x * range, hi = lo + range < n ? lo + range : n, at = n;
  for (int64_t i = lo + threadIdx.x; i < hi && at == n; i += BT_THREADS)
    if (!bt_finite(bt_float(x.row(i / cols)[i % cols]))) at = i;
  firsts[threadIdx.x] = at;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int k = 1; k < BT_THREADS; k++) at = firsts[k] < at ? (int64_t)firsts[k] : at;
  found[blockIdx.x] = at;
}
static __global__ void find_first(const int64_t *found, int parts, int64_t cols, int64_t n, int32_t *out) {
  if (threadIdx.x != 0) return;
  int64_t at = n;
  for (int k = 0; k < parts; k++) at = found[k] < at ? found[k] : at;
  out[0] = at < n ? (int32_t)(at / cols) : -1;
  out[1] = at < n ? (int32_t)(at % cols) : -1;
}
extern "C" bt_status btk_find_non_finite(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  int32_t *out = bt_at<int32_t>(o->m[1].p);
  if (bt_empty(o)) return bt_check(c, "find_non_finite", cudaMemsetAsync(out, 0xff, 2 * sizeof *out, s)); // -1, -1
  if (bt_status e = bt_types(c, "find_non_finite", o, 0, 1, 0)) return e;
  void *found;
  if (bt_status e = bt_scratch(c, s, SEARCHERS * sizeof(int64_t), &found)) return e;
  int64_t n = o->rows * o->cols, range = bt_ceil(n, SEARCHERS), parts = bt_ceil(n, range);
  cudaError_t e;
  BT_TYPED(o->t[0], T,
           e = BT_LAUNCH((find_range<T>), dim3((unsigned)parts), dim3(BT_THREADS), 0, s, bt_mat_of<T>(o, 0), o->cols, n, range,
                         (int64_t *)found));
  if (!e) e = BT_LAUNCH(find_first, dim3(1), dim3(32), 0, s, (const int64_t *)found, (int)parts, o->cols, n, out);
  return bt_check(c, "find_non_finite", e);
}
