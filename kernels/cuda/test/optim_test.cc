// optim_test.cc - the gradients' norm, clipping, and the optimizers.
#include "op_test.h"

static void sumsq(int n, int type, int shift) {
  op_test t("sumsq", btk_sumsq, BT_SUMSQ, {1, n, 0, shift}, type);
  vec x = t.input(0, 3);
  t.set(1, 1, 1, BT_F32, {2.5});
  if (!t.run()) return;
  double want = 2.5;
  for (double v : x) want += v * v;
  t.check(1, {want}, {want}, 1);
}
static void clip(double sumsq, double most) {
  op_test t("clip_scale", btk_clip_scale, BT_CLIP_SCALE, {1, 1, 0, 0}, BT_F32);
  t.set(0, 1, 1, BT_F32, {(double)(float)sumsq});
  t.output(1, 1, 1, BT_F32), t.output(2, 1, 1, BT_F32);
  t.o.f[0] = (float)most;
  if (!t.run()) return;
  double norm = std::sqrt((double)(float)sumsq), scale = most > 0 ? std::min(1.0, t.o.f[0] / (norm + 1e-6)) : 1;
  if (!std::isfinite(norm)) scale = NAN;
  if (std::isfinite(norm)) t.check(1, {norm}, {norm}, 0);
  t.check(2, {scale}, {scale}, 0, "scale");
}
struct state {
  vec p, m, v, g;
  double scale;
};
static state load(op_test &t, double scale, bool with_param) {
  state s;
  if (with_param) s.p = t.input(0, 1);
  s.m = t.input(1, 0.1), s.v = t.input(2, 0.1), s.g = t.input(3, 2);
  for (double &x : s.v) x = std::fabs(x);
  t.set(2, t.rows(), t.cols(), BT_F32, s.v);
  t.set(4, 1, 1, BT_F32, {scale});
  s.scale = scale;
  return s;
}
static void adamw(const shape &s, double scale) {
  op_test t("adamw", btk_adamw, BT_ADAMW, s, BT_F32);
  state x = load(t, scale, true);
  const double lr = 3e-3f, b1 = 0.9f, b2 = 0.95f, eps = 1e-8f, decay = 0.1f;
  double f[5] = {lr, b1, b2, eps, decay};
  for (int k = 0; k < 5; k++) t.o.f[k] = f[k];
  t.o.i[0] = 7;
  if (!t.run()) return;
  vec mag(x.p.size());
  if (std::isfinite(scale))
    for (size_t i = 0; i < mag.size(); i++) {
      double g = x.g[i] * scale;
      x.m[i] = b1 * x.m[i] + (1 - b1) * g, x.v[i] = b2 * x.v[i] + (1 - b2) * g * g;
      double step = lr * (x.m[i] / (1 - std::pow(b1, 7))) / (std::sqrt(x.v[i] / (1 - std::pow(b2, 7))) + eps);
      mag[i] = std::fabs(x.p[i]) + std::fabs(lr * 2 / std::sqrt(x.v[i]));
      x.p[i] = x.p[i] * (1 - lr * decay) - step;
    }
  t.check(1, x.m, vec(mag.size(), 2), 4, "m");
  t.check(2, x.v, vec(mag.size(), 4), 4, "v");
  t.check(0, x.p, mag, 8);
}
static void adam(const shape &s, double scale, int place) { // 0 steps, 1 gives the direction, 2 into Grad
  op_test t("adam", btk_adam, BT_ADAM, s, BT_F32);
  state x = load(t, scale, place == 0);
  const double rate = 2e-3f, decay = 0.05f, b1 = 0.9f, b2 = 0.95f, eps = 1e-6f;
  double f[5] = {rate, decay, b1, b2, eps};
  for (int k = 0; k < 5; k++) t.o.f[k] = f[k];
  if (place == 1) t.output(5);
  if (place == 2) t.alias(5, 3);
  if (!t.run()) return;
  vec d(x.m.size()), mag(x.m.size(), 1);
  if (std::isfinite(scale))
    for (size_t i = 0; i < d.size(); i++) {
      double g = x.g[i] * scale;
      x.m[i] = b1 * x.m[i] + (1 - b1) * g, x.v[i] = b2 * x.v[i] + (1 - b2) * g * g;
      d[i] = x.m[i] / (std::sqrt(x.v[i]) + eps);
      mag[i] = 2 / std::sqrt(x.v[i]);
      if (place == 0) mag[i] = std::fabs(x.p[i]) + rate * mag[i], x.p[i] = (x.p[i] - rate * d[i]) * (1 - decay);
    }
  t.check(1, x.m, vec(d.size(), 2), 4, "m");
  t.check(2, x.v, vec(d.size(), 4), 4, "v");
  place == 0 ? t.check(0, x.p, mag, 8) : t.check(5, d, mag, 8, "direction");
}

void test_optim() {
  for (int type : {BT_F32, BT_BF16})
    for (int n : {1, 7, 64, 1000, 16384, 16391, 40000, 70003}) sumsq(n, type, 0), sumsq(n, type, 1);
  for (double most : {0.0, 1.0, 0.5})
    for (double s : {0.0, 1e-12, 0.81, 9.0, 1e30, (double)INFINITY, (double)NAN}) clip(s, most);
  for (const shape &s : {shape{1, 1, 0, 0}, {1, 7, 0, 1}, {1, 4096, 0, 0}, {1, 5003, 0, 0}, {37, 24, 0, 0}}) {
    for (double scale : {1.0, 0.25, (double)NAN, (double)INFINITY}) {
      adamw({1, s.rows * s.cols, 0, s.shift}, scale);
      for (int place = 0; place < 3; place++) adam({1, s.rows * s.cols, 0, s.shift}, scale, place);
    }
  }
}
