// op_test.h - one operation on matrices of awkward shapes, against a reference in double.
//
// An element is right when it is what rounding to its type leaves of some number near the exact one; how near is counted in units of
// 2^-24 of the element's magnitude, the sum of the absolute values of the terms that it is made of. So a bound says how many
// roundings of fp32 an operation does, whatever the type that it stores.
#pragma once
#include "device_matrix.h"
#include <functional>
#include <map>
#include <memory>

typedef std::vector<double> vec;
struct shape {
  int rows, cols, gap, shift;
};
// What is awkward: one row, one column, widths that no vector divides, gaps and addresses that forbid vectors and such that do
// not, rows wide enough for a block each, more rows than sums over columns have parts.
extern const std::vector<shape> shapes;

class op_test {
public:
  bt_op o = {};
  op_test(const char *name, bt_launcher, uint32_t kind, const shape &, int type);
  // Matrix k of the operation, random within factor. rows x cols of the shape unless said otherwise.
  vec &input(int k, double factor = 1);
  vec &row_input(int k, double factor = 1);     // one row, of the type
  vec &stat_input(int k, double lo, double hi); // one fp32 number for each row
  vec &input(int k, int rows, int cols, int type, double factor);
  void set(int k, int rows, int cols, int type, const vec &);
  void ids(int k, int rows, const std::vector<int> &); // integers
  void output(int k);
  void stat_output(int k);
  void output(int k, int rows, int cols, int type);
  void alias(int k, int with); // matrix k is matrix with
  void like(int kind_of_shape_rows, int cols) { o.rows = kind_of_shape_rows, o.cols = cols; }
  // Runs it, twice from the same memory: the same bits must come.
  bool run();
  // Matrix k must be want, within bound units of mag.
  void check(int k, const vec &want, const vec &mag, double bound, const char *what = "");
  vec get(int k);
  void fail(const std::string &why);
  int rows() const { return s.rows; }
  int cols() const { return s.cols; }
  int type() const { return t; }
  static const vec &read(const vec &v) { return v; }

private:
  const char *name;
  bt_launcher launch;
  shape s;
  int t;
  uniform next;
  bool intact = true;
  std::unique_ptr<device_matrix> m[10];
  vec in[10];
  int owner[10];
  device_matrix &make(int k, int rows, int cols, int type);
  std::string where() const;
};

typedef std::function<void(const shape &, int type)> op_case;
void each_shape(const op_case &);            // over all shapes, in fp32 and bf16
void each_shape(int types, const op_case &); // of these alone: 1 << type
int finish_tests();                          // prints the largest error of each check; the number of failures
extern bt_ctx *test_ctx;
extern cudaStream_t test_stream;
extern int failures;

void test_rows(), test_norm(), test_cross(), test_memory(), test_vocab(), test_optim(), test_streams(), test_emulator();

static inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
static inline double silu(double x) { return x * sigmoid(x); }
static inline double silu_slope(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }
