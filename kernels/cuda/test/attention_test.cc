// attention_test.cc - rope and causal attention against double references: types, head dimensions, lengths, views with gaps.
//
//   attention_test [WORDS]    WORDS: a mode of the emulator, such as "random=7 lazy"
//
// Prints the largest error of each engine and result as a part of its bound (attention_reference.h), which is 1 at most.
#include "attention.h"
#include "attention_reference.h"
#include "device_matrix.h"
#include <map>

typedef std::vector<double> vec;
static int failures;
static std::map<std::string, std::pair<double, double>> worst; // part of the bound, error
static bt_ctx *context;
static cudaStream_t stream;

static void fail(const std::string &what, const std::string &why) {
  failures++;
  printf("FAIL %s: %s\n", what.c_str(), why.c_str());
}
static void compare(const std::string &engine, const std::string &name, const std::string &where, const vec &got, const vec &want, const vec &bound) {
  auto &w = worst[engine + " " + name];
  for (size_t i = 0; i < got.size(); i++) {
    double error = std::fabs(got[i] - want[i]), part = error / bound[i];
    if (!(part <= 1)) { // a NaN, too
      char text[200];
      snprintf(text, sizeof text, "%s[%zu] is %.9g, not %.9g: error %.3g, bound %.3g", name.c_str(), i, got[i], want[i], error, bound[i]);
      return fail(where, text);
    }
    if (part > w.first) w.first = part;
    if (error > w.second) w.second = error;
  }
}
static bool finish(const std::string &where, bt_status st) {
  if (st == BT_OK && cudaStreamSynchronize(stream) == cudaSuccess) return true;
  fail(where, st ? context->err : cudaGetErrorString(cudaGetLastError()));
#ifdef BT_EMU
  emu::clear_fault();
#endif
  return false;
}
static bt_op operation(uint32_t kind, const attention_case &c, const std::vector<const device_matrix *> &m) {
  bt_op o = {};
  o.h = {sizeof o, kind};
  o.rows = c.rows(), o.cols = c.cols();
  o.i[0] = c.seq, o.i[1] = c.dim;
  o.f[0] = (float)c.scale;
  for (size_t k = 0; k < m.size(); k++) o.m[k] = m[k]->mat(), o.t[k] = (uint8_t)m[k]->type;
  return o;
}

// gaps: columns behind each row of Q, K, V, O; what is behind an aligned row begins at 16 bytes again.
static void attention(const attention_case &c, int type, const int (&gaps)[4], double steep, const bt_attention_engine *engine) {
  std::string where = std::string(type == BT_BF16 ? "bf16" : "fp32") + (engine ? std::string(" by ") + engine->name : "") + " D " + std::to_string(c.dim) +
                      " T " + std::to_string(c.seq) + " gap " + std::to_string(gaps[0]);
  std::string kind = where.substr(0, where.find(" T "));
  uniform next(c.dim * 1000 + c.seq);
  size_t n = (size_t)c.rows() * c.cols();
  attention_reference ref(c, type == BT_BF16 ? 1.0 / 256 : 0);
  ref.q = numbers(next, n, 2 * steep, type), ref.k = numbers(next, n, 2, type), ref.v = numbers(next, n, 1, type);
  bounded o(n), lse((size_t)c.rows() * c.heads), dq(n), dk(n), dv(n), sums(lse.value.size());
  ref.forward(o, lse);
  vec kept_o = o.value, kept_lse = lse.value, d_o = numbers(next, n, 1, type);
  for (double &x : kept_o) x = stored(x, type);
  for (double &x : kept_lse) x = (float)x;
  ref.backward(kept_o, kept_lse, d_o, dq, dk, dv, sums);

  bool intact = true;
  auto wide = [&](int i) { return device_matrix(c.rows(), c.cols(), gaps[i % 4], type); };
  device_matrix mq = wide(0), mk = wide(1), mv = wide(2), mo = wide(3), mlse(c.rows(), c.heads, gaps[0] % 5, BT_F32);
  mq.set(ref.q), mk.set(ref.k), mv.set(ref.v);
  vec first[5];
  for (int round = 0; round < 2; round++) {
    bt_op op = operation(BT_ATTENTION, c, {&mq, &mk, &mv, &mo, &mlse});
    bt_attention_shape h = {c.seq, c.heads, c.dim, c.sequences, (uint8_t)type, (float)c.scale};
    if (!finish(where, engine ? engine->forward(context, stream, h, &op) : btk_attention(context, stream, &op))) return;
    vec got_o = mo.get(&intact), got_lse = mlse.get(&intact);
    if (round && (got_o != first[0] || got_lse != first[1])) fail(where, "a second forward gives other bits");
    first[0] = got_o, first[1] = got_lse;
    compare(kind, "O", where, got_o, o.value, o.bound);
    compare(kind, "LSE", where, got_lse, lse.value, lse.bound);
  }
  mo.set(kept_o), mlse.set(kept_lse);
  device_matrix mdo = wide(1), mdq = wide(2), mdk = wide(3), mdv = wide(0), work(c.rows(), c.heads, gaps[1] % 3, BT_F32);
  mdo.set(d_o);
  for (int round = 0; round < 2; round++) {
    bt_op op = operation(BT_ATTENTION_BWD, c, {&mq, &mk, &mv, &mo, &mlse, &mdo, &mdq, &mdk, &mdv, &work});
    bt_attention_shape h = {c.seq, c.heads, c.dim, c.sequences, (uint8_t)type, (float)c.scale};
    if (!finish(where, engine && round ? engine->backward(context, stream, h, &op) : btk_attention_bwd(context, stream, &op))) return;
    vec got[3] = {mdq.get(&intact), mdk.get(&intact), mdv.get(&intact)};
    for (int i = 0; i < 3; i++) {
      if (round && !engine && got[i] != first[2 + i]) fail(where, "a second backward gives other bits");
      first[2 + i] = got[i];
    }
    compare(kind, "dQ", where, got[0], dq.value, dq.bound);
    compare(kind, "dK", where, got[1], dk.value, dk.bound);
    compare(kind, "dV", where, got[2], dv.value, dv.bound);
    compare(kind, "row sums", where, work.get(&intact), sums.value, sums.bound);
  }
  if (!intact) fail(where, "something between or beside the rows was written");
}

static void rope(int sequences, int seq, int heads, int dim, double theta, int type, int gap) {
  std::string kind = std::string("rope ") + (type == BT_BF16 ? "bf16" : "fp32"), where = kind + " D " + std::to_string(dim) + " T " + std::to_string(seq);
  attention_case c = {sequences, seq, heads, dim, 0};
  uniform next(dim + seq);
  vec x = numbers(next, (size_t)c.rows() * c.cols(), 1, type);
  double u = type == BT_BF16 ? 1.0 / 256 : 0, r = attention_reference::R;
  bool intact = true;
  device_matrix m(c.rows(), c.cols(), gap, type);
  for (int inverse = 0; inverse < 2; inverse++) {
    vec want(x.size()), bound(x.size());
    for (int row = 0; row < c.rows(); row++)
      for (int i = 0; i < c.cols(); i++) {
        int e = i % dim, half = dim / 2;
        double angle = row % seq * std::pow(theta, -2.0 * (e % half) / dim), sine = inverse ? -std::sin(angle) : std::sin(angle);
        const double *p = &x[(size_t)row * c.cols() + i];
        double other = e < half ? -p[half] : p[-half];
        size_t at = (size_t)row * c.cols() + i;
        want[at] = *p * std::cos(angle) + other * sine;
        // two products and a sum, each rounded, of a sine and a cosine that are rounded
        bound[at] = 3 * r * (std::fabs(*p * std::cos(angle)) + std::fabs(other * sine)) + 1e-15 + u * std::fabs(want[at]);
      }
    m.set(x);
    bt_op o = operation(BT_ROPE, c, {&m});
    o.i[2] = inverse, o.f[0] = theta;
    if (!finish(where, btk_rope(context, stream, &o))) return;
    compare(kind, "X", where, m.get(&intact), want, bound);
  }
  if (!intact) fail(where, "something between or beside the rows was written");
}

static void refusals() {
  device_matrix x(10, 12, 0, BT_F32), y(10, 12, 0, BT_BF16), lse(10, 3, 0, BT_F32);
  auto refuse = [&](const char *what, bt_status st, bt_status want) {
    if (st != want || !context->err[0]) fail(what, std::string("not refused as it should be: ") + context->err);
    context->err[0] = 0;
  };
  bt_op o = operation(BT_ATTENTION, {1, 3, 3, 4, 1}, {&x, &x, &x, &x, &lse});
  o.rows = 10;
  refuse("rows that are no sequences", btk_attention(context, stream, &o), BT_EINVAL);
  o = operation(BT_ATTENTION, {1, 10, 3, 4, 1}, {&x, &x, &y, &x, &lse});
  refuse("operands of two types", btk_attention(context, stream, &o), BT_EINVAL);
  o = operation(BT_ROPE, {1, 10, 4, 3, 1}, {&x});
  refuse("an odd head", btk_rope(context, stream, &o), BT_EINVAL);
}

int main(int argc, char **argv) {
#ifdef BT_EMU
  const char *words = argc > 1 ? argv[1] : getenv("BOOST_EMU");
  if (const char *wrong = emu::set_mode(words ? words : "")) return fprintf(stderr, "%s\n", wrong), 2;
#else
  (void)argc, (void)argv;
#endif
  bt_ctx c{};
  c.max_shared = 160 * 1024;
  context = &c;
  must(cudaStreamCreate(&stream), "cudaStreamCreate");

  const int gap_kinds[4][4] = {{0, 0, 0, 0}, {8, 16, 0, 24}, {3, 5, 0, 2}, {64, 0, 8, 8}};
  int turn = 0;
  for (int dim : {64, 128, 40, 96, 6})
    for (int seq : {1, 17, 64, 77, 128, 130})
      for (int type : {BT_F32, BT_BF16}) {
        int heads = dim == 6 ? 3 : seq > 100 ? 1 : 2;
        attention({seq < 100 ? 2 : 1, seq, heads, dim, 1 / std::sqrt((double)dim)}, type, gap_kinds[turn++ % 4], 1, nullptr);
        if (type == BT_BF16 && (dim == 64 || dim == 128)) // both ways of copying into tiles, for every length
          attention({1, seq, 1, dim, 1 / std::sqrt((double)dim)}, type, gap_kinds[turn / 2 % 2 ? 2 : 1], 1, nullptr);
      }
  attention({1, 70, 1, 200, 0.07}, BT_F32, gap_kinds[2], 1, nullptr); // wider than a tile
  attention({1, 70, 1, 200, 0.07}, BT_BF16, gap_kinds[0], 1, nullptr);
  attention({1, 77, 1, 64, 0.125}, BT_BF16, gap_kinds[0], 1, &bt_attention_any);
  for (int type : {BT_F32, BT_BF16}) attention({1, 130, 1, 64, 0.125}, type, gap_kinds[0], 100, nullptr); // exponents beyond e^88
  for (int type : {BT_F32, BT_BF16}) {
    for (int dim : {64, 128, 40, 6, 2}) rope(2, 33, 2, dim, 10000, type, dim % 16 ? 1 : 0);
    rope(70, 3, 1, 64, 500000, type, 16);
    rope(1, 5000, 1, 8, 10000, type, 0);
  }
  refusals();

  for (auto &w : worst) printf("%-28s %.3f of its bound, error %.3g\n", w.first.c_str(), w.second.first, w.second.second);
  printf(failures ? "%d failures\n" : "ok\n", failures);
  return failures != 0;
}
