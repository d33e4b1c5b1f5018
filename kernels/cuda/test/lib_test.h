// lib_test.h - tests of the library around the kernels: contexts, streams, products, communicators, through its table of functions;
// and of what the fakes of cuBLASLt and NCCL refuse. scripts/emu-matrix.sh builds and runs them.
#pragma once
#include "library.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

extern "C" const bt_api *bt_backend(uint32_t abi, uint32_t size);

extern int failures;
void fail_at(const char *file, int line, const std::string &what);
#define CHECK(ok, ...)                                                                                                             \
  do {                                                                                                                             \
    if (!(ok)) {                                                                                                                   \
      char text_[1200];                                                                                                            \
      snprintf(text_, sizeof text_, " " __VA_ARGS__);                                                                              \
      fail_at(__FILE__, __LINE__, std::string(#ok) + ":" + text_);                                                                 \
    }                                                                                                                              \
  } while (0)
// The text must hold all the words.
void check_words(const char *file, int line, const std::string &text, std::vector<std::string> words);
#define WORDS(text, ...) check_words(__FILE__, __LINE__, text, {__VA_ARGS__})

const bt_api *api();
bt_options options(int stall_ms = 120000, const char *mode = nullptr); // mode: else $BOOST_EMU
struct context {                                                       // opened, or the test fails
  bt_ctx *c = nullptr;
  explicit context(const bt_options &);
  context() : context(options()) {}
  ~context();
  operator bt_ctx *() const { return c; }
  const char *error() const { return api()->error(c); }
};
std::string open_error(const bt_options &, bt_status *status = nullptr); // of a context that must not open
void sync(bt_ctx *, bt_stream *s = nullptr);                             // waits; the test fails where it does
bt_status wait_for(bt_ctx *, bt_stream *s, std::string *text, int seconds = 120);
bt_comm *join(bt_ctx *, const bt_uid &, int n, int rank, const char *name); // waits until all have joined

// Device memory with its copy on the host.
template <class T> struct buffer {
  bt_ctx *c;
  bt_ptr p = 0;
  std::vector<T> v;
  buffer(bt_ctx *c, size_t n) : c(c), v(n) {
    CHECK(!api()->alloc(c, n * sizeof(T), BT_ALLOC_SYMMETRIC, &p), "%s", api()->error(c));
  }
  ~buffer() { api()->free(c, p); }
  buffer(const buffer &) = delete;
  void up() { CHECK(cudaMemcpy(bt_at<void>(p), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess); }
  void down() { CHECK(cudaMemcpy(v.data(), bt_at<void>(p), v.size() * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess); }
};
uint16_t to_bf16(float);
float from_bf16(uint16_t);

bt_part part(int kind, int type, uint64_t n, bt_ptr src, bt_ptr dst = 0, int root = 0, int reduce = BT_SUM);
bt_coll message(bt_comm *, const char *label, int ranks, const std::vector<bt_part> &);

// Runs a function in n processes, each a rank, and waits; a process that has not ended after so long is killed. The results are
// exit codes, -signal, or -1000 for one that was killed for its slowness.
struct place { // memory that they share
  bt_uid uid[8];
  volatile int made, go, pid[8];
  volatile double number[8];
  char text[8][1024];
};
std::vector<int> ranks(int n, const std::function<void(int rank, place *)> &, int seconds = 120,
                       const std::function<void(place *)> &meanwhile = nullptr);
bt_uid share_uid(bt_ctx *, int rank, place *, int which = 0); // rank 0 makes it

void test_context(), test_libraries(), test_streams(), test_gemm(), test_lt(), test_nccl(), test_collectives(), test_faults(),
    test_real();
