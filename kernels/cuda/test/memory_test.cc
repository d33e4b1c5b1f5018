// memory_test.cc - sums of matrices, copies, fills, conversions, sparse matrices, random numbers, the search; and order of streams.
#include "op_test.h"
#include <algorithm>

static void axpby(const shape &s, int type, bool with_y, int place) { // 0 apart, 1 Out is X, 2 Out is Y
  op_test t("axpby", btk_axpby, BT_AXPBY, s, type);
  vec x = t.input(0, 3), y(x.size()), want(x.size()), mag(x.size());
  if (with_y) y = t.input(1, 3);
  place == 0 || (place == 2 && !with_y) ? t.output(2) : t.alias(2, place - 1);
  t.o.f[0] = 0.7f, t.o.f[1] = -1.3f;
  if (!t.run()) return;
  for (size_t i = 0; i < x.size(); i++) {
    double a = t.o.f[0] * x[i], b = t.o.f[1] * y[i];
    want[i] = a + b, mag[i] = std::fabs(a) + std::fabs(b);
  }
  t.check(2, want, mag, 2);
}
static void copy(const shape &s, int type) {
  op_test t("copy", btk_copy, BT_COPY, s, type);
  vec x = t.input(0, 3);
  t.output(1);
  t.o.i[0] = type == BT_BF16 ? 2 : 4;
  if (t.run()) t.check(1, x, x, 0);
}
// One byte to an element: rows of four times as many.
static void copy_bytes(const shape &s) {
  op_test t("copy", btk_copy, BT_COPY, s, BT_F32);
  vec x = t.input(0, 3);
  t.output(1);
  t.o.i[0] = 1, t.o.cols *= 4, t.o.m[0].ld *= 4, t.o.m[1].ld *= 4;
  if (t.run()) t.check(1, x, x, 0);
}
static void fill(const shape &s, int type) {
  op_test t("fill", btk_fill, BT_FILL, s, type);
  t.output(0);
  t.o.f[0] = -2.7182817f;
  vec want((size_t)s.rows * s.cols, t.o.f[0]);
  if (t.run()) t.check(0, want, want, 0);
}
static void convert(const shape &s, int from, int to) {
  op_test t("convert", btk_convert, BT_CONVERT, s, from);
  vec x = t.input(0, 3);
  t.output(1, s.rows, s.cols, to);
  if (t.run()) t.check(1, x, x, 0);
}
static std::vector<int> places(int n, int of) { // distinct, some of them negative
  std::vector<int> all(of);
  for (int i = 0; i < of; i++) all[i] = i;
  uniform next(of);
  for (int i = of; i > 1; i--) std::swap(all[i - 1], all[(size_t)(std::fabs(next()) * i) % i]);
  all.resize(n);
  for (int i = 0; i < n; i += 5) all[i] = -1;
  return all;
}
static void scatter(int n, int rows, int cols, int type) {
  op_test t("scatter", btk_scatter, BT_SCATTER, {1, n, 0, 0}, type);
  vec v = t.input(0, 3), want((size_t)rows * cols);
  std::vector<int> at = places(n, rows * cols);
  t.ids(1, 1, at);
  t.output(2, rows, cols, type);
  t.o.i[0] = (int64_t)rows * cols;
  if (!t.run()) return;
  for (int i = 0; i < n; i++)
    if (at[i] >= 0) want[at[i]] = v[i];
  t.check(2, want, want, 0);
}
static void pick(int n, int rows, int cols, int from, int to, double beta) {
  op_test t("pick", btk_pick, BT_PICK, {1, n, 0, 0}, to);
  vec x = t.input(0, rows, cols, from, 3), want(n), mag(n), old(n);
  std::vector<int> at = places(n, rows * cols);
  t.ids(1, 1, at);
  beta ? void(old = t.input(2, 1, n, to, 3)) : t.output(2, 1, n, to);
  t.o.i[0] = (int64_t)rows * cols, t.o.f[0] = (float)beta;
  if (!t.run()) return;
  for (int i = 0; i < n; i++)
    if (at[i] >= 0) want[i] = x[at[i]] + t.o.f[0] * old[i], mag[i] = std::fabs(x[at[i]]) + std::fabs(beta * old[i]);
  t.check(2, want, mag, 2);
}
static uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}
static void draw(const shape &s, int type) {
  op_test t("draw", btk_draw, BT_DRAW, s, type);
  t.output(0);
  const uint64_t key = 0x123456789abcdef0ull, row = 5, col = 3, width = 3 + s.cols + 9;
  t.o.i[0] = (int64_t)key, t.o.i[1] = row, t.o.i[2] = col, t.o.i[3] = width, t.o.f[0] = 0.25f;
  vec want((size_t)s.rows * s.cols);
  for (size_t i = 0; i < want.size(); i++) {
    uint64_t n = (row + i / s.cols) * width + col + i % s.cols;
    want[i] = 0.25 * (2 * (((double)(mix(key + (n + 1) * 0x9E3779B97F4A7C15ull) >> 11) + 0.5) * 0x1p-53) - 1);
  }
  if (t.run()) t.check(0, want, want, 0);
}
static void find(const shape &s, int type, const std::vector<std::pair<size_t, double>> &bad) {
  op_test t("find_non_finite", btk_find_non_finite, BT_FIND_NON_FINITE, s, type);
  vec x((size_t)s.rows * s.cols, 1.5);
  size_t first = x.size();
  for (auto &b : bad) x[b.first % x.size()] = b.second, first = std::min(first, b.first % x.size());
  t.set(0, s.rows, s.cols, type, x);
  t.output(1, 1, 2, BT_F32);
  if (!t.run()) return;
  vec got = t.get(1);
  int at[2];
  for (int k = 0; k < 2; k++) {
    float f = (float)got[k]; // small integers are denormal numbers, -1 is a NaN
    memcpy(&at[k], &f, 4);
  }
  int want[2] = {first < x.size() ? (int)first / s.cols : -1, first < x.size() ? (int)first % s.cols : -1};
  if (at[0] != want[0] || at[1] != want[1]) t.fail("found at " + std::to_string(at[0]) + ", " + std::to_string(at[1]));
}

void test_memory() {
  int turn = 0;
  each_shape([&](const shape &s, int type) {
    turn++;
    axpby(s, type, true, turn % 3), axpby(s, type, false, turn % 2);
    copy(s, type), fill(s, type), draw(s, type);
    convert(s, type, BT_F32), convert(s, type, BT_BF16);
    if (type == BT_F32) copy_bytes(s);
    size_t n = (size_t)s.rows * s.cols;
    find(s, type, {}), find(s, type, {{n - 1, INFINITY}}), find(s, type, {{n / 2, NAN}, {n / 3, -INFINITY}, {n - 1, NAN}});
  });
  for (int type : {BT_F32, BT_BF16}) {
    scatter(1, 1, 1, type), scatter(37, 10, 33, type), scatter(700, 64, 64, type);
    for (int from : {BT_F32, BT_BF16})
      pick(1, 1, 1, from, type, 0), pick(300, 33, 40, from, type, 0), pick(301, 64, 24, from, type, 0.5);
  }
}

// A consumer on one stream of what another produces. Without the wait lazy streams give it what was there before.
void test_streams() {
  cudaStream_t a, b;
  cudaEvent_t made;
  must(cudaStreamCreate(&a), "cudaStreamCreate");
  must(cudaStreamCreate(&b), "cudaStreamCreate");
  must(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreate");
  const int n = 1000;
  int wrong = 0;
  for (int round = 0; round < 16; round++) {
    device_matrix x(1, n, 0, BT_F32), y(1, n, 0, BT_F32);
    bt_op o = {};
    o.rows = 1, o.cols = n, o.m[0] = x.mat(), o.f[0] = 3;
    wrong += btk_fill(test_ctx, a, &o) != BT_OK;
    must(cudaEventRecord(made, a), "cudaEventRecord");
#ifndef BT_FAULT_NO_EVENT
    must(cudaStreamWaitEvent(b, made, 0), "cudaStreamWaitEvent");
#endif
    o.m[2] = y.mat(), o.f[0] = 2, o.f[1] = 0;
    wrong += btk_axpby(test_ctx, b, &o) != BT_OK;
    must(cudaStreamSynchronize(b), "cudaStreamSynchronize");
    bool intact = true;
    vec got = y.get(&intact);
    wrong += std::count(got.begin(), got.end(), 6.0) != n;
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  if (wrong) failures++, printf("FAIL streams: %d of 16 consumers did not wait for what they read\n", wrong);
  cudaEventDestroy(made);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
