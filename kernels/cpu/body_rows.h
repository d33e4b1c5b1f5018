/* body_rows.h - operations whose rows are independent: element-wise arithmetic, norms, latents, SwiGLU, rope. */

BODY(axpby) {
  OP;
  float a = o->f[0], b = o->f[1];
  for (int64_t r = lo; r < hi; r++) {
    const float *x = ROW(0, r), *y = HAS(1) ? ROW(1, r) : NULL;
    float *out = ROW(2, r);
    if (y)
      VLOOP(i, w, 0, o->cols) vstore(out + i, a * vload(x + i, w) + b * vload(y + i, w), w);
    else
      VLOOP(i, w, 0, o->cols) vstore(out + i, a * vload(x + i, w), w);
  }
}

BODY(fill) {
  OP;
  vf v = vset(o->f[0]);
  for (int64_t r = lo; r < hi; r++) {
    float *x = ROW(0, r);
    VLOOP(i, w, 0, o->cols) vstore(x + i, v, w);
  }
}

static inline float sum_squares(const float *x, int64_t n) {
  vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  int64_t i = 0;
  for (; i + 4 * VW <= n; i += 4 * VW) {
    vf a = vload(x + i, VW), b = vload(x + i + VW, VW), c = vload(x + i + 2 * VW, VW), d = vload(x + i + 3 * VW, VW);
    s0 += a * a;
    s1 += b * b;
    s2 += c * c;
    s3 += d * d;
  }
  VLOOP(j, w, i, n) {
    vf a = vload(x + j, w);
    s0 += a * a;
  }
  return vsum((s0 + s1) + (s2 + s3));
}

BODY(norm_stats) {
  OP;
  for (int64_t r = lo; r < hi; r++) *ROW(1, r) = sum_squares(ROW(0, r), o->cols);
}

BODY(norm_rstd) {
  OP;
  double width = o->i[0], eps = o->f[0];
  for (int64_t r = lo; r < hi; r++) *ROW(1, r) = 1.0 / sqrt(*ROW(0, r) / width + eps);
}

BODY(norm_apply) {
  OP;
  const float *weight = MAT(1);
  for (int64_t r = lo; r < hi; r++) {
    const float *x = ROW(0, r);
    float *y = ROW(3, r);
    float q = HAS(2) ? *ROW(2, r) : 1;
    VLOOP(i, w, 0, o->cols) vstore(y + i, q * vload(x + i, w) * vload(weight + i, w), w);
  }
}

BODY(norm_bwd_stats) {
  OP;
  const float *weight = MAT(1);
  for (int64_t r = lo; r < hi; r++) {
    const float *x = ROW(0, r), *dy = ROW(3, r);
    vf s = {0};
    VLOOP(i, w, 0, o->cols) s += vload(dy + i, w) * vload(weight + i, w) * vload(x + i, w);
    *ROW(4, r) = vsum(s) * *ROW(2, r);
  }
}

/* Items are blocks of BT_NORM_BLOCK rows; each leaves its sum of the weight's gradient in a row of the floats at i[7]. */
BODY(norm_bwd_apply) {
  OP;
  const float *weight = MAT(1);
  float width = o->i[0];
  for (int64_t block = lo; block < hi; block++) {
    float *part = (float *)(uintptr_t)o->i[7] + block * o->cols;
    int64_t first = block * BT_NORM_BLOCK, last = first + BT_NORM_BLOCK < o->rows ? first + BT_NORM_BLOCK : o->rows;
    memset(part, 0, o->cols * sizeof *part);
    for (int64_t r = first; r < last; r++) {
      const float *x = ROW(0, r), *dy = ROW(3, r), *base = HAS(5) ? ROW(5, r) : NULL;
      float *dx = ROW(6, r);
      float q = *ROW(2, r), c = q * *ROW(4, r) / width;
      VLOOP(i, w, 0, o->cols) {
        vf xhat = q * vload(x + i, w), g = vload(dy + i, w);
        vstore(part + i, vload(part + i, w) + g * xhat, w);
        vf d = q * (g * vload(weight + i, w)) - c * xhat;
        if (base) d += vload(base + i, w);
        vstore(dx + i, d, w);
      }
    }
  }
}

static void column_sums(float *dst, const float *part, int64_t blocks, int64_t cols, int64_t lo, int64_t hi) {
  for (int64_t i = lo; i < hi; i++) {
    double s = 0;
    for (int64_t b = 0; b < blocks; b++) s += part[b * cols + i];
    dst[i] += s;
  }
}

BODY(latent) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    const float *p = ROW(0, r);
    float *u = ROW(2, r), *h = HAS(3) ? ROW(3, r) : NULL;
    float q = HAS(1) ? *ROW(1, r) : 1;
    VLOOP(i, w, 0, o->cols) {
      vf v = q * vload(p + i, w);
      vstore(u + i, v, w);
      if (h) vstore(h + i, vsilu(v), w);
    }
  }
}

BODY(latent_bwd) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    const float *dh = ROW(0, r), *u = ROW(1, r);
    float *du = ROW(2, r);
    vf s = {0};
    VLOOP(i, w, 0, o->cols) {
      vf v = vload(u + i, w), d = vload(dh + i, w);
      if (o->i[0]) d *= vsilu_slope(v);
      s += v * d;
      vstore(du + i, d, w);
    }
    if (HAS(3)) *ROW(3, r) = vsum(s);
  }
}

BODY(swiglu) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    const float *g = ROW(0, r), *u = ROW(1, r);
    float *y = ROW(2, r);
    VLOOP(i, w, 0, o->cols) {
      vf v = vload(g + i, w);
      vstore(y + i, (o->i[0] ? vsilu(v) : v) * vload(u + i, w), w);
    }
  }
}

BODY(swiglu_bwd) {
  OP;
  for (int64_t r = lo; r < hi; r++) {
    const float *g = ROW(0, r), *u = ROW(1, r), *dy = ROW(2, r);
    float *dg = ROW(3, r), *du = ROW(4, r);
    VLOOP(i, w, 0, o->cols) {
      vf vg = vload(g + i, w), vu = vload(u + i, w), d = vload(dy + i, w), act = vg, slope = vset(1);
      if (o->i[0]) {
        vf s = vsigmoid(vg);
        act = vsilu(vg);
        slope = s * (1.0f + vg * (1.0f - s));
      }
      vstore(dg + i, d * vu * slope, w);
      vstore(du + i, d * act, w);
    }
  }
}

/* i[7] holds the table of cosines, i[6] that of sines: seq rows of headDim/2. */
BODY(rope) {
  OP;
  int64_t seq = o->i[0], hd = o->i[1], half = hd / 2;
  float sign = o->i[2] ? -1 : 1;
  for (int64_t r = lo; r < hi; r++) {
    const float *c = (const float *)(uintptr_t)o->i[7] + (r % seq) * half,
                *s = (const float *)(uintptr_t)o->i[6] + (r % seq) * half;
    for (int64_t head = 0; head < o->cols; head += hd) {
      float *a = ROW(0, r) + head, *b = a + half;
      VLOOP(i, w, 0, half) {
        vf x = vload(a + i, w), y = vload(b + i, w), vc = vload(c + i, w), vs = sign * vload(s + i, w);
        vstore(a + i, x * vc - y * vs, w);
        vstore(b + i, y * vc + x * vs, w);
      }
    }
  }
}
