// gemm_any.cu - products that the library does not do: a plain tiled kernel for any types, addresses and leading dimensions.
#include "gemm.h"
#include "types.cuh"

enum { TILE = 16 };

namespace {
struct operands {
  int64_t m, n, k, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;
  int trans_a, trans_b, tiles_n;
  float alpha, beta;
};
} // namespace

// A block computes one tile of one product of the batch, a thread one element of it; sums run over k in order.
template <class T, class TD> __global__ void gemm_tile(TD *d_all, const TD *c_all, const T *a_all, const T *b_all, operands o) {
  BT_SMEM(float, as, TILE *(TILE + 1));
  BT_SMEM(float, bs, TILE *(TILE + 1));
  const T *a = a_all + blockIdx.y * o.stride_a, *b = b_all + blockIdx.y * o.stride_b;
  int tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
  int64_t row0 = (int64_t)(blockIdx.x / o.tiles_n) * TILE, col0 = (int64_t)(blockIdx.x % o.tiles_n) * TILE;
  float sum = 0;
  for (int64_t k0 = 0; k0 < o.k; k0 += TILE) {
    // Neighbouring threads read neighbouring elements, whichever way a matrix lies.
    int64_t ar = row0 + (o.trans_a ? tx : ty), ak = k0 + (o.trans_a ? ty : tx);
    int64_t bc = col0 + (o.trans_b ? ty : tx), bk = k0 + (o.trans_b ? tx : ty);
    float av = ar < o.m && ak < o.k ? bt_float(a[o.trans_a ? ak * o.lda + ar : ar * o.lda + ak]) : 0.f;
    float bv = bc < o.n && bk < o.k ? bt_float(b[o.trans_b ? bc * o.ldb + bk : bk * o.ldb + bc]) : 0.f;
    as[(o.trans_a ? tx : ty) * (TILE + 1) + (o.trans_a ? ty : tx)] = av; // [row][k]
    bs[(o.trans_b ? tx : ty) * (TILE + 1) + (o.trans_b ? ty : tx)] = bv; // [k][column]
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum += as[ty * (TILE + 1) + i] * bs[i * (TILE + 1) + tx];
    __syncthreads();
  }
  int64_t r = row0 + ty, col = col0 + tx;
  if (r >= o.m || col >= o.n) return;
  float v = o.alpha * sum;
  // Where beta is 0, C may hold anything, NaN too.
  if (o.beta != 0) v += o.beta * bt_float(c_all[blockIdx.y * o.stride_c + r * o.ldc + col]);
  d_all[blockIdx.y * o.stride_d + r * o.ldd + col] = bt_from<TD>(v);
}

template <class T, class TD> static bt_status launch(bt_ctx *c, cudaStream_t s, const bt_gemm &g) {
  int64_t tiles_n = bt_ceil(g.n, TILE), tiles = tiles_n * bt_ceil(g.m, TILE);
  if (tiles > INT32_MAX || g.batch > 65535)
    return bt_fail(c, BT_EUNSUPPORTED, "a product of %lldx%lld, %lld times, that cuBLASLt does not do is too large for one launch",
                   (long long)g.m, (long long)g.n, (long long)g.batch);
  operands o = {g.m,         g.n,         g.k,         g.ld[0],   g.ld[1],   g.ld[2],      g.ld[3], g.stride[0],
                g.stride[1], g.stride[2], g.stride[3], g.trans_a, g.trans_b, (int)tiles_n, g.alpha, g.beta};
  return bt_check(c, "gemm_tile",
                  BT_LAUNCH((gemm_tile<T, TD>), dim3((unsigned)tiles, (unsigned)g.batch), dim3(TILE * TILE), 0, s,
                            bt_at<TD>(g.p[3]), bt_at<TD>(g.p[2]), bt_at<T>(g.p[0]), bt_at<T>(g.p[1]), o));
}

bt_status bt_gemm_any(bt_ctx *c, cudaStream_t s, const bt_gemm &g) {
  if (g.type_ab == BT_BF16) return g.type_d == BT_BF16 ? launch<bf16, bf16>(c, s, g) : launch<bf16, float>(c, s, g);
  return g.type_d == BT_BF16 ? launch<float, bf16>(c, s, g) : launch<float, float>(c, s, g);
}

static bool number(int32_t t) { return t == BT_F32 || t == BT_BF16; }

bt_status bt_gemm_of(bt_ctx *c, const bt_op *o, bt_gemm *g) {
  *g = {o->rows, o->cols, o->i[0], o->i[1], o->i[2] != 0,   o->i[3] != 0,  o->t[0],
        o->t[3], {},      {},      {},      (float)o->f[0], (float)o->f[1]};
  for (int j = 0; j < 4; j++) {
    int from = j == 2 && !o->m[2].p ? 3 : j;
    g->p[j] = o->m[from].p, g->ld[j] = o->m[from].ld, g->stride[j] = o->i[4 + from];
  }
  if (g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0)
    return bt_fail(c, BT_EINVAL, "a product of %lldx%lldx%lld, %lld times", (long long)g->m, (long long)g->n, (long long)g->k,
                   (long long)g->batch);
  if (!number(g->type_ab) || o->t[1] != o->t[0] || !number(g->type_d) || (o->m[2].p && o->t[2] != o->t[3]))
    return bt_fail(c, BT_EINVAL, "a product of types %d %d (C %d) to %d; A and B are both fp32 or both bf16, C is of D's type",
                   o->t[0], o->t[1], o->t[2], o->t[3]);
  // Rows of a matrix must not overlap; a single row may have any leading dimension.
  const int64_t rows[4] = {g->trans_a ? g->k : g->m, g->trans_b ? g->n : g->k, g->m, g->m},
                cols[4] = {g->trans_a ? g->m : g->k, g->trans_b ? g->k : g->n, g->n, g->n};
  for (int j = 0; j < 4; j++) {
    if (g->ld[j] < cols[j]) {
      if (rows[j] > 1)
        return bt_fail(c, BT_EINVAL, "matrix %c of a product has %lld columns, its rows are %lld apart", "ABCD"[j],
                       (long long)cols[j], (long long)g -> ld[j]);
      g->ld[j] = cols[j];
    }
    if (!g->p[j] && rows[j] && cols[j]) return bt_fail(c, BT_EINVAL, "matrix %c of a product is missing", "ABCD"[j]);
  }
  return BT_OK;
}
