// op_test.cc - see op_test.h.
#include "op_test.h"

const std::vector<shape> shapes = {{1, 1, 0, 0},    {1, 7, 0, 1},    {1, 64, 0, 0},   {3, 8, 0, 0},
                                   {5, 24, 8, 0},   {4, 40, 3, 0},   {2, 33, 0, 1},   {7, 129, 7, 0},
                                   {33, 64, 8, 8},  {70, 256, 0, 0}, {9, 512, 16, 1}, {3, 4096, 0, 0},
                                   {2, 5000, 1, 0}, {1, 4104, 0, 8}, {300, 1, 0, 0},  {16500, 8, 0, 0}};
bt_ctx *test_ctx;
cudaStream_t test_stream;
int failures;
static std::map<std::string, std::pair<double, double>> worst; // units, bound

op_test::op_test(const char *name, bt_launcher launch, uint32_t kind, const shape &s, int type)
    : name(name), launch(launch), s(s), t(type), next(kind * 1000003ull + s.rows * 31 + s.cols * 7 + type) {
  o.h = {sizeof o, kind};
  o.rows = s.rows, o.cols = s.cols;
  for (int k = 0; k < 10; k++) owner[k] = k;
}
std::string op_test::where() const {
  char text[160];
  snprintf(text, sizeof text, "%s %s %dx%d gap %d shift %d", name, t == BT_BF16 ? "bf16" : "fp32", s.rows, s.cols, s.gap, s.shift);
  return text;
}
void op_test::fail(const std::string &why) {
  failures++;
  printf("FAIL %s: %s\n", where().c_str(), why.c_str());
}

device_matrix &op_test::make(int k, int rows, int cols, int type) {
  bool wide = rows == s.rows && cols == s.cols; // the gaps of matrices differ, but stay multiples of eight
  m[k].reset(new device_matrix(rows, cols,
                               wide                    ? s.gap * (k % 3 + 1)
                               : rows > 1 && cols == 1 ? s.gap % 5
                                                       : 0,
                               type, wide || rows == 1 ? s.shift : 0));
  o.m[k] = m[k]->mat();
  o.t[k] = (uint8_t)type;
  return *m[k];
}
void op_test::set(int k, int rows, int cols, int type, const vec &x) {
  make(k, rows, cols, type).set(x);
  in[k] = x;
}
vec &op_test::input(int k, int rows, int cols, int type, double factor) {
  set(k, rows, cols, type, numbers(next, (size_t)rows * cols, factor, type));
  return in[k];
}
vec &op_test::input(int k, double factor) { return input(k, s.rows, s.cols, t, factor); }
vec &op_test::row_input(int k, double factor) { return input(k, 1, s.cols, t, factor); }
vec &op_test::stat_input(int k, double lo, double hi) {
  vec x(s.rows);
  for (double &v : x) v = (float)(lo + (hi - lo) * (next() + 1) / 2);
  set(k, s.rows, 1, BT_F32, x);
  return in[k];
}
void op_test::ids(int k, int rows, const std::vector<int> &x) {
  device_matrix &d = make(k, rows, (int)x.size() / rows, BT_F32);
  std::vector<char> b = d.raw();
  for (size_t i = 0; i < x.size(); i++) memcpy(&b[d.at((int)i / d.cols, (int)i % d.cols)], &x[i], 4);
  must(cudaMemcpy(d.p, b.data(), b.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  o.t[k] = BT_I32;
}
void op_test::output(int k, int rows, int cols, int type) { make(k, rows, cols, type); }
void op_test::output(int k) { make(k, s.rows, s.cols, t); }
void op_test::stat_output(int k) { make(k, s.rows, 1, BT_F32); }
void op_test::alias(int k, int with) {
  owner[k] = with;
  o.m[k] = o.m[with], o.t[k] = o.t[with];
}

bool op_test::run() {
  std::vector<char> before[10], after[10];
  for (int k = 0; k < 10; k++)
    if (m[k]) before[k] = m[k]->raw();
  for (int round = 0; round < 2; round++) {
    for (int k = 0; k < 10; k++)
      if (m[k]) must(cudaMemcpy(m[k]->p, before[k].data(), before[k].size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    test_ctx->err[0] = 0;
    bt_op copy = o; // the operation is not there any more when it runs
    bt_status st = launch(test_ctx, test_stream, &copy);
    memset((void *)&copy, 0xee, sizeof copy);
    cudaError_t e = cudaStreamSynchronize(test_stream);
    if (st || e) {
      fail(st ? test_ctx->err : cudaGetErrorString(e));
#ifdef BT_EMU
      emu::clear_fault();
#endif
      return false;
    }
    for (int k = 0; k < 10; k++) {
      if (!m[k]) continue;
      std::vector<char> now = m[k]->raw();
      if (round == 1 && now != after[k]) fail("matrix " + std::to_string(k) + " has other bits the second time");
      after[k] = now;
    }
  }
  return true;
}
vec op_test::get(int k) { return m[owner[k]]->get(&intact); }

// Half the distance between numbers of a type around x.
static double half_step(double x, int type) {
  int e;
  std::frexp(x, &e);
  return std::ldexp(1.0, std::max(e, -125) - (type == BT_BF16 ? 9 : 25));
}
void op_test::check(int k, const vec &want, const vec &mag, double bound, const char *what) {
  vec got = get(k);
  int type = m[owner[k]]->type;
  auto &w = worst[std::string(name) + (*what ? " " : "") + what + (t == BT_BF16 ? " bf16" : " fp32")];
  w.second = bound;
  for (size_t i = 0; i < want.size(); i++) {
    if (got[i] == want[i]) continue; // infinities, too
    double excess = std::fabs(got[i] - want[i]) - half_step(std::max(std::fabs(got[i]), std::fabs(want[i])), type);
    double units = excess <= 0 ? 0 : excess / (std::fabs(mag[i]) * 0x1p-24 + 1e-37);
    bool nan = std::isnan(want[i]);
    if (nan ? !std::isnan(got[i]) : !(units <= bound)) {
      char text[200];
      snprintf(text, sizeof text, "%s matrix %d [%zu] is %.9g, not %.9g: %.3g units, bound %.3g", what, k, i, got[i], want[i],
               units, bound);
      fail(text);
      break;
    }
    if (!nan && units > w.first) w.first = units;
  }
  if (!intact) fail("something between or beside the rows was written");
  intact = true;
}

void each_shape(int types, const op_case &f) {
  for (const shape &s : shapes)
    for (int type : {BT_F32, BT_BF16})
      if (types >> type & 1) f(s, type);
}
void each_shape(const op_case &f) { each_shape(1 << BT_F32 | 1 << BT_BF16, f); }

int finish_tests() {
  for (auto &w : worst) printf("%-32s %8.3f units, bound %g\n", w.first.c_str(), w.second.first, w.second.second);
  return failures;
}
