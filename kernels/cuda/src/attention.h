// attention.h - the engines of causal attention, and the shape that they are asked for.
//
// Q, K, V, O and their gradients are [batch*seq, heads*dim] with any leading dimension; LSE and Work are [batch*seq, heads].
// LSE is the natural logarithm of the sum of exponentials; Work receives the row sums of DO*O. The formulas are in
// kernels/ops_attention.go and docs/method.md.
#pragma once
#include "types.cuh"

struct bt_attention_shape {
  int64_t seq, heads, dim, sequences; // sequences: of the batch
  uint8_t type;                       // of every activation
  float scale;                        // of the scores
};

// One way to compute attention. fits says whether it takes this shape with these operands; a table of engines is asked in its
// order, and the last takes everything. The row sums are already in Work when backward is called, on the same stream.
struct bt_attention_engine {
  const char *name;
  bool (*fits)(bt_ctx *, const bt_attention_shape &, const bt_op *);
  bt_status (*forward)(bt_ctx *, cudaStream_t, const bt_attention_shape &, const bt_op *);
  bt_status (*backward)(bt_ctx *, cudaStream_t, const bt_attention_shape &, const bt_op *);
};

extern const bt_attention_engine bt_attention_mma; // bf16 on tensor cores, dimensions 64 and 128 (attention_mma.cu)
extern const bt_attention_engine bt_attention_any; // every type and dimension, fp32 arithmetic (attention_any.cu)

// What one head of one sequence has of a matrix: from a row and a column on.
template <class T> static __device__ __forceinline__ bt_rows<T> bt_of_head(bt_rows<T> x, int64_t row, int64_t col) {
  return {x.row(row) + col, x.ld};
}
