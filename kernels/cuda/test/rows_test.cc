// rows_test.cc - latents, SwiGLU, and their crossings.
#include "op_test.h"

// Bounds count roundings of fp32. Measured were 8.8 units for what has a sigmoid, with an exp that is good to half a unit; CUDA's may
// be wrong by two, and enters three times. Where silu's slope passes zero its terms are what counts, so magnitudes are those of the
// terms. Sums: norm_test.cc.
enum { SUM = 16, SILU = 16 };

static double act(bool on, double x) { return on ? silu(x) : x; }
static double slope(bool on, double x) { return on ? silu_slope(x) : 1; }
static double slope_mag(bool on, double x) { return on ? sigmoid(x) * (1 + std::fabs(x) * (1 - sigmoid(x))) : 1; }

static void latent(const shape &s, int type, bool with_rstd, int silu_and_h, bool in_place) { // 0: only U; 1: U and H
  op_test t("latent", btk_latent, BT_LATENT, s, type);
  vec p = t.input(0, 6), none(s.rows, 1), want(p.size()), h(p.size());
  vec &q = with_rstd ? t.stat_input(1, 0.3, 2) : none;
  in_place ? t.alias(2, 0) : t.output(2);
  if (silu_and_h) t.output(3);
  t.o.i[0] = silu_and_h;
  if (!t.run()) return;
  for (size_t i = 0; i < p.size(); i++) want[i] = p[i] * q[i / s.cols];
  t.check(2, want, want, 1);
  if (!silu_and_h) return;
  vec u = t.get(2); // H is made of what U holds
  for (size_t i = 0; i < p.size(); i++) h[i] = silu(u[i]);
  t.check(3, h, h, SILU, "h");
}
static void latent_bwd(const shape &s, int type, bool on, bool with_dot, bool in_place) {
  op_test t("latent_bwd", btk_latent_bwd, BT_LATENT_BWD, s, type);
  vec dh = t.input(0, 2), &u = t.input(1, 6), want(dh.size()), mag(dh.size()), dot(s.rows), dot_mag(s.rows);
  in_place ? t.alias(2, 0) : t.output(2);
  if (with_dot) t.stat_output(3);
  t.o.i[0] = on;
  if (!t.run()) return;
  for (size_t i = 0; i < dh.size(); i++) {
    want[i] = dh[i] * slope(on, u[i]);
    mag[i] = dh[i] * slope_mag(on, u[i]);
    dot[i / s.cols] += u[i] * want[i];
    dot_mag[i / s.cols] += std::fabs(u[i] * mag[i]);
  }
  t.check(2, want, mag, SILU);
  if (with_dot) t.check(3, dot, dot_mag, SUM, "dot"); // before DU is rounded
}
static void swiglu(const shape &s, int type, bool on) {
  op_test t("swiglu", btk_swiglu, BT_SWIGLU, s, type);
  vec &g = t.input(0, 6), &u = t.input(1, 2), want(g.size());
  t.output(2);
  t.o.i[0] = on;
  if (!t.run()) return;
  for (size_t i = 0; i < g.size(); i++) want[i] = act(on, g[i]) * u[i];
  t.check(2, want, want, SILU);
}
static void swiglu_bwd(const shape &s, int type, bool on, int place) { // 0 apart, 1 DG is G and DU is U, 2 DG is DY
  op_test t("swiglu_bwd", btk_swiglu_bwd, BT_SWIGLU_BWD, s, type);
  vec g = t.input(0, 6), u = t.input(1, 2), dy = t.input(2, 2), dg(g.size()), dg_mag(g.size()), du(g.size());
  if (place == 0) t.output(3), t.output(4);
  if (place == 1) t.alias(3, 0), t.alias(4, 1);
  if (place == 2) t.alias(3, 2), t.output(4);
  t.o.i[0] = on;
  if (!t.run()) return;
  for (size_t i = 0; i < g.size(); i++) {
    dg[i] = dy[i] * u[i] * slope(on, g[i]);
    dg_mag[i] = dy[i] * u[i] * slope_mag(on, g[i]);
    du[i] = dy[i] * act(on, g[i]);
  }
  t.check(3, dg, dg_mag, SILU, "dg");
  t.check(4, du, du, SILU, "du");
}
static void cross(const shape &s, int type, bool on, bool with_gate) {
  op_test t("cross", btk_cross, BT_CROSS, s, type);
  vec &u = t.input(0, 6), &prev = t.input(1, 6), none(s.cols, 1), want(u.size()), mag(u.size());
  vec &gate = with_gate ? t.row_input(2, 2) : none;
  t.output(3);
  t.o.i[0] = on;
  if (!t.run()) return;
  for (size_t i = 0; i < u.size(); i++) {
    double a = act(on, u[i]), b = gate[i % s.cols] * act(on, prev[i]);
    want[i] = a + b, mag[i] = std::fabs(a) + std::fabs(b);
  }
  t.check(3, want, mag, SILU);
}
static void cross_bwd(const shape &s, int type, bool on, bool with_gate, bool fresh) {
  op_test t("cross_bwd", btk_cross_bwd, BT_CROSS_BWD, s, type);
  vec dh = t.input(0, 2), carry(dh.size()), prev(dh.size()), gate(s.cols, 1), dgate(s.cols), mag(s.cols), d(dh.size()),
      d_mag(dh.size()), next(dh.size());
  fresh ? t.output(1) : void(carry = t.input(1, 2)); // fresh: it holds NaN
  if (with_gate) { prev = t.input(2, 6), gate = t.row_input(3, 2), dgate = t.input(4, 1, s.cols, BT_F32, 10); }
  t.o.i[0] = on, t.o.i[1] = fresh;
  if (!t.run()) return;
  for (int c = 0; c < s.cols; c++) mag[c] = std::fabs(dgate[c]);
  for (size_t i = 0; i < dh.size(); i++) {
    size_t c = i % s.cols;
    double term = dh[i] * act(on, prev[i]);
    dgate[c] += term, mag[c] += std::fabs(term);
    next[i] = gate[c] * dh[i];
    d[i] = dh[i] + carry[i], d_mag[i] = std::fabs(dh[i]) + std::fabs(carry[i]);
  }
  t.check(0, d, d_mag, 1);
  t.check(1, next, next, 1, "carry");
  if (with_gate) t.check(4, dgate, mag, SUM, "dgate");
}

void test_rows() {
  int turn = 0;
  each_shape([&](const shape &s, int type) {
    turn++;
    latent(s, type, true, 1, turn % 3 == 0), latent(s, type, false, 1, false), latent(s, type, true, 0, true);
    latent_bwd(s, type, true, true, turn % 2), latent_bwd(s, type, turn % 2, false, turn % 3 == 0),
        latent_bwd(s, type, false, true, true);
    swiglu(s, type, true), swiglu(s, type, false);
    swiglu_bwd(s, type, true, turn % 3), swiglu_bwd(s, type, false, (turn + 1) % 3);
  });
}
void test_cross() {
  each_shape([](const shape &s, int type) {
    for (int k = 0; k < 4; k++) cross(s, type, k & 1, k & 2);
    for (int k = 0; k < 8; k++) cross_bwd(s, type, k & 1, k & 2, k & 4);
  });
}
