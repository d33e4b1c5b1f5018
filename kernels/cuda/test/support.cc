// support.cc - what kernels ask of the library around them, for tests of kernels alone: errors, and work space of exactly the size
// that was asked for, new each time, so that AddressSanitizer sees its end.
#include "kernels.h"
#include <cstdarg>
#include <cstdio>

bt_status bt_fail(bt_ctx *c, bt_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(c->err, sizeof c->err, format, args);
  va_end(args);
  return status;
}
bt_status bt_check(bt_ctx *c, const char *what, cudaError_t e) {
  return e == cudaSuccess ? BT_OK : bt_fail(c, BT_EDEVICE, "%s: %s", what, cudaGetErrorString(e));
}
bt_status bt_scratch(bt_ctx *c, cudaStream_t, size_t bytes, void **out) {
  if (c->device_memory.size() > 64) { // the oldest are long out of use
    for (size_t i = 0; i < 32; i++) cudaFree(c->device_memory[i]);
    c->device_memory.erase(c->device_memory.begin(), c->device_memory.begin() + 32);
  }
  if (cudaError_t e = cudaMalloc(out, bytes)) return bt_check(c, "cudaMalloc", e);
  c->device_memory.push_back(*out);
  return BT_OK;
}
bt_status bt_keep(bt_ctx *c, size_t bytes, void **out) {
  if (cudaError_t e = cudaMalloc(out, bytes)) return bt_check(c, "cudaMalloc", e);
  return bt_check(c, "cudaMemset", cudaMemset(*out, 0, bytes));
}
bt_status bt_current(bt_ctx *) { return BT_OK; }
