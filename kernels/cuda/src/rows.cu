// rows.cu - what a block does between its products: the norm in halves, so that its statistic can travel between ranks, the end of a
// down-projection (1/rms and silu in one pass over the concatenated latents), SwiGLU. Formulas: kernels/ops_block.go.
#include "each.cuh"
#include "silu.cuh"

#define TYPES(first, mask, fp32)                                                                                                   \
  if (bt_empty(o)) return BT_OK;                                                                                                   \
  if (bt_status e = bt_types(c, __func__ + 4, o, first, mask, fp32)) return e

template <class T, int V> struct norm_stats : bt_sum<float> {
  bt_rows<T> x;
  bt_rows<float> stat;
  explicit norm_stats(const bt_op *o) : x(bt_mat_of<T>(o, 0)), stat(bt_mat_of<float>(o, 1)) {}
  __device__ __forceinline__ float operator()(int64_t r, int64_t c) const {
    float a[V], s = 0;
    bt_load<V>(a, x.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) s += a[k] * a[k];
    return s;
  }
  __device__ __forceinline__ void done(int64_t r, float s) const { *stat.row(r) = s; }
};
extern "C" bt_status btk_norm_stats(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 1, 2);
  BT_TYPED(o->t[0], T, return bt_check(c, "norm_stats", bt_row_of<norm_stats, T>(s, o, 1)));
}

static __global__ void __launch_bounds__(BT_THREADS)
    norm_rstd(bt_rows<float> stat, bt_rows<float> rstd, int64_t rows, double width, double eps) {
  int64_t r = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) *rstd.row(r) = (float)(1.0 / sqrt(*stat.row(r) / width + eps));
}
extern "C" bt_status btk_norm_rstd(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 0, 3);
  return bt_check(c, "norm_rstd",
                  BT_LAUNCH(norm_rstd, dim3((unsigned)bt_ceil(o->rows, BT_THREADS)), dim3(BT_THREADS), 0, s, bt_mat_of<float>(o, 0),
                            bt_mat_of<float>(o, 1), o->rows, (double)o->i[0], o->f[0]));
}

template <class T, int V> struct norm_apply {
  bt_rows<T> x, w, y;
  bt_rows<float> rstd;
  explicit norm_apply(const bt_op *o)
      : x(bt_mat_of<T>(o, 0)), w(bt_mat_of<T>(o, 1)), y(bt_mat_of<T>(o, 3)), rstd(bt_mat_of<float>(o, 2)) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V], g[V], q = rstd ? *rstd.row(r) : 1.f;
    bt_load<V>(a, x.row(r) + c);
    bt_load<V>(g, w.p + c);
    BT_UNROLL for (int k = 0; k < V; k++) a[k] = q * a[k] * g[k];
    bt_store<V>(y.row(r) + c, a);
  }
};
extern "C" bt_status btk_norm_apply(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 1 | 2 | 8, 4);
  BT_TYPED(o->t[0], T, return bt_check(c, "norm_apply", bt_each_of<norm_apply, T>(s, o, 1 | 2 | 8, false)));
}

template <class T, int V> struct norm_bwd_stats : bt_sum<float> {
  bt_rows<T> x, w, dy;
  bt_rows<float> rstd, dot;
  explicit norm_bwd_stats(const bt_op *o)
      : x(bt_mat_of<T>(o, 0)), w(bt_mat_of<T>(o, 1)), dy(bt_mat_of<T>(o, 3)), rstd(bt_mat_of<float>(o, 2)),
        dot(bt_mat_of<float>(o, 4)) {}
  __device__ __forceinline__ float operator()(int64_t r, int64_t c) const {
    float a[V], g[V], d[V], s = 0;
    bt_load<V>(a, x.row(r) + c);
    bt_load<V>(d, dy.row(r) + c);
    bt_load<V>(g, w.p + c);
    BT_UNROLL for (int k = 0; k < V; k++) s += d[k] * g[k] * a[k];
    return s;
  }
  __device__ __forceinline__ void done(int64_t r, float s) const { *dot.row(r) = s * *rstd.row(r); }
};
extern "C" bt_status btk_norm_bwd_stats(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 1 | 2 | 8, 4 | 16);
  BT_TYPED(o->t[0], T, return bt_check(c, "norm_bwd_stats", bt_row_of<norm_bwd_stats, T>(s, o, 1 | 2 | 8)));
}

template <class T, int V> struct norm_bwd_apply {
  bt_rows<T> x, w, dy, base, dx;
  bt_rows<float> rstd, dot;
  float width;
  explicit norm_bwd_apply(const bt_op *o)
      : x(bt_mat_of<T>(o, 0)), w(bt_mat_of<T>(o, 1)), dy(bt_mat_of<T>(o, 3)), base(bt_mat_of<T>(o, 5)), dx(bt_mat_of<T>(o, 6)),
        rstd(bt_mat_of<float>(o, 2)), dot(bt_mat_of<float>(o, 4)), width((float)o->i[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c, float (&dw)[V]) const {
    float a[V], g[V], d[V], b[V], q = *rstd.row(r), m = q * *dot.row(r) / width;
    bt_load<V>(a, x.row(r) + c);
    bt_load<V>(d, dy.row(r) + c);
    bt_load<V>(g, w.p + c);
    if (base) bt_load<V>(b, base.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) {
      float hat = q * a[k];
      dw[k] += d[k] * hat;
      a[k] = q * (d[k] * g[k]) - m * hat;
      if (base) a[k] += b[k];
    }
    bt_store<V>(dx.row(r) + c, a);
  }
};
extern "C" bt_status btk_norm_bwd_apply(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  const unsigned mats = 1 | 2 | 8 | 32 | 64;
  TYPES(0, mats, 4 | 16 | 128);
  BT_TYPED(o->t[0], T, return bt_columns_of<norm_bwd_apply, T>(c, "norm_bwd_apply", s, o, mats, bt_at<float>(o->m[7].p)));
}

template <class T, int V> struct latent {
  bt_rows<T> p, u, h;
  bt_rows<float> rstd;
  bool silu;
  explicit latent(const bt_op *o)
      : p(bt_mat_of<T>(o, 0)), u(bt_mat_of<T>(o, 2)), h(bt_mat_of<T>(o, 3)), rstd(bt_mat_of<float>(o, 1)), silu(o->i[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V], q = rstd ? *rstd.row(r) : 1.f;
    bt_load<V>(a, p.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) a[k] *= q;
    bt_store<V>(u.row(r) + c, a);
    if (!h) return;
    // Of what U holds, so that H made anew from U in a recomputation is the same to the bit.
    BT_UNROLL for (int k = 0; k < V; k++) a[k] = silu ? bt_silu(bt_round<T>(a[k])) : bt_round<T>(a[k]);
    bt_store<V>(h.row(r) + c, a);
  }
};
extern "C" bt_status btk_latent(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 1 | 4 | 8, 2);
  BT_TYPED(o->t[0], T, return bt_check(c, "latent", bt_each_of<latent, T>(s, o, 1 | 4 | 8, o->m[1].p == 0)));
}

template <class T, int V> struct latent_bwd : bt_sum<float> {
  bt_rows<T> dh, u, du;
  bt_rows<float> dot;
  bool silu;
  explicit latent_bwd(const bt_op *o)
      : dh(bt_mat_of<T>(o, 0)), u(bt_mat_of<T>(o, 1)), du(bt_mat_of<T>(o, 2)), dot(bt_mat_of<float>(o, 3)), silu(o->i[0]) {}
  __device__ __forceinline__ float operator()(int64_t r, int64_t c) const {
    float a[V], d[V], s = 0;
    bt_load<V>(a, u.row(r) + c);
    bt_load<V>(d, dh.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) {
      if (silu) d[k] *= bt_silu_slope(a[k]);
      s += a[k] * d[k]; // before DU is rounded
    }
    bt_store<V>(du.row(r) + c, d);
    return s;
  }
  __device__ __forceinline__ void done(int64_t r, float s) const { *dot.row(r) = s; }
};
extern "C" bt_status btk_latent_bwd(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(1, 1 | 2 | 4, 8);
  if (o->m[3].p) BT_TYPED(o->t[1], T, return bt_check(c, "latent_bwd", bt_row_of<latent_bwd, T>(s, o, 7)));
  BT_TYPED(o->t[1], T, return bt_check(c, "latent_bwd", bt_each_of<latent_bwd, T>(s, o, 7, true)));
}

template <class T, int V> struct swiglu {
  bt_rows<T> g, u, y;
  bool silu;
  explicit swiglu(const bt_op *o) : g(bt_mat_of<T>(o, 0)), u(bt_mat_of<T>(o, 1)), y(bt_mat_of<T>(o, 2)), silu(o->i[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V], b[V];
    bt_load<V>(a, g.row(r) + c);
    bt_load<V>(b, u.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) a[k] = (silu ? bt_silu(a[k]) : a[k]) * b[k];
    bt_store<V>(y.row(r) + c, a);
  }
};
extern "C" bt_status btk_swiglu(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 7, 0);
  BT_TYPED(o->t[0], T, return bt_check(c, "swiglu", bt_each_of<swiglu, T>(s, o, 7, true)));
}

template <class T, int V> struct swiglu_bwd {
  bt_rows<T> g, u, dy, dg, du;
  bool silu;
  explicit swiglu_bwd(const bt_op *o)
      : g(bt_mat_of<T>(o, 0)), u(bt_mat_of<T>(o, 1)), dy(bt_mat_of<T>(o, 2)), dg(bt_mat_of<T>(o, 3)), du(bt_mat_of<T>(o, 4)),
        silu(o->i[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V], b[V], d[V];
    bt_load<V>(a, g.row(r) + c);
    bt_load<V>(b, u.row(r) + c);
    bt_load<V>(d, dy.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) {
      float act = a[k], slope = 1.f;
      if (silu) {
        float s = bt_sigmoid(a[k]);
        act = a[k] * s;
        slope = s * (1.f + a[k] * (1.f - s));
      }
      b[k] = d[k] * b[k] * slope;
      a[k] = d[k] * act;
    }
    bt_store<V>(dg.row(r) + c, b);
    bt_store<V>(du.row(r) + c, a);
  }
};
extern "C" bt_status btk_swiglu_bwd(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  TYPES(0, 31, 0);
  BT_TYPED(o->t[0], T, return bt_check(c, "swiglu_bwd", bt_each_of<swiglu_bwd, T>(s, o, 31, true)));
}
