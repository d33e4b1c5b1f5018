// lib_gemm_test.cc - products against sums in double, over shapes, transpositions, types, leading dimensions and alignments that are
// awkward. An element may be off by some roundings of fp32 of the sum of the absolute values of its terms, and by the one of its type.
#include "lib_test.h"
#include <cmath>

static uint64_t seed = 1;
static double uniform() {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(int64_t)(seed >> 11) / (double)((int64_t)1 << 52) - 1;
}
static size_t size_of(int t) { return t == BT_BF16 ? 2 : 4; }

// A matrix, or a batch of them, at some elements past the start of memory.
struct matrix {
  int rows, cols, ld, type, shift, batch;
  int64_t stride;
  buffer<uint8_t> b;
  std::vector<double> v; // as stored
  matrix(bt_ctx *c, int rows, int cols, int gap, int type, int shift, int batch, bool shared = false)
      : rows(rows), cols(cols), ld(cols + gap), type(type), shift(shift), batch(batch),
        stride(shared ? 0 : (int64_t)rows * ld + 3 * (gap > 0)),
        b(c, size_of(type) * ((size_t)shift + (size_t)(stride ? stride * batch : rows * ld) + 8)) {
    v.resize(b.v.size() / size_of(type));
    for (size_t i = 0; i < v.size(); i++) put(i, uniform());
    b.up();
  }
  void put(size_t i, double x) {
    if (type == BT_BF16) {
      uint16_t h = to_bf16((float)x);
      memcpy(&b.v[2 * i], &h, 2);
      v[i] = from_bf16(h);
    } else {
      float f = (float)x;
      memcpy(&b.v[4 * i], &f, 4);
      v[i] = f;
    }
  }
  double now(size_t i) const {
    uint16_t h;
    float f;
    if (type == BT_BF16) return memcpy(&h, &b.v[2 * i], 2), from_bf16(h);
    return memcpy(&f, &b.v[4 * i], 4), f;
  }
  size_t at(int z, int r, int c) const { return (size_t)(shift + z * stride + (int64_t)r * ld + c); }
  bt_mat mat() const { return {b.p + (bt_ptr)shift * size_of(type), ld}; }
};

struct product {
  int m, n, k, batch;
  bool ta, tb;
  int type_ab, type_d;
  double alpha, beta;
  bool own_c;
  int gap, shift;
  bool shared_a;
};

static void run(bt_ctx *c, const product &p) {
  matrix a(c, p.ta ? p.k : p.m, p.ta ? p.m : p.k, p.gap, p.type_ab, p.shift, p.batch, p.shared_a);
  matrix b(c, p.tb ? p.n : p.k, p.tb ? p.k : p.n, p.gap, p.type_ab, p.shift, p.batch);
  matrix cc(c, p.m, p.n, p.gap + 1, p.type_d, p.shift, p.batch), d(c, p.m, p.n, p.gap, p.type_d, p.shift, p.batch);
  if (p.beta == 0) // what is there must not matter
    for (int r = 0; r < p.m; r++) d.put(d.at(0, r, 0), NAN);
  d.b.up();
  bt_op o = {};
  o.h = {sizeof o, BT_GEMM};
  o.rows = p.m, o.cols = p.n;
  const int64_t i[8] = {p.k, p.batch, p.ta, p.tb, a.stride, b.stride, cc.stride, d.stride};
  memcpy(o.i, i, sizeof i);
  o.f[0] = p.alpha, o.f[1] = p.beta;
  o.m[0] = a.mat(), o.m[1] = b.mat(), o.m[3] = d.mat();
  if (p.own_c) o.m[2] = cc.mat();
  o.t[0] = o.t[1] = (uint8_t)p.type_ab, o.t[2] = o.t[3] = (uint8_t)p.type_d;
  char where[200];
  snprintf(where, sizeof where, "%dx%dx%d batch %d %c%c types %d %d alpha %g beta %g C %d gap %d shift %d", p.m, p.n, p.k, p.batch,
           p.ta ? 'T' : 'N', p.tb ? 'T' : 'N', p.type_ab, p.type_d, p.alpha, p.beta, p.own_c, p.gap, p.shift);
  bt_status s = api()->launch(c, nullptr, &o.h);
  CHECK(!s, "%s: %s", where, api()->error(c));
  sync(c);
  const std::vector<double> before = d.v;
  d.b.down();
  std::vector<bool> result(before.size());
  for (int z = 0; z < p.batch; z++)
    for (int r = 0; r < p.m; r++)
      for (int q = 0; q < p.n; q++) {
        double sum = 0, mag = 0;
        for (int k = 0; k < p.k; k++) {
          double x = a.v[p.ta ? a.at(z, k, r) : a.at(z, r, k)] * b.v[p.tb ? b.at(z, q, k) : b.at(z, k, q)];
          sum += x, mag += std::fabs(x);
        }
        size_t at = d.at(z, r, q);
        double old = p.beta == 0 ? 0 : p.own_c ? cc.v[cc.at(z, r, q)] : before[at];
        double want = p.alpha * sum + p.beta * old;
        mag = std::fabs(p.alpha) * mag + std::fabs(p.beta * old);
        double bound =
            mag * (p.k + 4) * std::ldexp(1, -24) + (p.type_d == BT_BF16 ? std::fabs(want) * 1.01 * std::ldexp(1, -8) : 0) + 1e-30;
        result[at] = true;
        if (!(std::fabs(d.now(at) - want) <= bound)) {
          CHECK(false, "%s: element %d %d %d is %.9g, want %.9g", where, z, r, q, d.now(at), want);
          return;
        }
      }
  for (size_t k = 0; k < before.size(); k++) // gaps and what is around are left alone
    if (!result[k] && d.now(k) != before[k]) {
      CHECK(false, "%s: wrote outside of D at %zu", where, k);
      return;
    }
}

static void refusals(bt_ctx *c) {
  buffer<float> f(c, 256);
  auto text = [&](std::function<void(bt_op *)> spoil) {
    bt_op o = {};
    o.h = {sizeof o, BT_GEMM};
    o.rows = o.cols = o.i[0] = 4, o.i[1] = 1, o.f[0] = 1;
    for (int k : {0, 1, 3}) o.m[k] = {f.p + 64 * (bt_ptr)k, 4};
    spoil(&o);
    bt_status s = api()->launch(c, nullptr, &o.h);
    return s == BT_EINVAL ? std::string(api()->error(c)) : "status " + std::to_string(s);
  };
  WORDS(text([](bt_op *o) { o->t[1] = BT_BF16; }), "both fp32 or both bf16");
  WORDS(text([](bt_op *o) { o->t[0] = o->t[1] = BT_I32; }), "both fp32 or both bf16");
  WORDS(text([](bt_op *o) { o->m[2] = o->m[3], o->t[2] = BT_BF16; }), "C is of D's type");
  WORDS(text([](bt_op *o) { o->m[0].ld = 3; }), "matrix A", "4 columns", "3 apart");
  WORDS(text([](bt_op *o) { o->m[1].p = 0; }), "matrix B", "missing");
  WORDS(text([](bt_op *o) { o->i[0] = -1; }), "4x4x-1");
  WORDS(text([](bt_op *o) { o->h.size = 8; }), "8 bytes");
}

void test_gemm() {
  context c;
  const int shapes[][3] = {{1, 1, 1}, {1, 7, 3}, {5, 1, 9}, {8, 8, 8}, {17, 33, 5}, {3, 2, 301}, {64, 16, 40}, {2, 31, 260}};
  for (auto &s : shapes)
    for (int t = 0; t < 4; t++)
      for (int types = 0; types < 4; types++) {
        int ab = types & 1 ? BT_BF16 : BT_F32, d = types & 2 ? BT_BF16 : BT_F32;
        run(c, {s[0], s[1], s[2], 1, (t & 1) != 0, (t & 2) != 0, ab, d, 1, 0, false, 0, 0, false});
        run(c, {s[0], s[1], s[2], 1, (t & 1) != 0, (t & 2) != 0, ab, d, -0.5, 1, false, 3, 1, false});
        run(c, {s[0], s[1], s[2], 3, (t & 1) != 0, (t & 2) != 0, ab, d, 2, 0.25, true, 2, 2, false});
        run(c, {s[0], s[1], s[2], 2, (t & 1) != 0, (t & 2) != 0, ab, d, 1, 0, false, 8, 8, true});
      }
  run(c, {4, 4, 0, 2, false, false, BT_BF16, BT_F32, 1, 0.5, false, 0, 0, false}); // sums of nothing
  run(c, {4, 4, 0, 1, false, false, BT_F32, BT_F32, 1, 0, false, 0, 0, false});
  bt_op none = {};
  none.h = {sizeof none, BT_GEMM};
  none.i[0] = none.i[1] = 1;
  CHECK(!api()->launch(c, nullptr, &none.h), "%s", c.error());
  refusals(c);
  // What a measurement asks.
  buffer<float> f(c, 256);
  bt_op o = {};
  o.h = {sizeof o, BT_GEMM};
  o.rows = o.cols = o.i[0] = 4, o.i[1] = 1, o.f[0] = 1;
  for (int k : {0, 1, 3}) o.m[k] = {f.p + 64 * (bt_ptr)k, 4};
  int32_t count = 0;
  CHECK(!api()->algorithm(c, &o, 0, &count) && count == 1, "%d: %s", count, c.error());
  CHECK(api()->algorithm(c, &o, 1, &count) == BT_EINVAL);
  o.t[3] = BT_BF16; // cuBLASLt does not do this one
  CHECK(api()->algorithm(c, &o, 0, &count) == BT_EUNSUPPORTED);
}
