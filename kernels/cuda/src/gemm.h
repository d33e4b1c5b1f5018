// gemm.h - a product as both ways of doing it take it.
#pragma once
#include "internal.h"

// D = alpha op(A) op(B) + beta C, batch times. Matrices in the order A B C D; where C is absent it is D.
struct bt_gemm {
  int64_t m, n, k, batch;
  bool trans_a, trans_b;
  int32_t type_ab, type_d; // of A and B, of C and D
  bt_ptr p[4];
  int64_t ld[4], stride[4];
  float alpha, beta;
};
bt_status bt_gemm_of(bt_ctx *, const bt_op *, bt_gemm *); // reads and verifies
// By a kernel of our own, of whatever types and addresses: slow.
bt_status bt_gemm_any(bt_ctx *, cudaStream_t, const bt_gemm &);
