// device_matrix.h - matrices of a test in device memory: any leading dimension and alignment, with gaps and margins that must stay
// as they were. Under AddressSanitizer the memory ends with the last element instead, so that the first byte beyond is named.
#pragma once
#include "kernels.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static inline void must(cudaError_t e, const char *what) {
  if (e == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  exit(2);
}
static inline uint16_t to_bf16(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}
static inline double stored(double x, int type) { // what is left of x
  float f = (float)x;
  if (type != BT_BF16) return f;
  uint32_t u = (uint32_t)to_bf16(f) << 16;
  memcpy(&f, &u, 4);
  return f;
}

struct device_matrix {
  int rows, cols, ld, type, shift; // shift: elements between the margin, which is aligned, and the first
  size_t size, bytes;              // of an element, of the whole
  char *p = nullptr;               // begins with a margin
#ifdef __SANITIZE_ADDRESS__
  enum { MARGIN = 256, END = 0, UNSET = 0xff };
#else
  enum { MARGIN = 256, END = 256, UNSET = 0xff /* a NaN in every type */ };
#endif

  device_matrix(int rows, int cols, int gap, int type, int shift = 0)
      : rows(rows), cols(cols), ld(cols + gap), type(type), shift(shift), size(type == BT_BF16 ? 2 : 4) {
    bytes = at(rows - 1, cols) + END;
    must(cudaMalloc((void **)&p, bytes), "cudaMalloc");
    std::vector<char> unset(bytes, (char)UNSET);
    must(cudaMemcpy(p, unset.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  device_matrix(const device_matrix &) = delete;
  ~device_matrix() { cudaFree(p); }

  size_t at(int r, int c) const { return MARGIN + (shift + (size_t)r * ld + c) * size; }
  bt_mat mat() const { return {(bt_ptr)(uintptr_t)(p + at(0, 0)), ld}; }
  std::vector<char> raw() const {
    std::vector<char> b(bytes);
    must(cudaMemcpy(b.data(), p, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return b;
  }
  void set(const std::vector<double> &x) {
    std::vector<char> b = raw();
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < cols; c++) {
        char *to = &b[at(r, c)];
        float f = (float)x[(size_t)r * cols + c];
        uint16_t h = to_bf16(f);
        memcpy(to, type == BT_BF16 ? (void *)&h : (void *)&f, size);
      }
    must(cudaMemcpy(p, b.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  // The elements; intact says whether gaps and margins are as they were.
  std::vector<double> get(bool *intact) const {
    std::vector<char> b = raw();
    std::vector<double> x((size_t)rows * cols);
    std::vector<bool> element(bytes);
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < cols; c++) {
        size_t here = at(r, c);
        uint32_t u = 0;
        memcpy(type == BT_BF16 ? (char *)&u + 2 : (char *)&u, &b[here], size);
        float f;
        memcpy(&f, &u, 4);
        x[(size_t)r * cols + c] = f;
        for (size_t i = 0; i < size; i++) element[here + i] = true;
      }
    for (size_t i = 0; i < bytes; i++)
      if (!element[i] && b[i] != (char)UNSET) *intact = false;
    return x;
  }
};

// Numbers in [-1, 1) that are the same everywhere.
struct uniform {
  uint64_t s;
  explicit uniform(uint64_t seed) : s(seed * 0x9E3779B97F4A7C15ull + 1) {}
  double operator()() {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return (double)(int64_t)s / 9223372036854775808.0;
  }
};
static inline std::vector<double> numbers(uniform &next, size_t n, double factor, int type) {
  std::vector<double> x(n);
  for (double &v : x) v = stored(factor * next(), type);
  return x;
}
