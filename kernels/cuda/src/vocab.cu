// vocab.cu - what spans the vocabulary: embedding and cross-entropy. Formulas: kernels/ops_vocab.go.
#include "each.cuh"

// The row of the table that an id stands for here; negative: another rank has it.
static __device__ __forceinline__ int64_t local_id(bt_rows<int32_t> ids, int64_t r, int64_t first, int64_t n) {
  int64_t id = *ids.row(r) - first;
  return id < n ? id : -1;
}

// Every row of the table counts, however few there are of the other matrix.
template <class T> static bool table_aligned(const bt_op *o) {
  bt_op a = *o;
  a.rows = 2;
  return bt_vectorised(&a, 2 | 4, bt_width<T>());
}

template <class T, int V> struct embed {
  bt_rows<int32_t> ids;
  bt_rows<T> table, out;
  int64_t first, n;
  explicit embed(const bt_op *o)
      : ids(bt_mat_of<int32_t>(o, 0)), table(bt_mat_of<T>(o, 1)), out(bt_mat_of<T>(o, 2)), first(o->i[0]), n(o->i[1]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V];
    BT_UNROLL for (int k = 0; k < V; k++) a[k] = 0;
    int64_t id = local_id(ids, r, first, n);
    if (id >= 0) bt_load<V>(a, table.row(id) + c);
    bt_store<V>(out.row(r) + c, a);
  }
};
extern "C" bt_status btk_embed(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "embed", o, 1, 2 | 4, 0)) return e;
  BT_TYPED(o->t[1], T,
           return bt_check(c, "embed",
                           table_aligned<T>(o) ? bt_run_each<embed<T, bt_width<T>()>, bt_width<T>()>(s, embed<T, bt_width<T>()>(o),
                                                                                                     o->rows, o->cols)
                                               : bt_run_each<embed<T, 1>, 1>(s, embed<T, 1>(o), o->rows, o->cols)));
}

// The gradient of the table without atomics, in row order: rows are sorted by id, and a block adds up those of one id. A row's place
// is the number of rows that come before it, found by comparing all with all: T^2 comparisons are few beside T x d elements up
// to some hundred thousand rows, and need neither histogram nor scan.
static __global__ void __launch_bounds__(BT_THREADS)
    sort_rows(bt_rows<int32_t> ids, int64_t rows, int64_t first, int64_t n, int32_t *sorted) {
  BT_SMEM(int32_t, tile, BT_THREADS);
  const int64_t me = (int64_t)blockIdx.x * BT_THREADS + threadIdx.x;
  const int32_t none = 0x7fffffff; // sorts behind all ids
  int64_t mine = me < rows ? local_id(ids, me, first, n) : -1;
  const int32_t id = mine < 0 ? none : (int32_t)mine;
  int32_t place = 0;
  for (int64_t lo = 0; lo < rows; lo += BT_THREADS) {
    int64_t other = lo + threadIdx.x < rows ? local_id(ids, lo + threadIdx.x, first, n) : -1;
    tile[threadIdx.x] = other < 0 ? none : (int32_t)other;
    __syncthreads();
    const int left = rows - lo < BT_THREADS ? (int)(rows - lo) : (int)BT_THREADS;
    for (int k = 0; k < left; k++) {
      int32_t t = tile[k];
      place += t < id || (t == id && lo + k < me);
    }
#ifndef BT_FAULT_NO_TAIL_SYNC
    __syncthreads();
#endif
  }
  if (me < rows) sorted[place] = (int32_t)me;
}

enum { BATCH = 4 };

// Block (x, y) has the run of rows of one id that begins at place x, if one does, and the y-th part of the columns.
template <class T, int V>
__global__ void __launch_bounds__(BT_THREADS) add_rows(bt_rows<int32_t> ids, bt_rows<T> d, bt_rows<float> table, int64_t rows,
                                                       int64_t cols, int64_t first, int64_t n, const int32_t *sorted) {
  const int64_t at = blockIdx.x, id = local_id(ids, sorted[at], first, n);
  if (id < 0 || (at > 0 && local_id(ids, sorted[at - 1], first, n) == id)) return;
  const int64_t c = ((int64_t)blockIdx.y * blockDim.x + threadIdx.x) * V;
  if (c >= cols) return;
  float sum[V], x[BATCH][V];
  bt_load<V>(sum, table.row(id) + c);
  for (int64_t k = at; k < rows; k += BATCH) { // a row is three loads one after the other: those of several go together
    bool same[BATCH];
    BT_UNROLL for (int b = 0; b < BATCH; b++) {
      int64_t r = k + b < rows ? sorted[k + b] : -1;
      same[b] = r >= 0 && local_id(ids, r, first, n) == id;
      if (same[b]) bt_load<V>(x[b], d.row(r) + c);
    }
    BT_UNROLL for (int b = 0; b < BATCH; b++) {
      if (!same[b]) break;
      BT_UNROLL for (int j = 0; j < V; j++) sum[j] += x[b][j];
    }
    if (!same[BATCH - 1]) break;
  }
  bt_store<V>(table.row(id) + c, sum);
}
template <class T, int V> static cudaError_t add_rows_of(cudaStream_t s, const bt_op *o, const int32_t *sorted) {
  int64_t packets = o->cols / V, threads = packets < BT_THREADS ? bt_ceil(packets, 32) * 32 : (int64_t)BT_THREADS;
  dim3 grid((unsigned)o->rows, (unsigned)bt_ceil(packets, threads));
  return BT_LAUNCH((add_rows<T, V>), grid, dim3((unsigned)threads), 0, s, bt_mat_of<int32_t>(o, 0), bt_mat_of<T>(o, 1),
                   bt_mat_of<float>(o, 2), o->rows, o->cols, o->i[0], o->i[1], sorted);
}
extern "C" bt_status btk_embed_bwd(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "embed_bwd", o, 1, 2, 4)) return e;
  if (o->rows >= 1ll << 31) return bt_fail(c, BT_EINVAL, "embed_bwd: %lld rows", (long long)o->rows);
  void *sorted;
  if (bt_status e = bt_scratch(c, s, o->rows * sizeof(int32_t), &sorted)) return e;
  cudaError_t e = BT_LAUNCH(sort_rows, dim3((unsigned)bt_ceil(o->rows, BT_THREADS)), dim3(BT_THREADS), 0, s,
                            bt_mat_of<int32_t>(o, 0), o->rows, o->i[0], o->i[1], (int32_t *)sorted);
  if (e) return bt_check(c, "embed_bwd", e);
  const int32_t *by_id = (const int32_t *)sorted;
  BT_TYPED(o->t[1], T, e = table_aligned<T>(o) ? add_rows_of<T, bt_width<T>()>(s, o, by_id) : add_rows_of<T, 1>(s, o, by_id));
  return bt_check(c, "embed_bwd", e);
}

template <class T, int V> struct xent_max : bt_largest {
  bt_rows<float> x, most;
  explicit xent_max(const bt_op *o) : x(bt_mat_of<float>(o, 0)), most(bt_mat_of<float>(o, 1)) {}
  __device__ __forceinline__ float operator()(int64_t r, int64_t c) const {
    float a[V];
    bt_load<V>(a, x.row(r) + c);
    float m = a[0];
    BT_UNROLL for (int k = 1; k < V; k++) m = bt_max(m, a[k]);
    return m;
  }
  __device__ __forceinline__ void done(int64_t r, float m) const { *most.row(r) = m; }
};
extern "C" bt_status btk_xent_max(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "xent_max", o, 0, 0, 3)) return e;
  return bt_check(c, "xent_max", bt_row_of<xent_max, float>(s, o, 1));
}

template <class T, int V> struct xent_sum : bt_sum<double> {
  bt_rows<float> x, most, sum, target;
  bt_rows<int32_t> targets;
  int64_t first, cols;
  explicit xent_sum(const bt_op *o)
      : x(bt_mat_of<float>(o, 0)), most(bt_mat_of<float>(o, 2)), sum(bt_mat_of<float>(o, 3)), target(bt_mat_of<float>(o, 4)),
        targets(bt_mat_of<int32_t>(o, 1)), first(o->i[0]), cols(o->cols) {}
  __device__ __forceinline__ double operator()(int64_t r, int64_t c) const {
    float a[V], m = *most.row(r), s = 0; // of few: a vocabulary is long, so the rest is added in double
    bt_load<V>(a, x.row(r) + c);
    BT_UNROLL for (int k = 0; k < V; k++) s += expf(a[k] - m);
    return s;
  }
  __device__ __forceinline__ void done(int64_t r, double s) const {
    *sum.row(r) = (float)s;
    int64_t t = local_id(targets, r, first, cols);
    *target.row(r) = t >= 0 ? x.row(r)[t] - *most.row(r) : 0.f;
  }
};
extern "C" bt_status btk_xent_sum(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "xent_sum", o, 0, 0, 1 | 4 | 8 | 16)) return e;
  return bt_check(c, "xent_sum", bt_row_of<xent_sum, float>(s, o, 1));
}

// The loss is a sum over rows in one block, in a fixed order.
struct xent_total : bt_sum<double> {
  bt_rows<float> sum, target;
  float *loss;
  double scale;
  __device__ __forceinline__ double operator()(int64_t, int64_t r) const { return log((double)*sum.row(r)) - *target.row(r); }
  __device__ __forceinline__ void done(int64_t, double s) const { *loss += (float)(scale * s); }
};
template <class T, int V> struct xent_slope { // T: of DLogits
  bt_rows<float> x, most, sum;
  bt_rows<int32_t> targets;
  bt_rows<T> d;
  int64_t first, cols;
  float scale;
  explicit xent_slope(const bt_op *o)
      : x(bt_mat_of<float>(o, 0)), most(bt_mat_of<float>(o, 2)), sum(bt_mat_of<float>(o, 3)), targets(bt_mat_of<int32_t>(o, 1)),
        d(bt_mat_of<T>(o, 6)), first(o->i[0]), cols(o->cols), scale((float)o->f[0]) {}
  __device__ __forceinline__ void operator()(int64_t r, int64_t c) const {
    float a[V], m = *most.row(r), q = scale / *sum.row(r);
    bt_load<V>(a, x.row(r) + c);
    int64_t t = local_id(targets, r, first, 1ll << 31) - c;
    BT_UNROLL for (int k = 0; k < V; k++) {
      a[k] = q * expf(a[k] - m);
      if (t == k) a[k] -= scale;
    }
    bt_store<V>(d.row(r) + c, a);
  }
};
extern "C" bt_status btk_xent_loss(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  if (bt_empty(o)) return BT_OK;
  if (bt_status e = bt_types(c, "xent_loss", o, 6, 64, 1 | 4 | 8 | 16 | 32)) return e;
  xent_total f;
  f.sum = bt_mat_of<float>(o, 3), f.target = bt_mat_of<float>(o, 4), f.loss = bt_at<float>(o->m[5].p), f.scale = o->f[0];
  cudaError_t e = BT_LAUNCH((bt_row<xent_total, 1, 8>), dim3(1), dim3(BT_THREADS), 0, s, f, (int64_t)1, o->rows);
  if (e) return bt_check(c, "xent_loss", e);
  BT_TYPED(o->t[6], T, return bt_check(c, "xent_loss", bt_each_of<xent_slope, T>(s, o, 1 | 64, false)));
}
