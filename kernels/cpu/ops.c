/* ops.c - from an operation to its arithmetic: how the work is cut into pieces, and what must be added up afterwards. */
#include "internal.h"
#include <math.h>
#include <stdlib.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* About this many elements make a piece: some ten microseconds. */
enum { PIECE = 16384 };

static int64_t row_grain(int64_t cols) { return cols >= PIECE ? 1 : PIECE / (cols > 0 ? cols : 1); }

static void *scratch(bt_lane *l, size_t n) { return bt_scratch_get(l, l->workers, n); }

/* Element-wise operations on views without gaps may be cut anywhere: one long row becomes many. */
static void elementwise(bt_lane *l, const bt_op *o, int mats) {
  bt_op flat = *o;
  bool gaps = o->cols < 1;
  for (int k = 0; k < mats; k++) gaps |= o->m[k].p && o->rows > 1 && o->m[k].ld != o->cols;
  if (gaps) {
    bt_parallel(l, o->rows, row_grain(o->cols), l->ctx->isa->body[o->h.kind], &flat);
    return;
  }
  int64_t n = o->rows * o->cols;
  flat.rows = n / BT_FLAT_BLOCK;
  flat.cols = BT_FLAT_BLOCK;
  for (int k = 0; k < mats; k++) flat.m[k].ld = BT_FLAT_BLOCK;
  bt_parallel(l, flat.rows, 2, l->ctx->isa->body[o->h.kind], &flat);
  for (int k = 0; k < mats; k++)
    if (flat.m[k].p) flat.m[k].p += flat.rows * BT_FLAT_BLOCK * sizeof(float);
  flat.cols = n % BT_FLAT_BLOCK;
  if (flat.cols) l->ctx->isa->body[o->h.kind](&flat, 0, 1, (bt_worker){l, 0});
}

static void copy_rows(void *arg, int64_t lo, int64_t hi, bt_worker w) {
  const bt_op *o = arg;
  size_t size = o->i[0], n = o->cols * size;
  (void)w;
  for (int64_t r = lo; r < hi; r++)
    memmove((char *)(uintptr_t)o->m[1].p + r * o->m[1].ld * size, (char *)(uintptr_t)o->m[0].p + r * o->m[0].ld * size, n);
}

static void copy_bytes(void *arg, int64_t lo, int64_t hi, bt_worker w) {
  const bt_op *o = arg;
  (void)w;
  memmove((char *)(uintptr_t)o->m[1].p + lo, (char *)(uintptr_t)o->m[0].p + lo, hi - lo);
}

static void copy(bt_lane *l, const bt_op *o) {
  bool gaps = o->rows > 1 && (o->m[0].ld != o->cols || o->m[1].ld != o->cols);
  if (gaps) bt_parallel(l, o->rows, row_grain(o->cols), copy_rows, (void *)o);
  else {
    /* One piece when the two overlap: memmove knows the direction only of a whole. */
    int64_t n = o->rows * o->cols * o->i[0], apart = (int64_t)(o->m[1].p - o->m[0].p);
    bool overlap = apart < n && -apart < n;
    bt_parallel(l, n, overlap ? n : 4 * PIECE, copy_bytes, (void *)o);
  }
}

/* Between host and device: what is copied is not looked at again soon, so that it need not go through the caches. */
static void carry_bytes(void *arg, int64_t lo, int64_t hi, bt_worker w) {
  const bt_op *o = arg;
  char *to = (char *)(uintptr_t)o->m[1].p, *from = (char *)(uintptr_t)o->m[0].p;
  (void)w;
#if defined(__SSE2__)
  for (; lo < hi && (uintptr_t)(to + lo) % 16; lo++) to[lo] = from[lo];
  for (; lo + 64 <= hi; lo += 64)
    for (int k = 0; k < 64; k += 16) _mm_stream_si128((__m128i *)(to + lo + k), _mm_loadu_si128((const __m128i *)(from + lo + k)));
  _mm_sfence();
#endif
  memcpy(to + lo, from + lo, hi - lo);
}

enum { CARRY = 1 << 20 }; /* bytes of a piece */

struct columns {
  const bt_isa *isa;
  float *dst;
  const float *part;
  int64_t blocks, cols;
};
static void add_columns(void *arg, int64_t lo, int64_t hi, bt_worker w) {
  struct columns *c = arg;
  (void)w;
  c->isa->column_sums(c->dst, c->part, c->blocks, c->cols, lo, hi);
}

static bt_status norm_bwd_apply(bt_lane *l, const bt_op *in, char *err) {
  bt_op o = *in;
  int64_t blocks = (o.rows + BT_NORM_BLOCK - 1) / BT_NORM_BLOCK;
  float *part = scratch(l, blocks * o.cols * sizeof *part + 64);
  if (!part) return bt_fail(err, BT_ENOMEM, "no memory for partial sums of %lld x %lld", (long long)blocks, (long long)o.cols);
  o.i[7] = (int64_t)(uintptr_t)part;
  bt_parallel(l, blocks, 1, l->ctx->isa->body[BT_NORM_BWD_APPLY], &o);
  struct columns c = {l->ctx->isa, (float *)(uintptr_t)o.m[7].p, part, blocks, o.cols};
  bt_parallel(l, o.cols, row_grain(blocks), add_columns, &c);
  return BT_OK;
}

static bt_status cross_bwd(bt_lane *l, const bt_op *in, char *err) {
  bt_op o = *in;
  int64_t blocks = (o.rows + BT_NORM_BLOCK - 1) / BT_NORM_BLOCK;
  float *part = NULL;
  if (o.m[4].p && !(part = scratch(l, blocks * o.cols * sizeof *part + 64)))
    return bt_fail(err, BT_ENOMEM, "no memory for partial sums of %lld x %lld", (long long)blocks, (long long)o.cols);
  o.i[7] = (int64_t)(uintptr_t)part;
  bt_parallel(l, blocks, 1, l->ctx->isa->body[BT_CROSS_BWD], &o);
  if (!part) return BT_OK;
  struct columns c = {l->ctx->isa, (float *)(uintptr_t)o.m[4].p, part, blocks, o.cols};
  bt_parallel(l, o.cols, row_grain(blocks), add_columns, &c);
  return BT_OK;
}

static void zero(void *arg, int64_t lo, int64_t hi, bt_worker w) {
  (void)w;
  memset((float *)arg + lo, 0, (hi - lo) * sizeof(float));
}

static void scatter(bt_lane *l, const bt_op *o) {
  bt_parallel(l, o->i[0], 4 * PIECE, zero, (void *)(uintptr_t)o->m[2].p);
  bt_parallel(l, o->cols, PIECE, l->ctx->isa->body[BT_SCATTER], (void *)o);
}

static bt_status sumsq(bt_lane *l, const bt_op *in, char *err) {
  bt_op o = *in;
  int64_t blocks = (o.cols + BT_FLAT_BLOCK - 1) / BT_FLAT_BLOCK;
  double *part = scratch(l, blocks * sizeof *part + 64), sum = 0;
  if (!part) return bt_fail(err, BT_ENOMEM, "no memory for %lld partial sums", (long long)blocks);
  o.i[7] = (int64_t)(uintptr_t)part;
  bt_parallel(l, blocks, 2, l->ctx->isa->body[BT_SUMSQ], &o);
  for (int64_t b = 0; b < blocks; b++) sum += part[b];
  *(float *)(uintptr_t)o.m[1].p += sum;
  return BT_OK;
}

static void clip_scale(const bt_op *o) {
  double norm = sqrt(*(float *)(uintptr_t)o->m[0].p), max = o->f[0], scale = 1;
  if (!isfinite(norm)) scale = NAN;
  else if (max > 0 && max / (norm + 1e-6) < 1) scale = max / (norm + 1e-6);
  *(float *)(uintptr_t)o->m[1].p = norm;
  *(float *)(uintptr_t)o->m[2].p = scale;
}

static void adamw(bt_lane *l, const bt_op *in) {
  bt_op o = *in;
  if (!isfinite(*(float *)(uintptr_t)o.m[4].p)) return;
  for (int k = 0; k < 2; k++) {
    float correction = 1 - pow(o.f[1 + k], o.i[0]);
    int32_t bits;
    memcpy(&bits, &correction, 4);
    o.i[6 + k] = bits;
  }
  bt_parallel(l, o.cols, PIECE, l->ctx->isa->body[BT_ADAMW], &o);
}

static void xent_loss(bt_lane *l, const bt_op *in) {
  bt_op o = *in;
  bt_parallel(l, o.rows, row_grain(o.cols), l->ctx->isa->body[BT_XENT_LOSS], &o);
  double sum = 0;
  for (int64_t r = 0; r < o.rows; r++) {
    const float *s = (float *)(uintptr_t)o.m[3].p + r * o.m[3].ld, *t = (float *)(uintptr_t)o.m[4].p + r * o.m[4].ld;
    sum += log(*s) - *t;
  }
  *(float *)(uintptr_t)o.m[5].p += o.f[0] * sum;
}

static void find_non_finite(bt_lane *l, const bt_op *in) {
  bt_op o = *in;
  _Atomic int64_t at = o.rows * o.cols;
  o.i[7] = (int64_t)(uintptr_t)&at;
  if (o.cols) bt_parallel(l, o.rows, row_grain(o.cols), l->ctx->isa->body[BT_FIND_NON_FINITE], &o);
  int32_t *out = (int32_t *)(uintptr_t)o.m[1].p;
  int64_t found = atomic_load(&at);
  out[0] = found < o.rows * o.cols ? found / o.cols : -1;
  out[1] = found < o.rows * o.cols ? found % o.cols : -1;
}

static bt_status rope(bt_lane *l, const bt_op *in, char *err) {
  bt_op o = *in;
  const bt_rope_table *t = bt_rope_get(l->ctx, o.i[0], o.i[1] / 2, o.f[0]);
  if (!t) return bt_fail(err, BT_ENOMEM, "no memory for rope tables of %lld positions", (long long)o.i[0]);
  o.i[7] = (int64_t)(uintptr_t)t->cos;
  o.i[6] = (int64_t)(uintptr_t)t->sin;
  bt_parallel(l, o.rows, row_grain(o.cols), l->ctx->isa->body[BT_ROPE], &o);
  return BT_OK;
}

static bt_status attention(bt_lane *l, const bt_op *in, char *err) {
  bt_op o = *in;
  size_t bytes = l->ctx->isa->attention_bytes(&o);
  for (int i = 0; i < l->workers; i++)
    if (!bt_scratch_get(l, i, bytes))
      return bt_fail(err, BT_ENOMEM, "no memory for %zu bytes of attention tiles per thread", bytes);
  int64_t items = o.rows / o.i[0] * (o.cols / o.i[1]);
  if (o.h.kind == BT_ATTENTION) items *= bt_attention_chunks(o.i[0]);
  bt_parallel(l, items, 1, l->ctx->isa->body[o.h.kind], &o);
  return BT_OK;
}

/* How many leading matrices of an element-wise kind matter; 0: the kind is not element-wise. */
static int elementwise_mats(const bt_op *o) {
  switch (o->h.kind) {
  case BT_AXPBY:
  case BT_SWIGLU: return 3;
  case BT_FILL: return 1;
  case BT_SWIGLU_BWD: return 5;
  default: return 0;
  }
}

bt_status bt_run(bt_lane *l, const bt_op *o, char *err) {
  if (o->rows == 0 && o->h.kind != BT_GEMM && o->h.kind != BT_FIND_NON_FINITE) return BT_OK;
  int mats = elementwise_mats(o);
  if (mats) {
    elementwise(l, o, mats);
    return BT_OK;
  }
  switch (o->h.kind) {
  case BT_GEMM: return bt_gemm(l, o, err);
  case BT_COPY: copy(l, o); return BT_OK;
  case BT_MEMCPY: bt_parallel(l, o->i[0], CARRY, carry_bytes, (void *)o); return BT_OK;
  case BT_NORM_BWD_APPLY: return norm_bwd_apply(l, o, err);
  case BT_SUMSQ: return sumsq(l, o, err);
  case BT_CLIP_SCALE: clip_scale(o); return BT_OK;
  case BT_ADAMW: adamw(l, o); return BT_OK;
  case BT_XENT_LOSS: xent_loss(l, o); return BT_OK;
  case BT_CROSS_BWD: return cross_bwd(l, o, err);
  case BT_SCATTER: scatter(l, o); return BT_OK;
  case BT_PICK:
  case BT_ADAM: bt_parallel(l, o->cols, PIECE, l->ctx->isa->body[o->h.kind], (void *)o); return BT_OK;
  case BT_FIND_NON_FINITE: find_non_finite(l, o); return BT_OK;
  case BT_ROPE: return rope(l, o, err);
  case BT_ATTENTION:
  case BT_ATTENTION_BWD: return attention(l, o, err);
  case BT_EMBED_BWD:
    bt_parallel(l, o->cols, o->cols / l->workers / 16 * 16 + 16, l->ctx->isa->body[BT_EMBED_BWD], (void *)o);
    return BT_OK;
  }
  bt_body body = l->ctx->isa->body[o->h.kind];
  if (!body) return bt_fail(err, BT_EUNSUPPORTED, "operation %u is unknown here", o->h.kind);
  bt_parallel(l, o->rows, row_grain(o->cols), body, (void *)o);
  return BT_OK;
}

const bt_rope_table *bt_rope_get(bt_ctx *c, int64_t seq, int64_t half, double theta) {
  pthread_mutex_lock(&c->lock);
  bt_rope_table *t = c->ropes;
  while (t && !(t->seq == seq && t->half == half && t->theta == theta)) t = t->next;
  if (!t && (t = malloc(sizeof *t))) {
    *t = (bt_rope_table){c->ropes, seq, half, theta, malloc(2 * seq * half * sizeof(float)), NULL};
    t->sin = t->cos + seq * half;
    if (!t->cos) {
      free(t);
      t = NULL;
    } else {
      for (int64_t p = 0; p < seq; p++)
        for (int64_t i = 0; i < half; i++) {
          double angle = p * pow(theta, -(double)i / half);
          t->cos[p * half + i] = cos(angle);
          t->sin[p * half + i] = sin(angle);
        }
      c->ropes = t;
    }
  }
  pthread_mutex_unlock(&c->lock);
  return t;
}
