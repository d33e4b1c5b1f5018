// attention_mma.cu - causal flash attention in bf16 on tensor cores, for heads of 64 and 128.
//
// A block owns 64 rows of one head, 16 for each of its four warps, and walks over tiles of the other side in shared memory:
// the next tile is copied while this one is multiplied. The backward is two walks without atomics, so its bits do not depend
// on the order of blocks: one over the queries of a block of keys for dK and dV, one over the keys of a block of queries for
// dQ. Both are the same code, since S^T and dP^T are to keys what S and dP are to queries.
#include "attention_tile.cuh"

namespace {
constexpr float LOG2E = 1.4426950408889634f, LN2 = 0.6931471805599453f;

struct forward_args {
  bt_rows<bf16> q, k, v, o;
  bt_rows<float> lse;
  int seq, heads;
  float scale; // to base 2
  bool aligned;
};

// The running maximum and sum of two rows over a tile of scores, which become probabilities: scale, to base 2 and positive, is
// multiplied in where the maximum is taken off, and top holds maxima after it. keep is the factor for what was summed before.
// Every row sees its first key in the first tile, so no maximum stays infinite.
template <int N>
__device__ __forceinline__ void softmax(float (&s)[N][4], float scale, float (&top)[2], float (&sum)[2], float (&keep)[2]) {
  BT_UNROLL for (int h = 0; h < 2; h++) {
    float m = -INFINITY;
    BT_UNROLL for (int n = 0; n < N; n++) m = fmaxf(m, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
    m = fmaxf(m * scale, top[h]);
    float total = 0;
    BT_UNROLL for (int n = 0; n < N; n++) BT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++) {
      s[n][e] = bt_exp2(s[n][e] * scale - m);
      total += s[n][e];
    }
    keep[h] = bt_exp2(top[h] - m);
    top[h] = m;
    sum[h] = sum[h] * keep[h] + total; // of this lane's columns; the four lanes of a row are added at the end
  }
}

template <int D> __global__ void __launch_bounds__(BT_TILE_THREADS) attention_forward_mma(forward_args a) {
  constexpr int BC = 64, TILE = BC * (D + 8);
  BT_SMEM_DYN(bf16, sm); // K0 V0 K1 V1
  int head = blockIdx.x % a.heads, lane = threadIdx.x & 31;
  int64_t row = (int64_t)(blockIdx.x / a.heads) * a.seq;
  int first = (gridDim.y - 1 - blockIdx.y) * BT_TILE_OWN, own = first + threadIdx.x / 32 * 16; // the long ones first
  bt_rows<bf16> k = bt_of_head(a.k, row, head * D), v = bt_of_head(a.v, row, head * D);
  int last = first + BT_TILE_OWN < a.seq ? first + BT_TILE_OWN : a.seq;

  bt_tile_load<BT_TILE_OWN, D>(sm + 2 * TILE, bt_of_head(a.q, row, head * D), first, a.seq, a.aligned);
  bt_tile_load<BC, D>(sm, k, 0, a.seq, a.aligned);
  bt_tile_load<BC, D>(sm + TILE, v, 0, a.seq, a.aligned);
  bt_cp_async_commit();
  bt_cp_async_wait<0>();
  __syncthreads();
  uint32_t q[D / 16][4];
  BT_UNROLL for (int c = 0; c < D / 16; c++) bt_tile_left<D>(q[c], sm + 2 * TILE, own - first, c);

  float out[D / 8][4], top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
  bt_tile_clear(out);
  for (int c0 = 0, now = 0; c0 < last; c0 += BC, now ^= 2 * TILE) {
    bt_cp_async_wait<0>();
    __syncthreads(); // this tile is there, and the other one read by all
    if (c0 + BC < last) {
      bt_tile_load<BC, D>(sm + (now ^ 2 * TILE), k, c0 + BC, a.seq, a.aligned);
      bt_tile_load<BC, D>(sm + (now ^ 2 * TILE) + TILE, v, c0 + BC, a.seq, a.aligned);
      bt_cp_async_commit();
    }
    float s[BC / 8][4];
    bt_tile_clear(s);
    BT_UNROLL for (int c = 0; c < D / 16; c++) bt_tile_scores<D, BC / 8>(s, q[c], sm + now, c);
    if (c0 + BC - 1 > own) { // keys later than a query, and with them all from the end of the sequence on
      BT_UNROLL for (int n = 0; n < BC / 8; n++) BT_UNROLL for (int e = 0; e < 4; e++)
        if (c0 + n * 8 + lane % 4 * 2 + e % 2 > own + lane / 4 + e / 2 * 8) s[n][e] = -INFINITY;
    }
    float keep[2];
    softmax(s, a.scale, top, sum, keep);
    BT_UNROLL for (int n = 0; n < D / 8; n++) BT_UNROLL for (int e = 0; e < 4; e++) out[n][e] *= keep[e / 2];
    bt_tile_sum<D, BC / 8>(out, s, sm + now + TILE);
  }
  BT_UNROLL for (int h = 0; h < 2; h++) {
    sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 1);
    sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 2);
    int r = own + lane / 4 + 8 * h;
    if (lane % 4 == 0 && r < a.seq) a.lse.p[(row + r) * a.lse.ld + head] = top[h] * LN2 + logf(sum[h]);
  }
  bt_tile_store<D>(bt_of_head(a.o, row, head * D), own, a.seq, out, 1 / sum[0], 1 / sum[1], a.aligned);
}

// own1 and own2 are K and V of a block of keys, or Q and dO of a block of queries; other1 and other2 the contrary.
struct backward_args {
  bt_rows<bf16> own1, own2, other1, other2, d1, d2; // d1: gradient of own1; d2: of own2, of keys only
  bt_rows<float> lse, dot;
  int seq, heads;
  float scale;
  bool aligned;
};

// Statistics of the queries of a tile, to base 2 where they are exponents.
template <int BC> __device__ __forceinline__ void load_stats(BT_SPTR(float) to, bt_rows<float> lse, bt_rows<float> dot, int first, int rows) {
  static_assert(2 * BC <= BT_TILE_THREADS, "one statistic a thread");
  if (threadIdx.x >= 2 * BC) return;
  int r = first + threadIdx.x % BC;
  to[threadIdx.x] = r >= rows ? 0.f : threadIdx.x < BC ? lse.p[r * lse.ld] * LOG2E : dot.p[r * dot.ld];
}

template <int D, bool KEYS> __global__ void __launch_bounds__(BT_TILE_THREADS) attention_backward_mma(backward_args a) {
  constexpr int BC = D == 64 ? 64 : 32, N = BC / 8, OWN = BT_TILE_OWN * (D + 8), TILE = BC * (D + 8);
  BT_SMEM_DYN(bf16, sm);    // own1 own2, then twice other1 other2
  BT_SMEM(float, stats, 2 * 2 * BC); // twice LSE and row sum, of a tile of queries
  BT_SPTR(bf16) tiles = sm + 2 * OWN;
  int head = blockIdx.x % a.heads, lane = threadIdx.x & 31;
  int64_t row = (int64_t)(blockIdx.x / a.heads) * a.seq;
  int block = KEYS ? blockIdx.y : gridDim.y - 1 - blockIdx.y, first = block * BT_TILE_OWN, own = threadIdx.x / 32 * 16;
  bt_rows<bf16> other1 = bt_of_head(a.other1, row, head * D), other2 = bt_of_head(a.other2, row, head * D);
  bt_rows<float> lse = bt_of_head(a.lse, row, head), dot = bt_of_head(a.dot, row, head);
  int begin = KEYS ? first : 0, end = KEYS || first + BT_TILE_OWN > a.seq ? a.seq : first + BT_TILE_OWN;

  bt_tile_load<BT_TILE_OWN, D>(sm, bt_of_head(a.own1, row, head * D), first, a.seq, a.aligned);
  bt_tile_load<BT_TILE_OWN, D>(sm + OWN, bt_of_head(a.own2, row, head * D), first, a.seq, a.aligned);
  bt_tile_load<BC, D>(tiles, other1, begin, a.seq, a.aligned);
  bt_tile_load<BC, D>(tiles + TILE, other2, begin, a.seq, a.aligned);
  if (KEYS) load_stats<BC>(stats, lse, dot, begin, a.seq);
  bt_cp_async_commit();
  float exponent[2], sums[2]; // of this lane's two queries
  BT_UNROLL for (int h = 0; h < 2; h++) {
    int r = first + own + lane / 4 + 8 * h;
    exponent[h] = KEYS || r >= a.seq ? 0.f : lse.p[r * lse.ld] * LOG2E;
    sums[h] = KEYS || r >= a.seq ? 0.f : dot.p[r * dot.ld];
  }
  float d1[D / 8][4], d2[KEYS ? D / 8 : 1][4];
  bt_tile_clear(d1);
  bt_tile_clear(d2);
  for (int c0 = begin, now = 0; c0 < end; c0 += BC, now ^= 1) {
    bt_cp_async_wait<0>();
    __syncthreads(); // this tile is there, and the other one read by all
    BT_SPTR(bf16) t1 = tiles + now * 2 * TILE;
    BT_SPTR(bf16) t2 = t1 + TILE;
    if (c0 + BC < end) {
      BT_SPTR(bf16) next = tiles + (now ^ 1) * 2 * TILE;
      bt_tile_load<BC, D>(next, other1, c0 + BC, a.seq, a.aligned);
      bt_tile_load<BC, D>(next + TILE, other2, c0 + BC, a.seq, a.aligned);
      if (KEYS) load_stats<BC>(stats + (now ^ 1) * 2 * BC, lse, dot, c0 + BC, a.seq);
      bt_cp_async_commit();
    }
    int mine = first + own;
    if (KEYS ? c0 + BC - 1 < mine : c0 > mine + 15) continue; // nothing of this tile is before or at its query
    float p[N][4], ds[N][4];
    bt_tile_clear(p);
    bt_tile_clear(ds);
    BT_UNROLL for (int c = 0; c < D / 16; c++) {
      uint32_t x[4];
      bt_tile_left<D>(x, sm, own, c);
      bt_tile_scores<D, N>(p, x, t1, c);
      bt_tile_left<D>(x, sm + OWN, own, c);
      bt_tile_scores<D, N>(ds, x, t2, c);
    }
    bool edge = KEYS ? c0 < mine + 15 : c0 + BC - 1 > mine;
    BT_UNROLL for (int n = 0; n < N; n++) BT_UNROLL for (int e = 0; e < 4; e++) {
      int at = n * 8 + lane % 4 * 2 + e % 2, r = mine + lane / 4 + e / 2 * 8;
      float l = KEYS ? (float)stats[now * 2 * BC + at] : exponent[e / 2], d = KEYS ? (float)stats[(now * 2 + 1) * BC + at] : sums[e / 2];
      float x = bt_exp2(p[n][e] * (a.scale * LOG2E) - l);
      if (edge && (KEYS ? c0 + at < r : c0 + at > r)) x = 0;
      p[n][e] = x;
      ds[n][e] = x * (ds[n][e] - d);
    }
    if constexpr (KEYS) bt_tile_sum<D, N>(d2, p, t2);
    bt_tile_sum<D, N>(d1, ds, t1);
  }
  int mine = first + own;
  bt_tile_store<D>(bt_of_head(a.d1, row, head * D), mine, a.seq, d1, a.scale, a.scale, a.aligned);
  if constexpr (KEYS) bt_tile_store<D>(bt_of_head(a.d2, row, head * D), mine, a.seq, d2, 1, 1, a.aligned);
}

template <class K, class A>
bt_status launch(bt_ctx *c, const char *what, K kernel, size_t shared, cudaStream_t s, const bt_attention_shape &h, const A &args) {
  bt_status st = bt_check(c, what, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  if (st) return st;
  dim3 grid((unsigned)(h.sequences * h.heads), (unsigned)bt_ceil(h.seq, BT_TILE_OWN));
  return bt_check(c, what, BT_LAUNCH(kernel, grid, dim3(BT_TILE_THREADS), shared, s, args));
}

constexpr size_t forward_shared(int64_t dim) { return 4 * 64 * (dim + 8) * sizeof(bf16); }
constexpr size_t backward_shared(int64_t dim) { return (2 * BT_TILE_OWN + 4 * (dim == 64 ? 64 : 32)) * (dim + 8) * sizeof(bf16); }

bool fits(bt_ctx *c, const bt_attention_shape &h, const bt_op *) {
  size_t most = forward_shared(h.dim) > backward_shared(h.dim) ? forward_shared(h.dim) : backward_shared(h.dim);
  return h.type == BT_BF16 && h.scale > 0 && (h.dim == 64 || h.dim == 128) && (size_t)c->max_shared >= most + 1024;
}

bt_status forward(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  forward_args a = {bt_mat_of<bf16>(o, 0), bt_mat_of<bf16>(o, 1), bt_mat_of<bf16>(o, 2), bt_mat_of<bf16>(o, 3), bt_mat_of<float>(o, 4),
                    (int)h.seq, (int)h.heads, h.scale * LOG2E, bt_vectorised(o, 0xf, 8)};
  auto kernel = h.dim == 64 ? attention_forward_mma<64> : attention_forward_mma<128>;
  return launch(c, "attention", kernel, forward_shared(h.dim), s, h, a);
}

bt_status backward(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  enum { Q, K, V, O, LSE, DO, DQ, DK, DV, WORK };
  auto m = [&](int k) { return bt_mat_of<bf16>(o, k); };
  bt_rows<float> lse = bt_mat_of<float>(o, LSE), dot = bt_mat_of<float>(o, WORK);
  int seq = (int)h.seq, heads = (int)h.heads;
  bool aligned = bt_vectorised(o, 1u << Q | 1u << K | 1u << V | 1u << DO | 1u << DQ | 1u << DK | 1u << DV, 8);
  backward_args keys = {m(K), m(V), m(Q), m(DO), m(DK), m(DV), lse, dot, seq, heads, h.scale, aligned};
  backward_args queries = {m(Q), m(DO), m(K), m(V), m(DQ), m(DQ), lse, dot, seq, heads, h.scale, aligned};
  auto of_keys = h.dim == 64 ? attention_backward_mma<64, true> : attention_backward_mma<128, true>;
  auto of_queries = h.dim == 64 ? attention_backward_mma<64, false> : attention_backward_mma<128, false>;
  bt_status st = launch(c, "attention_bwd of keys", of_keys, backward_shared(h.dim), s, h, keys);
  return st ? st : launch(c, "attention_bwd of queries", of_queries, backward_shared(h.dim), s, h, queries);
}
} // namespace

extern const bt_attention_engine bt_attention_mma = {"mma", fits, forward, backward};
