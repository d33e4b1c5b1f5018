/* body_variant.h - operations that only some variants need: crossings of latents, sparse matrices, LORO's optimizer. */

BODY(cross) {
  OP;
  const float *gate = MAT(2);
  for (int64_t r = lo; r < hi; r++) {
    const float *u = ROW(0, r), *prev = ROW(1, r);
    float *h = ROW(3, r);
    VLOOP(i, w, 0, o->cols) {
      vf v = vload(u + i, w), p = vload(prev + i, w);
      if (o->i[0]) {
        v = vsilu(v);
        p = vsilu(p);
      }
      if (gate) p *= vload(gate + i, w);
      vstore(h + i, v + p, w);
    }
  }
}

/* Items are blocks of BT_NORM_BLOCK rows; with a gate each leaves its sum of the gate's gradient in a row of the floats at i[7]. */
BODY(cross_bwd) {
  OP;
  const float *gate = MAT(3);
  for (int64_t block = lo; block < hi; block++) {
    float *part = gate ? (float *)(uintptr_t)o->i[7] + block * o->cols : NULL;
    int64_t first = block * BT_NORM_BLOCK, last = first + BT_NORM_BLOCK < o->rows ? first + BT_NORM_BLOCK : o->rows;
    if (part) memset(part, 0, o->cols * sizeof *part);
    for (int64_t r = first; r < last; r++) {
      float *dh = ROW(0, r), *carry = ROW(1, r);
      const float *prev = gate ? ROW(2, r) : NULL;
      VLOOP(i, w, 0, o->cols) {
        vf g = vload(dh + i, w), out = g;
        if (!o->i[1]) vstore(dh + i, g + vload(carry + i, w), w);
        if (gate) {
          vf p = vload(prev + i, w);
          if (o->i[0]) p = vsilu(p);
          vstore(part + i, vload(part + i, w) + g * p, w);
          out *= vload(gate + i, w);
        }
        vstore(carry + i, out, w);
      }
    }
  }
}

BODY(scatter) {
  OP;
  const float *values = MAT(0);
  const int32_t *index = (const int32_t *)MAT(1);
  float *out = MAT(2);
  for (int64_t i = lo; i < hi; i++)
    if (index[i] >= 0 && index[i] < o->i[0]) out[index[i]] = values[i];
}

BODY(pick) {
  OP;
  const float *x = MAT(0);
  const int32_t *index = (const int32_t *)MAT(1);
  float *out = MAT(2), beta = o->f[0];
  for (int64_t i = lo; i < hi; i++) {
    bool in = index[i] >= 0 && index[i] < o->i[0];
    out[i] = !in ? 0 : beta == 0 ? x[index[i]] : x[index[i]] + beta * out[i];
  }
}

/* SplitMix64: number i of a key is the finaliser of key + (i+1)*increment. */
static inline uint64_t splitmix(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

BODY(draw) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    float *x = ROW(0, r);
    uint64_t at = (uint64_t)o->i[0] + ((uint64_t)(o->i[1] + r) * o->i[3] + o->i[2] + 1) * 0x9E3779B97F4A7C15u;
    for (int64_t c = 0; c < o->cols; c++, at += 0x9E3779B97F4A7C15u)
      x[c] = o->f[0] * (2 * (((double)(splitmix(at) >> 11) + 0.5) * 0x1p-53) - 1);
  }
}

/* f: rate decay beta1 beta2 eps */
BODY(adam) {
  OP;
  float *p = MAT(0), *m = MAT(1), *v = MAT(2), *out = MAT(5);
  const float *grad = MAT(3);
  float scale = *MAT(4), rate = o->f[0], keep = 1 - o->f[1], b1 = o->f[2], b2 = o->f[3], eps = o->f[4];
  float a1 = 1 - o->f[2], a2 = 1 - o->f[3];
  bool sound = isfinite(scale);
  if (!sound && !out) return;
  VLOOP(i, w, lo, hi) {
    if (!sound) {
      vstore(out + i, vset(0), w);
      continue;
    }
    vf g = scale * vload(grad + i, w);
    vf mean = b1 * vload(m + i, w) + a1 * g, square = b2 * vload(v + i, w) + a2 * (g * g);
    vstore(m + i, mean, w);
    vstore(v + i, square, w);
    vf d = mean / (vsqrt(square) + eps);
    if (out) vstore(out + i, d, w);
    else vstore(p + i, keep * (vload(p + i, w) - rate * d), w);
  }
}
