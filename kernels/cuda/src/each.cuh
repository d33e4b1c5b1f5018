// each.cuh - the three shapes that all kernels over rows and elements have. An operation brings a functor F<T, V>, made from its
// bt_op, that does V neighbouring elements of a row:
//   bt_each     every element by itself                                     f(row, col)
//   bt_row      the same, and something is summed up over each row          f(row, col) gives a part, f.done(row, sum) takes the sum
//   bt_columns  the same, and something is summed up over each column       f(row, col, sums), then bt_column_totals
// V is as many elements as 16 bytes hold where addresses, leading dimensions and widths allow it, else 1. The order of every sum
// depends on shapes and addresses alone, never on the device or on chance.
#pragma once
#include "types.cuh"

enum { BT_THREADS = 256 };

template <class F, int V> __global__ void __launch_bounds__(BT_THREADS) bt_each(F f, uint64_t rows, uint64_t packets) {
  const uint64_t n = rows * packets, stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t k = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; k < n; k += stride) {
    uint64_t r = rows == 1 ? 0 : n >> 32 ? k / packets : (uint32_t)k / (uint32_t)packets; // 64-bit divisions are slow
    f((int64_t)r, (int64_t)(k - r * packets) * V);
  }
}

template <class F, int V> static inline cudaError_t bt_run_each(cudaStream_t s, const F &f, int64_t rows, int64_t cols) {
  int64_t packets = cols / V, blocks = bt_ceil(rows * packets, BT_THREADS);
  if (blocks == 0) return cudaSuccess;
  return BT_LAUNCH((bt_each<F, V>), dim3(blocks < BT_MAX_GRID ? (unsigned)blocks : BT_MAX_GRID), dim3(BT_THREADS), 0, s, f,
                   (uint64_t)rows, (uint64_t)packets);
}

static inline int64_t bt_size_of(uint8_t type) { return type == BT_BF16 ? 2 : 4; }
// Moves the matrices of mask to column c.
static inline bt_op bt_from_column(bt_op o, unsigned mask, int64_t c) {
  for (int k = 0; k < 10; k++)
    if (mask >> k & 1 && o.m[k].p) o.m[k].p += c * bt_size_of(o.t[k]);
  o.cols -= c;
  return o;
}

// Element by element over the matrices of mask, of types T and fp32. flatten: matrices without gaps may be taken as one long row,
// which asks that no operand belongs to a row or a column.
template <template <class, int> class F, class T, int V = bt_width<T>()>
static inline cudaError_t bt_each_of(cudaStream_t s, const bt_op *o, unsigned mask, bool flatten) {
  bt_op a = *o;
  if (flatten && bt_flat(o, mask)) a.cols = o->rows * o->cols, a.rows = 1;
  int64_t whole = a.rows == 1 ? a.cols / V * V : a.cols; // of one row the end may be done apart
  bt_op head = a;
  head.cols = whole;
  if (!bt_vectorised(&head, mask, V)) return bt_run_each<F<T, 1>, 1>(s, F<T, 1>(&a), a.rows, a.cols);
  cudaError_t e = bt_run_each<F<T, V>, V>(s, F<T, V>(&a), a.rows, whole);
  if (e || whole == a.cols) return e;
  bt_op tail = bt_from_column(a, mask, whole);
  return bt_run_each<F<T, 1>, 1>(s, F<T, 1>(&tail), 1, tail.cols);
}

// What a functor of bt_row sums up in type A; the sum over lanes of a warp comes first, then that over warps, in order.
template <class A> struct bt_sum {
  typedef A sum_t;
  static __device__ __forceinline__ A zero() { return 0; }
  static __device__ __forceinline__ A join(A a, A b) { return a + b; }
  static __device__ __forceinline__ A across(A a) { return bt_warp_sum(a); }
};
struct bt_largest {
  typedef float sum_t;
  static __device__ __forceinline__ float zero() { return -INFINITY; }
  static __device__ __forceinline__ float join(float a, float b) { return bt_max(a, b); }
  static __device__ __forceinline__ float across(float a) { return bt_warp_max(a); }
};

// W warps do a row: 1, so that a block does eight rows, or 8.
template <class F, int V, int W> __global__ void __launch_bounds__(BT_THREADS) bt_row(F f, int64_t rows, int64_t cols) {
  typedef typename F::sum_t A;
  BT_SMEM(A, part, BT_THREADS / 32);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int64_t row = W == 1 ? (int64_t)blockIdx.x * (BT_THREADS / 32) + warp : blockIdx.x;
  if (row >= rows) return; // whole warps where a warp does a row, else nobody
  A s = F::zero();
  for (int64_t c = (W == 1 ? lane : (int)threadIdx.x) * V; c < cols; c += W * 32 * V) s = F::join(s, f(row, c));
  s = F::across(s);
  if (W > 1) {
    if (lane == 0) part[warp] = s;
#ifdef BT_FAULT_DIVERGENT
    if (warp == 0) __syncthreads();
#elif !defined(BT_FAULT_NO_SYNC)
    __syncthreads();
#endif
    s = part[0];
    BT_UNROLL for (int w = 1; w < W; w++) s = F::join(s, (A)part[w]);
  }
  if (W == 1 ? lane == 0 : threadIdx.x == 0) f.done(row, s);
}

enum { BT_WIDE = 4096 }; // columns from which on a row is worth a block

template <class F, int V> static inline cudaError_t bt_run_row(cudaStream_t s, const F &f, int64_t rows, int64_t cols) {
  if (cols >= BT_WIDE) return BT_LAUNCH((bt_row<F, V, 8>), dim3((unsigned)rows), dim3(BT_THREADS), 0, s, f, rows, cols);
  return BT_LAUNCH((bt_row<F, V, 1>), dim3((unsigned)bt_ceil(rows, BT_THREADS / 32)), dim3(BT_THREADS), 0, s, f, rows, cols);
}
template <template <class, int> class F, class T, int V = bt_width<T>()>
static inline cudaError_t bt_row_of(cudaStream_t s, const bt_op *o, unsigned mask) {
  if (bt_vectorised(o, mask, V)) return bt_run_row<F<T, V>, V>(s, F<T, V>(o), o->rows, o->cols);
  return bt_run_row<F<T, 1>, 1>(s, F<T, 1>(o), o->rows, o->cols);
}

// Sums over columns, in two passes: each block of rows leaves its sums, and these are added up in order. In a block, 2^across
// threads lie side by side and the others take other rows.
template <class F, int V>
__global__ void __launch_bounds__(BT_THREADS)
    bt_columns(F f, int64_t rows, int64_t cols, int64_t rows_of_part, int across, float *parts) {
  BT_SMEM(float, sums, BT_THREADS *V);
  const int wide = 1 << across, high = BT_THREADS >> across, x = threadIdx.x & (wide - 1), y = threadIdx.x >> across;
  const int64_t first = blockIdx.y * rows_of_part, last = first + rows_of_part < rows ? first + rows_of_part : rows;
  const int64_t left = (int64_t)blockIdx.x * wide * V, c = left + x * V;
  float sum[V];
  BT_UNROLL for (int k = 0; k < V; k++) sum[k] = 0;
  if (c < cols)
    for (int64_t r = first + y; r < last; r += high) f(r, c, sum);
  BT_UNROLL for (int k = 0; k < V; k++) sums[(k * high + y) * wide + x] = sum[k]; // side by side: no two in one bank
#ifndef BT_FAULT_NO_SYNC
  __syncthreads();
#endif
  for (int e = threadIdx.x; e < wide * V; e += BT_THREADS) {
    int k = e >> across, at = e & (wide - 1);
    float total = 0;
    for (int h = 0; h < high; h++) total += sums[(k * high + h) * wide + at];
    int64_t col = left + at * V + k;
    if (col < cols) parts[blockIdx.y * cols + col] = total;
  }
}

// to[col] += the sum over parts; 32 columns to a block, eight threads to a column. Defined in types.cu.
cudaError_t bt_column_totals(cudaStream_t s, float *to, const float *parts, int64_t n, int64_t cols);

// Rows of a part: few enough parts that their sums are small beside the matrix, enough of them to fill a device.
enum { BT_PART_ROWS = 32, BT_MOST_PARTS = 512 };

template <class F, int V>
static inline bt_status bt_run_columns(bt_ctx *ctx, const char *name, cudaStream_t s, const F &f, const bt_op *o, float *to) {
  int64_t of_part = bt_ceil(o->rows, BT_MOST_PARTS);
  if (of_part < BT_PART_ROWS) of_part = BT_PART_ROWS;
  int64_t n = bt_ceil(o->rows, of_part), packets = bt_ceil(o->cols, V);
  int across = 3;
  while (across < 8 && (1 << across) < packets) across++;
  void *parts;
  if (bt_status e = bt_scratch(ctx, s, n * o->cols * sizeof(float), &parts)) return e;
  cudaError_t e = BT_LAUNCH((bt_columns<F, V>), dim3((unsigned)bt_ceil(packets, 1 << across), (unsigned)n), dim3(BT_THREADS), 0, s,
                            f, o->rows, o->cols, of_part, across, (float *)parts);
  if (!e) e = bt_column_totals(s, to, (const float *)parts, n, o->cols);
  return bt_check(ctx, name, e);
}
template <template <class, int> class F, class T, int V = bt_width<T>()>
static inline bt_status bt_columns_of(bt_ctx *ctx, const char *name, cudaStream_t s, const bt_op *o, unsigned mask, float *to) {
  if (bt_vectorised(o, mask, V)) return bt_run_columns<F<T, V>, V>(ctx, name, s, F<T, V>(o), o, to);
  return bt_run_columns<F<T, 1>, 1>(ctx, name, s, F<T, 1>(o), o, to);
}
