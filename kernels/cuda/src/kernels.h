// kernels.h - one function for each operation of boost_backend.h that is a bt_op. Each enqueues its kernels on a stream and returns
// BT_OK, or a status whose text it has put into the context. dispatch.cu makes the table of them.
//   gemm.cu                     gemm
//   rows.cu                     the norm, latents, SwiGLU
//   cross.cu                    crossings of latents between blocks
//   rope.cu, attention*.cu      rope, attention in both directions
//   vocab.cu                    embedding, cross-entropy
//   optim.cu                    gradient norm, AdamW, LORO's Adam
//   memory.cu                   copies, fills, conversions, sparse matrices, random numbers, the search for what is not finite
#pragma once
#include "internal.h"

// X(kind, name): BT_##kind is done by btk_##name. Messages (COLLECTIVE, CALL) are no bt_op and not here.
#define BT_KERNELS(X)                                                                                                              \
  X(NOP, nop)                                                                                                                      \
  X(GEMM, gemm)                                                                                                                    \
  X(AXPBY, axpby)                                                                                                                  \
  X(COPY, copy)                                                                                                                    \
  X(FILL, fill)                                                                                                                    \
  X(MEMCPY, memcpy)                                                                                                                \
  X(NORM_STATS, norm_stats)                                                                                                        \
  X(NORM_RSTD, norm_rstd)                                                                                                          \
  X(NORM_APPLY, norm_apply)                                                                                                        \
  X(NORM_BWD_STATS, norm_bwd_stats)                                                                                                \
  X(NORM_BWD_APPLY, norm_bwd_apply)                                                                                                \
  X(LATENT, latent)                                                                                                                \
  X(LATENT_BWD, latent_bwd)                                                                                                        \
  X(SWIGLU, swiglu)                                                                                                                \
  X(SWIGLU_BWD, swiglu_bwd)                                                                                                        \
  X(ROPE, rope)                                                                                                                    \
  X(ATTENTION, attention)                                                                                                          \
  X(ATTENTION_BWD, attention_bwd)                                                                                                  \
  X(EMBED, embed)                                                                                                                  \
  X(EMBED_BWD, embed_bwd)                                                                                                          \
  X(XENT_MAX, xent_max)                                                                                                            \
  X(XENT_SUM, xent_sum)                                                                                                            \
  X(XENT_LOSS, xent_loss)                                                                                                          \
  X(SUMSQ, sumsq)                                                                                                                  \
  X(CLIP_SCALE, clip_scale)                                                                                                        \
  X(ADAMW, adamw)                                                                                                                  \
  X(FIND_NON_FINITE, find_non_finite)                                                                                              \
  X(CROSS, cross)                                                                                                                  \
  X(CROSS_BWD, cross_bwd)                                                                                                          \
  X(SCATTER, scatter)                                                                                                              \
  X(PICK, pick)                                                                                                                    \
  X(DRAW, draw)                                                                                                                    \
  X(ADAM, adam)                                                                                                                    \
  X(CONVERT, convert)

#define BT_KERNEL_DECLARE(kind, name) extern "C" bt_status btk_##name(bt_ctx *, cudaStream_t, const bt_op *);
BT_KERNELS(BT_KERNEL_DECLARE)
#undef BT_KERNEL_DECLARE
