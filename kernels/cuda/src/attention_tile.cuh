// attention_tile.cuh - tiles of bf16 in shared memory, and their products on tensor cores (mma.m16n8k16).
//
// A tile is rows of D elements, each padded by 16 bytes: with D a multiple of 64 the eight rows that ldmatrix reads at once
// then lie in different banks. A warp owns 16 rows of what it computes. Of such a 16 x 8 block lane l holds the columns
// 2*(l%4) and +1 of the rows l/4 (elements 0, 1) and l/4+8 (elements 2, 3), so that two blocks of scores side by side are,
// once rounded, a fragment of the left operand of the next product.
#pragma once
#include "attention.h"

enum { BT_TILE_THREADS = 128, BT_TILE_OWN = 64 }; // threads of a block, and rows that its four warps own

// Rows [first, first+R) of x into a tile; rows from the end of the sequence on are zero. The copy is under way until this
// thread waits for it, and seen by others after a barrier. aligned: x begins at 16 bytes and so does each of its rows.
template <int R, int D> __device__ __forceinline__ void bt_tile_load(BT_SPTR(bf16) to, bt_rows<bf16> x, int first, int rows, bool aligned) {
  constexpr int LD = D + 8, STEP = BT_TILE_THREADS / (D / 8); // rows that all threads copy at once
  if (aligned) {
    int r = threadIdx.x / (D / 8), c = threadIdx.x % (D / 8) * 8;
    const bf16 *p = x.p + (first + r) * x.ld + c;
    BT_SPTR(bf16) mine = to + (r * LD + c);
    BT_UNROLL for (int i = 0; i < R; i += STEP, p += STEP * x.ld) bt_cp_async16(mine + i * LD, p, first + r + i < rows);
  } else {
    for (int e = threadIdx.x; e < R * D; e += BT_TILE_THREADS) {
      int r = e / D, c = e % D;
      to[r * LD + c] = first + r < rows ? x.p[(first + r) * x.ld + c] : __float2bfloat16(0.f);
    }
  }
}

// Rows [row, row+16) and columns [16*c, 16*c+16) of a tile as a left operand.
template <int D> __device__ __forceinline__ void bt_tile_left(uint32_t (&a)[4], BT_SPTR(bf16) tile, int row, int c) {
  int lane = threadIdx.x & 31;
  bt_ldmatrix_x4(a, tile + ((row + lane % 16) * (D + 8) + lane / 16 * 8), c * 16);
}

// s += a tile^T, for the 16 columns c of both: s is 16 rows x 8*N rows of the tile.
template <int D, int N> __device__ __forceinline__ void bt_tile_scores(float (&s)[N][4], const uint32_t (&a)[4], BT_SPTR(bf16) tile, int c) {
  int lane = threadIdx.x & 31;
  BT_SPTR(bf16) mine = tile + ((lane / 16 * 8 + lane % 8) * (D + 8) + lane / 8 % 2 * 8);
  BT_UNROLL for (int n = 0; n < N; n += 2) {
    uint32_t b[4];
    bt_ldmatrix_x4(b, mine, n * 8 * (D + 8) + c * 16);
    uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
    bt_mma_m16n8k16_bf16(s[n], a, left);
    bt_mma_m16n8k16_bf16(s[n + 1], a, right);
  }
}

// out += p tile: p is 16 rows x 8*N rows of the tile and is rounded to bf16, out is 16 x D.
template <int D, int N> __device__ __forceinline__ void bt_tile_sum(float (&out)[D / 8][4], const float (&p)[N][4], BT_SPTR(bf16) tile) {
  int lane = threadIdx.x & 31;
  BT_SPTR(bf16) mine = tile + (lane % 16 * (D + 8) + lane / 16 * 8);
  BT_UNROLL for (int c = 0; c < N / 2; c++) {
    uint32_t a[4] = {bt_pack_bf16(p[2 * c][0], p[2 * c][1]), bt_pack_bf16(p[2 * c][2], p[2 * c][3]),
                     bt_pack_bf16(p[2 * c + 1][0], p[2 * c + 1][1]), bt_pack_bf16(p[2 * c + 1][2], p[2 * c + 1][3])};
    BT_UNROLL for (int n = 0; n < D / 8; n += 2) {
      uint32_t b[4];
      bt_ldmatrix_x4_trans(b, mine, c * 16 * (D + 8) + n * 8);
#ifdef BT_FAULT_FRAGMENT
      uint32_t left[2] = {b[0], b[2]}, right[2] = {b[1], b[3]};
#else
      uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
#endif
      bt_mma_m16n8k16_bf16(out[n], a, left);
      bt_mma_m16n8k16_bf16(out[n + 1], a, right);
    }
  }
}

template <int N> __device__ __forceinline__ void bt_tile_clear(float (&x)[N][4]) {
  BT_UNROLL for (int n = 0; n < N; n++) BT_UNROLL for (int e = 0; e < 4; e++) x[n][e] = 0;
}

// This warp's 16 rows of a block, from row on, times one factor for each of the two rows that a lane holds.
template <int D> __device__ __forceinline__ void bt_tile_store(bt_rows<bf16> to, int row, int rows, const float (&x)[D / 8][4], float low, float high, bool aligned) {
  int lane = threadIdx.x & 31, r = row + lane / 4, c = lane % 4 * 2;
  BT_UNROLL for (int h = 0; h < 2; h++) {
    if (r + 8 * h >= rows) continue;
    bf16 *p = to.p + (r + 8 * h) * to.ld + c;
    float f = h ? high : low;
    BT_UNROLL for (int n = 0; n < D / 8; n++) {
      float a = x[n][2 * h] * f, b = x[n][2 * h + 1] * f;
      if (aligned) {
        *reinterpret_cast<uint32_t *>(p + n * 8) = bt_pack_bf16(a, b);
      } else {
        p[n * 8] = __float2bfloat16(a);
        p[n * 8 + 1] = __float2bfloat16(b);
      }
    }
  }
}
