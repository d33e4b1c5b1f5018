// attention.cu - causal attention in both directions: the table of engines, and what they share.
#include "attention.h"

namespace {
// In the order of preference. cuDNN's comes first, once it has been shown on a GPU to agree with the tests in kernels/cuda/test
// and to be faster: its fits opens the library and looks for a plan of this shape, and says no where either fails.
const bt_attention_engine *const engines[] = {nullptr /* cuDNN */, &bt_attention_mma, &bt_attention_any};

// The row sums of dO * O of every head: what the softmax subtracts from the gradient of a probability. A warp for each.
template <class T> __global__ void attention_row_sums(bt_rows<T> o, bt_rows<T> d_o, bt_rows<float> out, int64_t rows, int heads, int dim) {
  int64_t warps = (int64_t)gridDim.x * (blockDim.x / 32), lane = threadIdx.x & 31;
  for (int64_t i = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < rows * heads; i += warps) {
    const T *x = o.row(i / heads) + i % heads * dim, *y = d_o.row(i / heads) + i % heads * dim;
    float sum = 0;
    for (int c = (int)lane; c < dim; c += 32) sum += bt_float(x[c]) * bt_float(y[c]);
    sum = bt_warp_sum(sum);
    if (lane == 0) out.row(i / heads)[i % heads] = sum;
  }
}

template <class T> bt_status row_sums(bt_ctx *c, cudaStream_t s, const bt_attention_shape &h, const bt_op *o) {
  int64_t blocks = bt_ceil(o->rows * h.heads, 4);
  return bt_check(c, "attention_bwd row sums",
                  BT_LAUNCH(attention_row_sums<T>, dim3((unsigned)(blocks < BT_MAX_GRID ? blocks : BT_MAX_GRID)), dim3(128), 0, s, bt_mat_of<T>(o, 3),
                            bt_mat_of<T>(o, 5), bt_mat_of<float>(o, 9), o->rows, (int)h.heads, (int)h.dim));
}

bt_status shape_of(bt_ctx *c, const char *name, const bt_op *o, bt_attention_shape *h) {
  *h = {o->i[0], 0, o->i[1], 0, o->t[0], (float)o->f[0]};
  if (h->seq <= 0 || h->dim <= 0 || o->rows % h->seq || o->cols % h->dim)
    return bt_fail(c, BT_EINVAL, "%s of %lldx%lld in sequences of %lld and heads of %lld", name, (long long)o->rows, (long long)o->cols,
                   (long long)h->seq, (long long)h->dim);
  h->heads = o->cols / h->dim;
  h->sequences = o->rows / h->seq;
  if (h->seq > 32 * 65535 || h->heads * h->sequences > INT32_MAX)
    return bt_fail(c, BT_EUNSUPPORTED, "%s of %lld heads in sequences of %lld: more than one launch can do (2,097,120 positions)", name,
                   (long long)(h->heads * h->sequences), (long long)h->seq);
  return BT_OK;
}

const bt_attention_engine *engine_for(bt_ctx *c, const bt_attention_shape &h, const bt_op *o) {
  for (const bt_attention_engine *e : engines)
    if (e && e->fits(c, h, o)) return e;
  return &bt_attention_any;
}
} // namespace

extern "C" bt_status btk_attention(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  bt_attention_shape h;
  if (bt_empty(o)) return BT_OK;
  bt_status st = bt_types(c, "attention", o, 0, 0xf, 1u << 4);
  if (!st) st = shape_of(c, "attention", o, &h);
  return st ? st : engine_for(c, h, o)->forward(c, s, h, o);
}

extern "C" bt_status btk_attention_bwd(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  bt_attention_shape h;
  if (bt_empty(o)) return BT_OK;
  bt_status st = bt_types(c, "attention_bwd", o, 0, 0x1ef, 1u << 4 | 1u << 9);
  if (!st) st = shape_of(c, "attention_bwd", o, &h);
  if (!st) BT_TYPED(h.type, T, st = row_sums<T>(c, s, h, o));
  return st ? st : engine_for(c, h, o)->backward(c, s, h, o);
}
