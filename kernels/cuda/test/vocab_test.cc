// vocab_test.cc - embedding and cross-entropy.
#include "op_test.h"

enum { SUM = 16 };

// Ids of a vocabulary of which this rank holds [first, first+n), hot ones among them.
static std::vector<int> ids_of(int rows, int first, int n) {
  uniform next(rows + n);
  std::vector<int> x(rows);
  for (int r = 0; r < rows; r++) {
    double u = std::fabs(next());
    x[r] = r % 3 == 0 ? first + n / 2 : first - 2 + (int)(u * (n + 4));
  }
  return x;
}
static void embed(const shape &s, int type, int n) {
  op_test t("embed", btk_embed, BT_EMBED, s, type);
  const int first = 11;
  std::vector<int> id = ids_of(s.rows, first, n);
  t.ids(0, s.rows, id);
  vec table = t.input(1, n, s.cols, type, 2), want((size_t)s.rows * s.cols);
  t.output(2);
  t.o.i[0] = first, t.o.i[1] = n;
  if (!t.run()) return;
  for (size_t i = 0; i < want.size(); i++) {
    int k = id[i / s.cols] - first;
    want[i] = k >= 0 && k < n ? table[(size_t)k * s.cols + i % s.cols] : 0;
  }
  t.check(2, want, want, 0);
}
static void embed_bwd(const shape &s, int type, int n) {
  op_test t("embed_bwd", btk_embed_bwd, BT_EMBED_BWD, s, type);
  const int first = 11;
  std::vector<int> id = ids_of(s.rows, first, n);
  t.ids(0, s.rows, id);
  vec d = t.input(1, 2), want = t.input(2, n, s.cols, BT_F32, 1), exact = want, mag(want.size());
  t.o.i[0] = first, t.o.i[1] = n;
  if (!t.run()) return;
  for (size_t i = 0; i < mag.size(); i++) mag[i] = std::fabs(want[i]);
  // In fp32 and in row order, so that the same bits must come.
  for (size_t i = 0; i < d.size(); i++) {
    int k = id[i / s.cols] - first;
    if (k < 0 || k >= n) continue;
    size_t at = (size_t)k * s.cols + i % s.cols;
    want[at] = (float)((float)want[at] + (float)d[i]);
    exact[at] += d[i], mag[at] += std::fabs(d[i]);
  }
  vec got = t.get(2);
  if (got != want) t.fail("the sums are not those in row order");
  if (s.rows < 1000) t.check(2, exact, mag, SUM); // a chain of thousands of additions is longer than the bound is for
}

static void xent(const shape &s, int type_of_slope, bool in_place) {
  const int first = 7;
  std::vector<int> id = ids_of(s.rows, first, s.cols);
  op_test m("xent_max", btk_xent_max, BT_XENT_MAX, s, BT_F32);
  vec x = m.input(0, 8), most(s.rows, -INFINITY);
  m.stat_output(1);
  if (!m.run()) return;
  for (size_t i = 0; i < x.size(); i++) most[i / s.cols] = std::max(most[i / s.cols], x[i]);
  m.check(1, most, most, 0);

  op_test t("xent_sum", btk_xent_sum, BT_XENT_SUM, s, BT_F32);
  t.set(0, s.rows, s.cols, BT_F32, x);
  t.ids(1, s.rows, id);
  t.set(2, s.rows, 1, BT_F32, most);
  t.stat_output(3), t.stat_output(4);
  t.o.i[0] = first;
  if (!t.run()) return;
  vec sum(s.rows), target(s.rows), target_mag(s.rows);
  for (size_t i = 0; i < x.size(); i++) sum[i / s.cols] += std::exp(x[i] - most[i / s.cols]);
  for (int r = 0; r < s.rows; r++) {
    int k = id[r] - first;
    if (k < 0 || k >= s.cols) continue;
    target[r] = x[(size_t)r * s.cols + k] - most[r];
    target_mag[r] = std::fabs(target[r]);
  }
  // exp of a difference that was rounded: half a unit of it for each unit of its size, 16 at most here.
  t.check(3, sum, sum, 16);
  t.check(4, target, target_mag, 0, "target");

  op_test l("xent_loss", btk_xent_loss, BT_XENT_LOSS, s, type_of_slope);
  l.set(0, s.rows, s.cols, BT_F32, x);
  l.ids(1, s.rows, id);
  vec sums(s.rows), targets(s.rows), want(x.size()), mag(x.size());
  for (int r = 0; r < s.rows; r++) sums[r] = (float)(2 * sum[r]), targets[r] = (float)target[r];
  l.set(2, s.rows, 1, BT_F32, most), l.set(3, s.rows, 1, BT_F32, sums), l.set(4, s.rows, 1, BT_F32, targets);
  l.set(5, 1, 1, BT_F32, {0.5});
  in_place ? l.alias(6, 0) : l.output(6);
  double scale = (float)(1.0 / (3 * s.rows)), loss = 0.5, loss_mag = 0.5;
  l.o.i[0] = first, l.o.f[0] = scale;
  if (!l.run()) return;
  for (int r = 0; r < s.rows; r++) {
    double term = scale * (std::log(sums[r]) - targets[r]);
    loss += term, loss_mag += std::fabs(term);
  }
  for (size_t i = 0; i < x.size(); i++) {
    size_t r = i / s.cols;
    double p = scale * std::exp(x[i] - most[r]) / sums[r], hit = id[r] - first == (int)(i % s.cols) ? scale : 0;
    want[i] = p - hit, mag[i] = p + hit;
  }
  l.check(5, {loss}, {loss_mag}, 2, "loss");
  l.check(6, want, mag, 16 + 6, "slope");
}
static void max_of_nan() {
  op_test t("xent_max", btk_xent_max, BT_XENT_MAX, {3, 100, 0, 0}, BT_F32);
  vec x(300, 1);
  x[50] = NAN, x[299] = INFINITY, x[120] = -INFINITY;
  t.set(0, 3, 100, BT_F32, x);
  t.stat_output(1);
  if (t.run()) t.check(1, {NAN, 1, INFINITY}, {1, 1, 1}, 0);
}

void test_vocab() {
  each_shape([](const shape &s, int type) {
    embed(s, type, s.rows > 1000 ? 5 : 40), embed_bwd(s, type, s.rows > 1000 ? 50 : 9);
    xent(s, type, type == BT_F32 && s.rows % 2);
  });
  max_of_nan();
}
