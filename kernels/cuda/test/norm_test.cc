// norm_test.cc - the halves of the norm, forward and backward.
#include "op_test.h"

// Bounds count roundings of fp32 (op_test.h). A sum over a row is made by 32 or 256 threads: a chain of at most cols/(32 V) packets of V
// additions in each, then five levels over a warp and eight warps. Errors of a chain of n additions grow like sqrt(n): of the longest
// one here, of 128 terms, 6.4 units were measured, so 16 hold for any order of the operands. What is made element by element is three
// to five roundings.
enum { SUM = 16, ELEMENT = 6 };

static void stats(const shape &s, int type) {
  op_test t("norm_stats", btk_norm_stats, BT_NORM_STATS, s, type);
  vec &x = t.input(0, 3), want(s.rows);
  t.stat_output(1);
  if (!t.run()) return;
  for (size_t i = 0; i < x.size(); i++) want[i / s.cols] += x[i] * x[i];
  t.check(1, want, want, SUM);
}
static void rstd(const shape &s, int in_place) {
  op_test t("norm_rstd", btk_norm_rstd, BT_NORM_RSTD, s, BT_F32);
  vec x = t.stat_input(0, 0, 4.0 * s.cols), want(s.rows);
  t.o.cols = 1, t.o.i[0] = 3 * s.cols, t.o.f[0] = 1e-5f;
  in_place ? t.alias(1, 0) : t.stat_output(1);
  if (!t.run()) return;
  for (int r = 0; r < s.rows; r++) want[r] = 1 / std::sqrt(x[r] / t.o.i[0] + t.o.f[0]);
  t.check(1, want, want, 1);
}
static void apply(const shape &s, int type, bool with) {
  op_test t("norm_apply", btk_norm_apply, BT_NORM_APPLY, s, type);
  vec &x = t.input(0, 3), &w = t.row_input(1, 2), none(s.rows, 1), want(x.size());
  vec &q = with ? t.stat_input(2, 0.1, 2) : none;
  t.output(3);
  if (!t.run()) return;
  for (size_t i = 0; i < x.size(); i++) want[i] = x[i] * w[i % s.cols] * q[i / s.cols];
  t.check(3, want, want, ELEMENT);
}
static void bwd_stats(const shape &s, int type) {
  op_test t("norm_bwd_stats", btk_norm_bwd_stats, BT_NORM_BWD_STATS, s, type);
  vec &x = t.input(0, 3), &w = t.row_input(1, 2), &q = t.stat_input(2, 0.1, 2), &dy = t.input(3, 1), want(s.rows), mag(s.rows);
  t.stat_output(4);
  if (!t.run()) return;
  for (size_t i = 0; i < x.size(); i++) {
    double v = x[i] * w[i % s.cols] * dy[i] * q[i / s.cols];
    want[i / s.cols] += v, mag[i / s.cols] += std::fabs(v);
  }
  t.check(4, want, mag, SUM);
}
static void bwd_apply(const shape &s, int type, int base_is) { // 0 absent, 1 there, 2 DX
  op_test t("norm_bwd_apply", btk_norm_bwd_apply, BT_NORM_BWD_APPLY, s, type);
  vec &x = t.input(0, 3), &w = t.row_input(1, 2), &q = t.stat_input(2, 0.1, 2), &dy = t.input(3, 1), &dot = t.stat_input(4, -5, 5);
  vec base(x.size()), want(x.size()), mag(x.size());
  if (base_is) base = t.input(5, 1);
  base_is == 2 ? t.alias(6, 5) : t.output(6);
  vec dw = t.input(7, 1, s.cols, BT_F32, 10), dw_mag(s.cols);
  t.o.i[0] = 2 * s.cols + 1;
  if (!t.run()) return;
  for (int c = 0; c < s.cols; c++) dw_mag[c] = std::fabs(dw[c]);
  for (size_t i = 0; i < x.size(); i++) {
    size_t r = i / s.cols, c = i % s.cols;
    double hat = x[i] * q[r], a = q[r] * dy[i] * w[c], b = hat * q[r] * dot[r] / t.o.i[0];
    want[i] = base[i] + a - b;
    mag[i] = std::fabs(base[i]) + std::fabs(a) + std::fabs(b);
    dw[c] += dy[i] * hat;
    dw_mag[c] += std::fabs(dy[i] * hat);
  }
  t.check(6, want, mag, ELEMENT + 2);
  t.check(7, dw, dw_mag, SUM, "dw");
}

void test_norm() {
  each_shape(stats);
  each_shape([](const shape &s, int type) { rstd(s, type == BT_BF16); });
  each_shape([](const shape &s, int type) { apply(s, type, true), apply(s, type, false); });
  each_shape(bwd_stats);
  each_shape([](const shape &s, int type) { bwd_apply(s, type, s.rows % 3); });
  bwd_apply({70, 256, 8, 0}, BT_BF16, 0), bwd_apply({70, 256, 8, 0}, BT_F32, 2);
}
