// attention_any.cu - causal attention of any head dimension, in fp32 or bf16, with fp32 arithmetic.
//
// A block owns 32 rows of one head and DC columns of its results, and walks over tiles of 32 rows of the other side. Scores are
// summed over chunks of DC columns, so any dimension fits; wider heads than DC compute them once for each chunk of results.
// Four threads share a row: thread p of it has the scores of the rows p, p+4, … of the tile and the results of the columns p, p+4, ….
// As in attention_mma.cu the backward is one walk over queries for dK and dV, and one over keys for dQ.
#include "attention.h"

namespace {
enum { ROWS = 32, SHARE = 4, THREADS = ROWS * SHARE, EACH = ROWS / SHARE };
constexpr float LOG2E = 1.4426950408889634f, LN2 = 0.6931471805599453f;

template <class T> struct forward_args {
  bt_rows<T> q, k, v, o;
  bt_rows<float> lse;
  int seq, heads, dim;
  float scale; // to base 2
};

// Rows [first, first+32) and up to DC columns of a matrix as floats; zero beyond either end.
template <int DC, class T> __device__ __forceinline__ void load(BT_SPTR(float) to, bt_rows<T> x, int first, int rows, int cols) {
  for (int e = threadIdx.x; e < ROWS * DC; e += THREADS) {
    int r = e / DC, c = e % DC;
    to[r * (DC + 1) + c] = first + r < rows && c < cols ? bt_float(x.row(first + r)[c]) : 0.f;
  }
}

// s[j] += the product of row r of one tile with row p + 4j of the other.
template <int DC> __device__ __forceinline__ void scores(float (&s)[EACH], BT_SPTR(float) own, BT_SPTR(float) tile, int cols) {
  int r = threadIdx.x / SHARE, p = threadIdx.x % SHARE;
  for (int c = 0; c < cols; c++) {
    float x = own[r * (DC + 1) + c];
    BT_UNROLL for (int j = 0; j < EACH; j++) s[j] += x * tile[(p + SHARE * j) * (DC + 1) + c];
  }
}

// out[i] += the product of row r of the weights with column p + 4i of a tile.
template <int DC> __device__ __forceinline__ void sum(float (&out)[DC / SHARE], BT_SPTR(float) weights, BT_SPTR(float) tile) {
  int r = threadIdx.x / SHARE, p = threadIdx.x % SHARE;
  for (int j = 0; j < ROWS; j++) {
    float w = weights[r * (ROWS + 1) + j];
    BT_UNROLL for (int i = 0; i < DC / SHARE; i++) out[i] += w * tile[j * (DC + 1) + p + SHARE * i];
  }
}

template <int DC, class T>
__device__ __forceinline__ void store(bt_rows<T> to, int row, int rows, int cols, const float (&x)[DC / SHARE], float factor) {
  int p = threadIdx.x % SHARE;
  if (row >= rows) return;
  BT_UNROLL for (int i = 0; i < DC / SHARE; i++)
    if (p + SHARE * i < cols) to.row(row)[p + SHARE * i] = bt_from<T>(x[i] * factor);
}

// The scores of the tiles at own0 and other0, over all chunks of columns. What is in the tiles after is the latest chunk.
template <int DC, class T>
__device__ __forceinline__ void all_scores(float (&s)[EACH], BT_SPTR(float) own, BT_SPTR(float) tile, bt_rows<T> x, bt_rows<T> y, int own0,
                                           int other0, int seq, int dim) {
  BT_UNROLL for (int j = 0; j < EACH; j++) s[j] = 0;
  for (int d = 0; d < dim; d += DC) {
    int cols = dim - d < DC ? dim - d : DC;
    __syncthreads(); // both tiles are read by all
    load<DC>(own, bt_of_head(x, 0, d), own0, seq, cols);
    load<DC>(tile, bt_of_head(y, 0, d), other0, seq, cols);
    __syncthreads();
    scores<DC>(s, own, tile, cols);
  }
}

template <int DC, class T> __global__ void __launch_bounds__(THREADS, 4) attention_forward_any(forward_args<T> a) {
  BT_SMEM(float, own, ROWS *(DC + 1));
  BT_SMEM(float, tile, ROWS *(DC + 1));
  BT_SMEM(float, weights, ROWS *(ROWS + 1));
  int head = blockIdx.x % a.heads, r = threadIdx.x / SHARE, p = threadIdx.x % SHARE;
  int64_t row = (int64_t)(blockIdx.x / a.heads) * a.seq, col = (int64_t)head * a.dim;
  int first = (gridDim.y - 1 - blockIdx.y) * ROWS, query = first + r, from = blockIdx.z * DC, cols = a.dim - from;
  int last = first + ROWS < a.seq ? first + ROWS : a.seq;
  float out[DC / SHARE], s[EACH], top = -INFINITY, total = 0;
  BT_UNROLL for (int i = 0; i < DC / SHARE; i++) out[i] = 0;
  for (int c0 = 0; c0 < last; c0 += ROWS) {
    all_scores<DC>(s, own, tile, bt_of_head(a.q, row, col), bt_of_head(a.k, row, col), first, c0, a.seq, a.dim);
    float m = top;
    BT_UNROLL for (int j = 0; j < EACH; j++) {
      s[j] = c0 + p + SHARE * j > query ? -INFINITY : s[j] * a.scale;
      m = fmaxf(m, s[j]);
    }
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
    float keep = exp2f(top - m);
    top = m;
    total *= keep;
    BT_UNROLL for (int j = 0; j < EACH; j++) {
      float x = exp2f(s[j] - m);
      total += x; // of this thread's keys
      weights[r * (ROWS + 1) + p + SHARE * j] = x;
    }
    BT_UNROLL for (int i = 0; i < DC / SHARE; i++) out[i] *= keep;
    __syncthreads(); // the keys are read, too
    load<DC>(tile, bt_of_head(a.v, row, col + from), c0, a.seq, cols);
    __syncthreads();
    sum<DC>(out, weights, tile);
  }
  total += __shfl_xor_sync(0xffffffffu, total, 1);
  total += __shfl_xor_sync(0xffffffffu, total, 2);
  if (query < a.seq && p == 0 && blockIdx.z == 0) a.lse.row(row + query)[head] = top * LN2 + logf(total);
  store<DC>(bt_of_head(a.o, row, col + from), query, a.seq, cols, out, 1 / total);
}

// As in attention_mma.cu: own is K and V of a block of keys, or Q and dO of a block of queries; other the contrary.
template <class T> struct backward_args {
  bt_rows<T> own1, own2, other1, other2, d1, d2;
  bt_rows<float> lse, dot;
  int seq, heads, dim;
  float scale;
};

template <int DC, class T, bool KEYS> __global__ void __launch_bounds__(THREADS, 4) attention_backward_any(backward_args<T> a) {
  BT_SMEM(float, own, ROWS *(DC + 1));
  BT_SMEM(float, tile, ROWS *(DC + 1));
  BT_SMEM(float, weights, ROWS *(ROWS + 1));
  int head = blockIdx.x % a.heads, r = threadIdx.x / SHARE, p = threadIdx.x % SHARE;
  int64_t row = (int64_t)(blockIdx.x / a.heads) * a.seq, col = (int64_t)head * a.dim;
  int first = (KEYS ? blockIdx.y : gridDim.y - 1 - blockIdx.y) * ROWS, mine = first + r, from = blockIdx.z * DC, cols = a.dim - from;
  int begin = KEYS ? first : 0, end = KEYS || first + ROWS > a.seq ? a.seq : first + ROWS;
  bt_rows<float> lse = bt_of_head(a.lse, row, head), dot = bt_of_head(a.dot, row, head);
  float exponent = KEYS || mine >= a.seq ? 0.f : lse.row(mine)[0] * LOG2E, row_sum = KEYS || mine >= a.seq ? 0.f : dot.row(mine)[0];
  float d1[DC / SHARE], d2[DC / SHARE], s[EACH], ds[EACH];
  BT_UNROLL for (int i = 0; i < DC / SHARE; i++) d1[i] = d2[i] = 0;
  for (int c0 = begin; c0 < end; c0 += ROWS) {
    all_scores<DC>(s, own, tile, bt_of_head(a.own1, row, col), bt_of_head(a.other1, row, col), first, c0, a.seq, a.dim);
    all_scores<DC>(ds, own, tile, bt_of_head(a.own2, row, col), bt_of_head(a.other2, row, col), first, c0, a.seq, a.dim);
    BT_UNROLL for (int j = 0; j < EACH; j++) {
      int at = c0 + p + SHARE * j;
      float l = exponent, d = row_sum;
      if (KEYS && at < a.seq) {
        l = lse.row(at)[0] * LOG2E;
        d = dot.row(at)[0];
      }
      bool counts = at < a.seq && (KEYS ? at >= mine : at <= mine);
      s[j] = counts ? exp2f(s[j] * (a.scale * LOG2E) - l) : 0.f;
      ds[j] = counts ? s[j] * (ds[j] - d) : 0.f;
    }
    if constexpr (KEYS) {
      BT_UNROLL for (int j = 0; j < EACH; j++) weights[r * (ROWS + 1) + p + SHARE * j] = s[j];
      __syncthreads();
      load<DC>(tile, bt_of_head(a.other2, row, col + from), c0, a.seq, cols);
      __syncthreads();
      sum<DC>(d2, weights, tile);
      __syncthreads();
    }
    BT_UNROLL for (int j = 0; j < EACH; j++) weights[r * (ROWS + 1) + p + SHARE * j] = ds[j];
    if constexpr (!KEYS) __syncthreads();
    load<DC>(tile, bt_of_head(a.other1, row, col + from), c0, a.seq, cols);
    __syncthreads();
    sum<DC>(d1, weights, tile);
  }
  store<DC>(bt_of_head(a.d1, row, col + from), mine, a.seq, cols, d1, a.scale);
  if constexpr (KEYS) store<DC>(bt_of_head(a.d2, row, col + from), mine, a.seq, cols, d2, 1);
}

dim3 grid_of(const bt_attention_shape &h, int dc) {
  return dim3((unsigned)(h.sequences * h.heads), (unsigned)bt_ceil(h.seq, ROWS), (unsigned)bt_ceil(h.dim, dc));
}

bool fits(bt_ctx *, const bt_attention_shape &, const bt_op *) { return true; }

template <int DC, class T> bt_status forward_of(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  auto m = [&](int k) { return bt_mat_of<T>(o, k); };
  forward_args<T> a = {m(0), m(1), m(2), m(3), bt_mat_of<float>(o, 4), (int)h.seq, (int)h.heads, (int)h.dim, h.scale * LOG2E};
  return bt_check(c, "attention", BT_LAUNCH((attention_forward_any<DC, T>), grid_of(h, DC), dim3(THREADS), 0, s, a));
}

bt_status forward(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  BT_TYPED(h.type, T, return h.dim <= 64 ? forward_of<64, T>(c, s, h, o) : forward_of<128, T>(c, s, h, o));
}

template <int DC, class T> bt_status backward_of(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  enum { Q, K, V, O, LSE, DO, DQ, DK, DV, WORK };
  auto m = [&](int k) { return bt_mat_of<T>(o, k); };
  bt_rows<float> lse = bt_mat_of<float>(o, LSE), dot = bt_mat_of<float>(o, WORK);
  int seq = (int)h.seq, heads = (int)h.heads, dim = (int)h.dim;
  backward_args<T> keys = {m(K), m(V), m(Q), m(DO), m(DK), m(DV), lse, dot, seq, heads, dim, h.scale};
  backward_args<T> queries = {m(Q), m(DO), m(K), m(V), m(DQ), m(DQ), lse, dot, seq, heads, dim, h.scale};
  bt_status st = bt_check(c, "attention_bwd of keys",
                          BT_LAUNCH((attention_backward_any<DC, T, true>), grid_of(h, DC), dim3(THREADS), 0, s, keys));
  if (st) return st;
  return bt_check(c, "attention_bwd of queries",
                  BT_LAUNCH((attention_backward_any<DC, T, false>), grid_of(h, DC), dim3(THREADS), 0, s, queries));
}

bt_status backward(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  BT_TYPED(h.type, T, return h.dim <= 64 ? backward_of<64, T>(c, s, h, o) : backward_of<128, T>(c, s, h, o));
}
} // namespace

extern const bt_attention_engine bt_attention_any = {"any", fits, forward, backward};
