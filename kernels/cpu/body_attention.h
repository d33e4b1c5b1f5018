/* body_attention.h - causal attention by tiles (flash): scores live in a tile of QT queries x KT keys, never as s x s.
 *
 * Every product runs on one small kernel, C[MR x NR] (+)= A B, whose B is packed in panels of NR columns and whose A is read in
 * place with any two strides, so that a transposed A costs nothing. Everything is padded to whole panels with zeros: no edges.
 * One item of work is one head of one sequence; forward also splits the queries. */

#if defined(BT_ISA_AVX512)
enum { MR = 8, NV = 2 };
#elif defined(BT_ISA_AVX2)
enum { MR = 6, NV = 2 };
#elif defined(__aarch64__)
enum { MR = 8, NV = 2 };
#else
enum { MR = 4, NV = 2 };
#endif
enum { NR = NV * VW, QT = 48, KT = 96 };
_Static_assert(QT % MR == 0 && KT % MR == 0 && KT % NR == 0 && BT_ATTENTION_CHUNK % QT == 0, "tiles are cut into whole panels");

static inline int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Over the registers of a tile of C. */
#define UNROLLED _Pragma("GCC unroll 16") for (int i = 0; i < MR; i++) _Pragma("GCC unroll 4") for (int j = 0; j < NV; j++)

/* C[MR x NR] = (add ? C : 0) + sum over p < k of A[i*ra + p*ca] * B[p*NR + j] */
static inline __attribute__((always_inline)) void micro(int64_t k, const float *a, int64_t ra, int64_t ca, const float *b, float *c,
                                                        int64_t ldc, bool add) {
  vf acc[MR][NV];
  UNROLLED acc[i][j] = (vf){0};
  for (int64_t p = 0; p < k; p++, a += ca, b += NR) {
    vf bv[NV];
    _Pragma("GCC unroll 4") for (int j = 0; j < NV; j++) bv[j] = *(const vf *)(b + j * VW);
    UNROLLED acc[i][j] += a[i * ra] * bv[j];
  }
  UNROLLED {
    vf *q = (vf *)(c + i * ldc + j * VW);
    if (add) acc[i][j] += *q;
    *q = acc[i][j];
  }
}

/* C[m x n] (+)= A B; m a multiple of MR, n of NR; B's panels are stride apart. */
static __attribute__((noinline)) void tile(int64_t m, int64_t n, int64_t k, const float *a, int64_t ra, int64_t ca, const float *b,
                                           int64_t stride, float *c, int64_t ldc, bool add) {
  for (int64_t j = 0; j < n; j += NR)
    for (int64_t i = 0; i < m; i += MR) micro(k, a + i * ra, ra, ca, b + j / NR * stride, c + i * ldc + j, ldc, add);
}

/* rows x cols of x into panels of NR columns: out[panel][row][NR], rows up to padded are zero. */
static void pack(float *out, const float *x, int64_t ld, int64_t rows, int64_t cols, int64_t padded) {
  for (int64_t c = 0; c < cols; c += NR, out += padded * NR) {
    int64_t n = cols - c < NR ? cols - c : NR;
    for (int64_t r = 0; r < rows; r++) {
      memcpy(out + r * NR, x + r * ld + c, n * sizeof *x);
      for (int64_t j = n; j < NR; j++) out[r * NR + j] = 0;
    }
    memset(out + rows * NR, 0, (padded - rows) * NR * sizeof *out);
  }
}

/* The transpose of x in panels of NR of its rows: out[panel][col][NR]. */
static void pack_rows(float *out, const float *x, int64_t ld, int64_t rows, int64_t cols, int64_t padded) {
  for (int64_t r = 0; r < padded; r += NR, out += cols * NR)
    for (int64_t j = 0; j < NR; j++) {
      const float *row = x + (r + j) * ld;
      if (r + j < rows)
        for (int64_t c = 0; c < cols; c++) out[c * NR + j] = row[c];
      else
        for (int64_t c = 0; c < cols; c++) out[c * NR + j] = 0;
    }
}

/* rows x cols times scale, contiguous, padded to padded x width with zeros. */
static void flatten(float *out, const float *x, int64_t ld, int64_t rows, int64_t cols, int64_t padded, int64_t width,
                    float scale) {
  for (int64_t r = 0; r < padded; r++, out += width)
    for (int64_t c = 0; c < width; c++) out[c] = r < rows && c < cols ? scale * x[r * ld + c] : 0;
}

static size_t attention_bytes(const bt_op *o) {
  int64_t s = up(o->i[0], KT) + KT, d = up(o->i[1], NR);
  int64_t arrays = o->h.kind == BT_ATTENTION ? 2 : 10;
  return (arrays * s * d + 2 * QT * d + 2 * QT * KT + 4 * QT) * sizeof(float);
}

/* One row of a tile of scores: the running maximum and sum, probabilities in place, zeros from valid on.
 * Returns the factor for what was summed before. */
static inline float softmax_row(float *x, int64_t valid, int64_t padded, float *max, float *sum) {
  vf m = vset(-INFINITY);
  VLOOP(i, w, 0, valid) m = vmax(vload_or(x + i, w, -INFINITY), m);
  float before = *max, now = vmaxes(m);
  now = before > now ? before : now;
  vf total = {0};
  VLOOP(i, w, 0, valid) {
    vf p = vexp(vload_or(x + i, w, -INFINITY) - now);
    total += p;
    vstore(x + i, p, w);
  }
  for (int64_t i = valid; i < padded; i++) x[i] = 0;
  float factor = before == now ? 1 : expf(before - now);
  *sum = *sum * factor + vsum(total);
  *max = now;
  return factor;
}

/* Queries [q0, q0+QT) of one head against all keys before them. */
static void forward_tile(const bt_op *o, int64_t row, int64_t head, int64_t q0, const float *kt, const float *v, int64_t sp,
                         float *work) {
  int64_t s = o->i[0], hd = o->i[1], d = up(hd, NR), rows = s - q0 < QT ? s - q0 : QT;
  float *q = work, *out = q + QT * d, *score = out + QT * d, *max = score + QT * KT, *sum = max + QT;
  flatten(q, ROW(0, row + q0) + head * hd, o->m[0].ld, rows, hd, QT, d, o->f[0]);
  memset(out, 0, QT * d * sizeof *out);
  for (int i = 0; i < QT; i++) {
    max[i] = -INFINITY;
    sum[i] = 0;
  }
  for (int64_t k0 = 0; k0 < q0 + rows; k0 += KT) {
    int64_t keys = up(q0 + rows - k0, NR);
    if (keys > KT) keys = KT;
    tile(QT, keys, hd, q, d, 1, kt + k0 * hd, hd * NR, score, KT, false);
    for (int64_t i = 0; i < rows; i++) {
      int64_t valid = q0 + i - k0 + 1;
      if (valid <= 0) {
        memset(score + i * KT, 0, keys * sizeof *score);
        continue;
      }
      float f = softmax_row(score + i * KT, valid < keys ? valid : keys, keys, &max[i], &sum[i]);
      if (f != 1)
        VLOOP(c, w, 0, d) vstore(out + i * d + c, f * vload(out + i * d + c, w), w);
    }
    tile(QT, d, keys, score, KT, 1, v + k0 * NR, sp * NR, out, d, true);
  }
  for (int64_t i = 0; i < rows; i++) {
    float *to = ROW(3, row + q0 + i) + head * hd, inv = 1 / sum[i];
    VLOOP(c, w, 0, hd) vstore(to + c, inv * vload(out + i * d + c, w), w);
    ROW(4, row + q0 + i)[head] = max[i] + logf(sum[i]);
  }
}

BODY(attention) {
  OP;
  int64_t s = o->i[0], hd = o->i[1], heads = o->cols / hd, chunks = bt_attention_chunks(s), d = up(hd, NR);
  float *work = bt_scratch_get(w_.lane, w_.index, attention_bytes(o));
  for (int64_t item = lo; item < hi; item++) {
    /* the long chunks first, so that threads end together */
    int64_t chunk = chunks - 1 - item % chunks, head = item / chunks % heads, row = item / chunks / heads * s;
    int64_t first = chunk * BT_ATTENTION_CHUNK, last = first + BT_ATTENTION_CHUNK < s ? first + BT_ATTENTION_CHUNK : s,
            sp = up(last, KT);
    float *kt = work, *v = kt + sp * hd;
    pack_rows(kt, ROW(1, row) + head * hd, o->m[1].ld, last, hd, sp);
    pack(v, ROW(2, row) + head * hd, o->m[2].ld, last, hd, sp);
    for (int64_t q0 = first; q0 < last; q0 += QT) forward_tile(o, row, head, q0, kt, v, sp, v + sp * d);
  }
}

/* What the backward of one head works on; sp rows each. */
typedef struct {
  float *q, *k, *d_o, *kt, *vt, *qf, *dof, *dq, *dk, *dv, *p, *ds;
  int64_t sp, d, row, head;
} bwd;

/* dS = P * (dP - D) in place of dP, P = exp(S - LSE) in place of S; zero where the key is later than the query. */
static void backward_scores(const bt_op *o, const bwd *b, int64_t q0, int64_t rows, int64_t k0, int64_t keys) {
  float scale = o->f[0];
  for (int64_t i = 0; i < QT; i++) {
    float *p = b->p + i * KT, *ds = b->ds + i * KT;
    int64_t valid = i < rows ? q0 + i - k0 + 1 : 0;
    if (valid > keys) valid = keys;
    if (valid < 0) valid = 0;
    if (valid) {
      float lse = ROW(4, b->row + q0 + i)[b->head], dot = ROW(9, b->row + q0 + i)[b->head];
      VLOOP(c, w, 0, valid) {
        vf e = vexp(vload(p + c, w) - lse);
        vstore(p + c, e, w);
        vstore(ds + c, scale * e * (vload(ds + c, w) - dot), w);
      }
    }
    for (int64_t c = valid; c < keys; c++) p[c] = ds[c] = 0;
  }
}

static void backward_head(const bt_op *o, const bwd *b) {
  int64_t s = o->i[0], hd = o->i[1], sp = b->sp, d = b->d;
  for (int64_t k0 = 0; k0 < s; k0 += KT)
    for (int64_t q0 = k0 / QT * QT; q0 < s; q0 += QT) {
      int64_t rows = s - q0 < QT ? s - q0 : QT, keys = up(q0 + rows - k0, NR);
      if (keys > KT) keys = KT;
      tile(QT, keys, hd, b->qf + q0 * d, d, 1, b->kt + k0 * hd, hd * NR, b->p, KT, false);
      tile(QT, keys, hd, b->dof + q0 * d, d, 1, b->vt + k0 * hd, hd * NR, b->ds, KT, false);
      backward_scores(o, b, q0, rows, k0, keys);
      int64_t m = up(keys, MR);
      if (m > keys)
        for (int64_t i = 0; i < QT; i++)
          for (int64_t c = keys; c < m; c++) b->p[i * KT + c] = b->ds[i * KT + c] = 0;
      tile(m, d, QT, b->p, 1, KT, b->d_o + q0 * NR, sp * NR, b->dv + k0 * d, d, true);
      tile(m, d, QT, b->ds, 1, KT, b->q + q0 * NR, sp * NR, b->dk + k0 * d, d, true);
      tile(QT, d, keys, b->ds, KT, 1, b->k + k0 * NR, sp * NR, b->dq + q0 * d, d, true);
    }
}

static void unflatten(float *x, int64_t ld, const float *from, int64_t d, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; r++) memcpy(x + r * ld, from + r * d, cols * sizeof *x);
}

BODY(attention_bwd) {
  OP;
  int64_t s = o->i[0], hd = o->i[1], heads = o->cols / hd, sp = up(s, KT), d = up(hd, NR), n = sp * d;
  float *work = bt_scratch_get(w_.lane, w_.index, attention_bytes(o));
  for (int64_t item = lo; item < hi; item++) {
    int64_t head = item % heads, row = item / heads * s;
    bwd b = {.sp = sp, .d = d, .row = row, .head = head};
    float **part[] = {&b.q, &b.k, &b.d_o, &b.kt, &b.vt, &b.qf, &b.dof, &b.dq, &b.dk, &b.dv}, *next = work;
    for (int i = 0; i < 10; i++, next += n) *part[i] = next;
    b.p = next;
    b.ds = b.p + QT * KT;
    const float *q = ROW(0, row) + head * hd, *k = ROW(1, row) + head * hd, *v = ROW(2, row) + head * hd,
                *d_o = ROW(5, row) + head * hd;
    pack(b.q, q, o->m[0].ld, s, hd, sp);
    pack(b.k, k, o->m[1].ld, s, hd, sp);
    pack(b.d_o, d_o, o->m[5].ld, s, hd, sp);
    pack_rows(b.kt, k, o->m[1].ld, s, hd, sp);
    pack_rows(b.vt, v, o->m[2].ld, s, hd, sp);
    flatten(b.qf, q, o->m[0].ld, s, hd, sp, d, o->f[0]);
    flatten(b.dof, d_o, o->m[5].ld, s, hd, sp, d, 1);
    for (int64_t r = 0; r < s; r++) {
      const float *x = ROW(3, row + r) + head * hd, *y = d_o + r * o->m[5].ld;
      vf t = {0};
      VLOOP(c, w, 0, hd) t += vload(x + c, w) * vload(y + c, w);
      ROW(9, row + r)[head] = vsum(t);
    }
    memset(b.dq, 0, 3 * n * sizeof(float));
    backward_head(o, &b);
    unflatten(ROW(6, row) + head * hd, o->m[6].ld, b.dq, d, s, hd);
    unflatten(ROW(7, row) + head * hd, o->m[7].ld, b.dk, d, s, hd);
    unflatten(ROW(8, row) + head * hd, o->m[8].ld, b.dv, d, s, hd);
  }
}
