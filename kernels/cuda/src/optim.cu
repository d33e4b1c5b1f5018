// optim.cu - the gradients' norm and the optimizers. All of it is fp32. Formulas: kernels/ops_optim.go, ops_loro.go.
#include "each.cuh"
#include <cmath>

enum { CHUNK = 16384, MOST_CHUNKS = 1024 }; // of the sum of squares: how it is cut depends on its length alone

template <class T, int V> struct squares : bt_sum<double> {
  const T *x;
  double *parts;
  int64_t n, chunk;
  __device__ __forceinline__ double operator()(int64_t r, int64_t c) const {
    int64_t at = r * chunk + c;
    double s = 0;
    if (at + V <= n) {
      float a[V];
      bt_load<V>(a, x + at);
      BT_UNROLL for (int k = 0; k < V; k++) s += (double)a[k] * a[k];
    } else {
#ifdef BT_FAULT_OUT_OF_BOUNDS
      const int64_t n = this->n + 1;
#endif
      for (; at < n; at++) s += (double)bt_float(x[at]) * bt_float(x[at]);
    }
    return s;
  }
  __device__ __forceinline__ void done(int64_t r, double s) const { parts[r] = s; }
};
struct squares_total : bt_sum<double> {
  const double *parts;
  float *out;
  __device__ __forceinline__ double operator()(int64_t, int64_t c) const { return parts[c]; }
  __device__ __forceinline__ void done(int64_t, double s) const { *out += (float)s; }
};
template <class T, int V> static cudaError_t sumsq_of(cudaStream_t s, const bt_op *o, double *parts) {
  int64_t n = o->cols, chunk = bt_ceil(bt_ceil(n, MOST_CHUNKS), CHUNK) * CHUNK, rows = bt_ceil(n, chunk);
  squares<T, V> f;
  f.x = bt_at<T>(o->m[0].p), f.parts = parts, f.n = n, f.chunk = chunk;
  // A short vector does not take a whole chunk's threads through its empty end.
  cudaError_t e = bt_run_row<squares<T, V>, V>(s, f, rows, n < chunk ? bt_ceil(n, V) * V : chunk);
  if (e) return e;
  squares_total t;
  t.parts = parts, t.out = bt_at<float>(o->m[1].p);
  return bt_run_row<squares_total, 1>(s, t, 1, rows);
}
extern "C" bt_status btk_sumsq(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "sumsq", o, 0, 1, 2)) return e;
  void *parts;
  if (bt_status e = bt_scratch(c, s, MOST_CHUNKS * sizeof(double), &parts)) return e;
  BT_TYPED(o->t[0], T, if (o->m[0].p % 16 == 0) return bt_check(c, "sumsq", sumsq_of<T, bt_width<T>()>(s, o, (double *)parts));
           return bt_check(c, "sumsq", sumsq_of<T, 1>(s, o, (double *)parts)));
}

static __global__ void clip_scale(const float *sumsq, float *norm, float *scale, double most) {
  if (threadIdx.x != 0) return;
  double n = sqrt((double)*sumsq), f = 1;
  if (!bt_finite((float)n)) f = NAN;
  else if (most > 0 && most / (n + 1e-6) < 1) f = most / (n + 1e-6);
  *norm = (float)n;
  *scale = (float)f;
}
extern "C" bt_status btk_clip_scale(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "clip_scale", o, 0, 0, 7)) return e;
  return bt_check(c, "clip_scale",
                  BT_LAUNCH(clip_scale, dim3(1), dim3(32), 0, s, bt_at<float>(o->m[0].p), bt_at<float>(o->m[1].p),
                            bt_at<float>(o->m[2].p), o->f[0]));
}

// The moments of both optimizers, V elements: m and v become the new ones.
template <int V>
static __device__ __forceinline__ void move_moments(float *pm, float *pv, const float *pg, float scale, float b1, float b2,
                                                    float a1, float a2, float (&m)[V], float (&v)[V]) {
  float g[V];
  bt_load<V>(m, pm);
  bt_load<V>(v, pv);
  bt_load<V>(g, pg);
  BT_UNROLL for (int k = 0; k < V; k++) {
    float d = scale * g[k];
    m[k] = b1 * m[k] + a1 * d;
    v[k] = b2 * v[k] + a2 * (d * d);
  }
  bt_store<V>(pm, m);
  bt_store<V>(pv, v);
}

template <class T, int V> struct adamw {
  float *p, *m, *v;
  const float *g, *scale;
  float lr, b1, b2, a1, a2, eps, keep, c1, c2;
  explicit adamw(const bt_op *o)
      : p(bt_at<float>(o->m[0].p)), m(bt_at<float>(o->m[1].p)), v(bt_at<float>(o->m[2].p)), g(bt_at<float>(o->m[3].p)),
        scale(bt_at<float>(o->m[4].p)), lr((float)o->f[0]), b1((float)o->f[1]), b2((float)o->f[2]), a1((float)(1 - o->f[1])),
        a2((float)(1 - o->f[2])), eps((float)o->f[3]), keep((float)(1 - o->f[0] * o->f[4])),
        c1((float)(1 - pow(o->f[1], (double)o->i[0]))), c2((float)(1 - pow(o->f[2], (double)o->i[0]))) {}
  __device__ __forceinline__ void operator()(int64_t, int64_t c) const {
    float q = *scale, x[V], y[V], z[V];
    if (!bt_finite(q)) return;
    bt_load<V>(z, p + c);
    move_moments<V>(m + c, v + c, g + c, q, b1, b2, a1, a2, x, y);
    BT_UNROLL for (int k = 0; k < V; k++) z[k] = keep * z[k] - lr * ((x[k] / c1) / (sqrtf(y[k] / c2) + eps));
    bt_store<V>(p + c, z);
  }
};
extern "C" bt_status btk_adamw(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "adamw", o, 0, 0, 31)) return e;
  return bt_check(c, "adamw", bt_each_of<adamw, float>(s, o, 15, true));
}

template <class T, int V> struct adam {
  float *p, *m, *v, *out;
  const float *g, *scale;
  float rate, keep, b1, b2, a1, a2, eps;
  explicit adam(const bt_op *o)
      : p(bt_at<float>(o->m[0].p)), m(bt_at<float>(o->m[1].p)), v(bt_at<float>(o->m[2].p)), out(bt_at<float>(o->m[5].p)),
        g(bt_at<float>(o->m[3].p)), scale(bt_at<float>(o->m[4].p)), rate((float)o->f[0]), keep((float)(1 - o->f[1])),
        b1((float)o->f[2]), b2((float)o->f[3]), a1((float)(1 - o->f[2])), a2((float)(1 - o->f[3])), eps((float)o->f[4]) {}
  __device__ __forceinline__ void operator()(int64_t, int64_t c) const {
    float q = *scale, x[V], y[V], z[V];
    if (bt_finite(q)) {
      if (p) bt_load<V>(z, p + c);
      move_moments<V>(m + c, v + c, g + c, q, b1, b2, a1, a2, x, y);
      BT_UNROLL for (int k = 0; k < V; k++) {
        float d = x[k] / (sqrtf(y[k]) + eps);
        z[k] = p ? keep * (z[k] - rate * d) : d;
      }
    } else {
      if (p) return;
      BT_UNROLL for (int k = 0; k < V; k++) z[k] = 0;
    }
    bt_store<V>((p ? p : out) + c, z);
  }
};
extern "C" bt_status btk_adam(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "adam", o, 1, 0, 63)) return e;
  return bt_check(c, "adam", bt_each_of<adam, float>(s, o, 15 | 32, true));
}
