// types.cu - the check of an operation's types, and the second pass of sums over columns.
#include "each.cuh"

static const char *type_name(uint8_t t) {
  static const char *const names[] = {"fp32", "bf16", "fp16", "i32", "u8"};
  return t < 5 ? names[t] : "an unknown type";
}

bt_status bt_types(bt_ctx *c, const char *name, const bt_op *o, int first, unsigned mask, unsigned fp32) {
  uint8_t want = o->t[first];
  if (want != BT_F32 && want != BT_BF16)
    return bt_fail(c, BT_EUNSUPPORTED, "%s: matrix %d is %s; computes in fp32 and bf16", name, first, type_name(want));
  for (int k = 0; k < 10; k++) {
    if (!o->m[k].p) continue;
    uint8_t need = fp32 >> k & 1 ? (uint8_t)BT_F32 : want;
    if ((mask | fp32) >> k & 1 && o->t[k] != need)
      return bt_fail(c, BT_EINVAL, "%s: matrix %d is %s, not %s", name, k, type_name(o->t[k]), type_name(need));
  }
  return BT_OK;
}

static __global__ void __launch_bounds__(BT_THREADS) column_totals(float *to, const float *parts, int64_t n, int64_t cols) {
  BT_SMEM(double, sums, BT_THREADS);
  const int x = threadIdx.x & 31, y = threadIdx.x >> 5;
  const int64_t c = (int64_t)blockIdx.x * 32 + x;
  double sum = 0;
  if (c < cols)
    for (int64_t p = y; p < n; p += BT_THREADS / 32) sum += parts[p * cols + c];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (y != 0 || c >= cols) return;
  for (int k = 1; k < BT_THREADS / 32; k++) sum += sums[k * 32 + x];
  to[c] += (float)sum;
}

cudaError_t bt_column_totals(cudaStream_t s, float *to, const float *parts, int64_t n, int64_t cols) {
  return BT_LAUNCH(column_totals, dim3((unsigned)bt_ceil(cols, 32)), dim3(BT_THREADS), 0, s, to, parts, n, cols);
}
