// rope.cu - turns the pairs (i, i+dim/2) of every head by position * theta^(-2i/dim), in place.
//
// A block owns one position. It makes the angles once, in fp64 since a late position times a high frequency leaves nothing of an fp32
// angle, and then turns the heads of that position in the sequences of the batch.
#include "types.cuh"

namespace {
template <int V> __host__ __device__ __forceinline__ int place(int i) { return V == 1 ? i : i + i / V; }

template <int V, class T>
__global__ void rope_turn(bt_rows<T> x, int sequences, int seq, int heads, int half, double octave, float sign) {
  BT_SMEM_DYN(float, turn); // cosines, then sines, spread so that threads which read V of them each meet different banks
  int pos = blockIdx.x, sines = place<V>(half);
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    double halves = pos * exp(-octave * i) * 0.31830988618379067; // of a turn
    turn[place<V>(i)] = (float)bt_cospi(halves);
    turn[sines + place<V>(i)] = sign * (float)bt_sinpi(halves);
  }
  __syncthreads();
  for (int b = blockIdx.y; b < sequences; b += gridDim.y) {
    T *row = x.row((int64_t)b * seq + pos);
    for (int e = threadIdx.x * V; e < heads * half; e += blockDim.x * V) {
      int i = e % half;
      T *p = row + e / half * 2 * half + i;
      float lo[V], hi[V], a[V], z[V];
      bt_load(lo, p);
      bt_load(hi, p + half);
      BT_UNROLL for (int k = 0; k < V; k++) {
        float c = turn[place<V>(i) + k], s = turn[sines + place<V>(i) + k];
        a[k] = lo[k] * c - hi[k] * s;
        z[k] = hi[k] * c + lo[k] * s;
      }
      bt_store(p, a);
      bt_store(p + half, z);
    }
  }
}

template <class T> bt_status rope(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  int64_t seq = o->i[0], dim = o->i[1], sequences = o->rows / seq, half = dim / 2, heads = o->cols / dim;
  constexpr int W = bt_width<T>();
  bool wide = half % W == 0 && bt_vectorised(o, 1, W);
  int64_t items = heads * half / (wide ? W : 1), threads = items >= 256 ? 256 : bt_ceil(items, 32) * 32;
  double octave = 2 * __builtin_log(o->f[0]) / dim;
  size_t shared = 2 * (wide ? place<W>((int)half) : half) * sizeof(float);
  dim3 grid((unsigned)seq, (unsigned)(sequences < 64 ? sequences : 64));
  auto kernel = wide ? rope_turn<W, T> : rope_turn<1, T>;
  return bt_check(c, "rope", BT_LAUNCH(kernel, grid, dim3((unsigned)threads), shared, s, bt_mat_of<T>(o, 0), (int)sequences, (int)seq, (int)heads,
                                       (int)half, octave, o->i[2] ? -1.f : 1.f));
}
} // namespace

extern "C" bt_status btk_rope(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  int64_t seq = o->i[0], dim = o->i[1];
  if (bt_empty(o)) return BT_OK;
  if (seq <= 0 || dim <= 0 || dim % 2 || o->rows % seq || o->cols % dim || o->f[0] <= 0)
    return bt_fail(c, BT_EINVAL, "rope of %lldx%lld in sequences of %lld and heads of %lld, theta %g", (long long)o->rows, (long long)o->cols,
                   (long long)seq, (long long)dim, o->f[0]);
  if (dim > 8192 || o->rows > INT32_MAX || o->cols > INT32_MAX)
    return bt_fail(c, BT_EUNSUPPORTED, "rope of %lldx%lld in heads of %lld is too large", (long long)o->rows, (long long)o->cols, (long long)dim);
  bt_status st = bt_types(c, "rope", o, 0, 1, 0);
  if (!st) BT_TYPED(o->t[0], T, st = rope<T>(c, s, o));
  return st;
}
