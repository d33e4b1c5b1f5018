/* body_vocab.h - operations over the vocabulary, the optimizer's, and reductions between ranks. */

BODY(embed) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    int64_t id = (int64_t)((const int32_t *)MAT(0))[r * o->m[0].ld] - o->i[0];
    float *out = ROW(2, r);
    if (id >= 0 && id < o->i[1]) memcpy(out, ROW(1, id), o->cols * sizeof *out);
    else memset(out, 0, o->cols * sizeof *out);
  }
}

/* Over columns, so that the rows of one id add up in order. */
BODY(embed_bwd) {
  OP;
  for (int64_t r = 0; r < o->rows; r++) {
    int64_t id = (int64_t)((const int32_t *)MAT(0))[r * o->m[0].ld] - o->i[0];
    if (id < 0 || id >= o->i[1]) continue;
    const float *d = ROW(1, r);
    float *t = ROW(2, id);
    VLOOP(i, w, lo, hi) vstore(t + i, vload(t + i, w) + vload(d + i, w), w);
  }
}

/* The largest element; a NaN anywhere gives NaN. */
static inline float row_max(const float *x, int64_t n) {
  vf m = vset(-INFINITY);
  vi nan = {0};
  VLOOP(i, w, 0, n) {
    vf v = vload_or(x + i, w, -INFINITY);
    m = vmax(v, m);
    nan |= v != v;
  }
  for (int l = 0; l < VW; l++)
    if (nan[l]) return NAN;
  return vmaxes(m);
}

BODY(xent_max) {
  OP;
  for (int64_t r = lo; r < hi; r++) *ROW(1, r) = row_max(ROW(0, r), o->cols);
}

static inline int64_t target_column(const bt_op *o, int64_t r) {
  return (int64_t)((const int32_t *)MAT(1))[r * o->m[1].ld] - o->i[0];
}

static inline float exp_sum(const float *x, int64_t n, float max) {
  vf s0 = {0}, s1 = {0};
  int64_t i = 0;
  for (; i + 2 * VW <= n; i += 2 * VW) {
    s0 += vexp(vload(x + i, VW) - max);
    s1 += vexp(vload(x + i + VW, VW) - max);
  }
  VLOOP(j, w, i, n) s0 += vexp(vload_or(x + j, w, -INFINITY) - max);
  return vsum(s0 + s1);
}

BODY(xent_sum) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    const float *x = ROW(0, r);
    float max = *ROW(2, r);
    double sum = 0; /* of short sums: a vocabulary is long */
    for (int64_t i = 0; i < o->cols; i += 1024) sum += exp_sum(x + i, o->cols - i < 1024 ? o->cols - i : 1024, max);
    *ROW(3, r) = sum;
    int64_t t = target_column(o, r);
    *ROW(4, r) = t >= 0 && t < o->cols ? x[t] - max : 0;
  }
}

BODY(xent_loss) {
  OP;
  float scale = o->f[0];
  for (int64_t r = lo; r < hi; r++) {
    const float *x = ROW(0, r);
    float *d = ROW(6, r);
    float max = *ROW(2, r), q = scale / *ROW(3, r);
    VLOOP(i, w, 0, o->cols) vstore(d + i, q * vexp(vload(x + i, w) - max), w);
    int64_t t = target_column(o, r);
    if (t >= 0 && t < o->cols) d[t] -= scale;
  }
}

/* Items are blocks of BT_FLAT_BLOCK elements; each leaves its sum in the doubles at i[7]. */
BODY(sumsq) {
  OP;
  for (int64_t block = lo; block < hi; block++) {
    int64_t first = block * BT_FLAT_BLOCK, last = first + BT_FLAT_BLOCK < o->cols ? first + BT_FLAT_BLOCK : o->cols;
    const float *x = MAT(0);
    vd s0 = {0}, s1 = {0};
    int64_t i = first;
    for (; i + VW <= last; i += VW) {
      vd a = __builtin_convertvector(*(const vh *)(x + i), vd), b = __builtin_convertvector(*(const vh *)(x + i + VW / 2), vd);
      s0 += a * a;
      s1 += b * b;
    }
    double s = 0;
    for (int l = 0; l < VW / 2; l++) s += s0[l] + s1[l];
    for (; i < last; i++) s += (double)x[i] * x[i];
    ((double *)(uintptr_t)o->i[7])[block] = s;
  }
}

/* f: lr beta1 beta2 eps decay; the bias corrections 1-beta^step come in i[6], i[7] as the bits of floats. */
BODY(adamw) {
  OP;
  float *p = MAT(0), *m = MAT(1), *v = MAT(2);
  const float *grad = MAT(3);
  float scale = *MAT(4), lr = o->f[0], b1 = o->f[1], b2 = o->f[2], eps = o->f[3], c1, c2;
  float a1 = 1 - o->f[1], a2 = 1 - o->f[2], keep = 1 - o->f[0] * o->f[4];
  int32_t bits[2] = {o->i[6], o->i[7]};
  memcpy(&c1, &bits[0], 4);
  memcpy(&c2, &bits[1], 4);
  VLOOP(i, w, lo, hi) {
    vf g = scale * vload(grad + i, w);
    vf mean = b1 * vload(m + i, w) + a1 * g, square = b2 * vload(v + i, w) + a2 * (g * g);
    vstore(m + i, mean, w);
    vstore(v + i, square, w);
    vstore(p + i, keep * vload(p + i, w) - lr * ((mean / c1) / (vsqrt(square / c2) + eps)), w);
  }
}

/* i[7] is the address of an atomic row-major index, at first beyond the last element. */
BODY(find_non_finite) {
  OP;
  _Atomic int64_t *found = (_Atomic int64_t *)(uintptr_t)o->i[7];
  for (int64_t r = lo; r < hi && atomic_load_explicit(found, memory_order_relaxed) > r * o->cols; r++) {
    const float *x = ROW(0, r);
    VLOOP(i, w, 0, o->cols) {
      vf v = vload(x + i, w);
      vi bad = (v - v) != (vf){0};
      int any = 0;
      for (int l = 0; l < VW; l++) any |= bad[l];
      if (!any) continue;
      int64_t at = r * o->cols + i, seen = atomic_load(found);
      for (int l = 0; l < VW && !bad[l]; l++) at++;
      while (at < seen && !atomic_compare_exchange_weak(found, &seen, at)) {}
      break;
    }
  }
}

/* NaN wins a maximum, as in a sum: every rank must see it. */
static inline vf combine2(vf a, vf b, int reduce) {
  if (reduce == BT_MAX) return vblend(a != a, a, vblend(b > a, b, vblend(b != b, b, a)));
  return a + b;
}

static void combine(float *const *x, int n, size_t lo, size_t hi, int reduce) {
  VLOOP(i, w, (int64_t)lo, (int64_t)hi) {
    vf t = vload(x[0] + i, w);
    for (int q = 1; q < n; q++) t = combine2(t, vload(x[q] + i, w), reduce);
    for (int q = 0; q < n; q++) vstore(x[q] + i, t, w);
  }
}

static void combine_into(float *dst, float *const *x, int n, size_t count, int reduce) {
  VLOOP(i, w, 0, (int64_t)count) {
    vf t = vload(x[0] + i, w);
    for (int q = 1; q < n; q++) t = combine2(t, vload(x[q] + i, w), reduce);
    vstore(dst + i, t, w);
  }
}
