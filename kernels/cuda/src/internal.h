// internal.h - what the files of the library share: the context, how a failure is told, work space.
// Start at context.cu (the table), then dispatch.cu (from an operation to its launcher) and stream.cu.
#pragma once
#include "bt_cuda.h"
#include "boost_backend.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

struct bt_libraries; // library.h: cuBLASLt, NCCL, the driver, NVTX, opened at run time
struct bt_gemm_cache;

// One stream. Its failure stays: later calls on it meet it.
struct bt_stream {
  bt_ctx *ctx;
  cudaStream_t s;
  uint64_t issued = 0; // launches, records and waits so far
  uint64_t seen = 0;   // up to here it is known to have run
  bool messages = false; // collectives since the latest record
  std::atomic<int> failed{BT_OK};
  uint64_t failed_ticket = 0;
  char error[BT_ERRLEN] = "";
  void *scratch = nullptr;
  size_t scratch_bytes = 0;
};

struct bt_event {
  cudaEvent_t e;
  bt_stream *on = nullptr; // of the latest record
  uint64_t ticket = 0;
  int64_t wait_ns = 0; // -1: unknown
};

struct bt_ctx {
  char err[BT_ERRLEN] = ""; // of the latest failure
  bt_options opt;
  int device;
  int multiprocessors; // SMs
  int major, minor;    // compute capability
  int max_shared;      // bytes of shared memory that one block may ask for, after opting in
  int max_threads;     // per block
  char name[128];
  bt_libraries *lib = nullptr;
  bt_gemm_cache *gemms = nullptr;
  bt_stream *compute = nullptr;
  std::vector<bt_stream *> streams; // compute is the first
  std::vector<bt_event *> events;
  std::vector<bt_comm *> comms;
  std::vector<void *> device_memory, pinned; // freed by close
  std::mutex lock;                            // of what a watchdog may read: comms
  cudaEvent_t base = nullptr;                 // an event whose Unix time is known
  int64_t base_ns = 0;
};

// Runs or enqueues one operation on a stream. BT_OK, or the status that bt_fail returned.
typedef bt_status (*bt_launcher)(bt_ctx *, cudaStream_t, const bt_op *);

// Writes the text of a failure into the context and returns the status: return bt_fail(c, BT_EINVAL, "…", …);
bt_status bt_fail(bt_ctx *, bt_status, const char *format, ...) __attribute__((format(printf, 3, 4)));
// BT_OK, or the failure of a call to the runtime; what names the call or the kernel: return bt_check(c, "norm_apply", BT_LAUNCH(…));
bt_status bt_check(bt_ctx *, const char *what, cudaError_t);

// Device memory that the next launches on this stream may use as work space, at least so many bytes, 256-byte aligned. What it
// holds at first is unknown. It stays valid until the next bt_scratch on the same stream; a kernel that is still queued keeps its own.
bt_status bt_scratch(bt_ctx *, cudaStream_t, size_t bytes, void **out);
// Zeroed device memory that lives until the context is closed: tables that are made once.
bt_status bt_keep(bt_ctx *, size_t bytes, void **out);
// The stream behind a runtime handle.
bt_stream *bt_stream_of(bt_ctx *, cudaStream_t);
// Makes the context's device the current one of this OS thread; every entry of the table calls it first.
bt_status bt_current(bt_ctx *);

template <class T> static inline T *bt_at(bt_ptr p) { return reinterpret_cast<T *>(static_cast<uintptr_t>(p)); }
static inline int64_t bt_ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }
