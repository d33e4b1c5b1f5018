// internal.h - what the files of the library share: the context, how a failure is told, work space.
// Start at context.cu (the table), then dispatch.cu (from an operation to its launcher) and stream.cu.
#pragma once
#include "bt_cuda.h"
#include "boost_backend.h"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct bt_libraries; // library.h: cuBLASLt, NCCL, the driver, opened at run time
struct bt_gemms;     // gemm.cu: products that have been prepared
struct bt_clock;     // stream.cu: from the device's time to Unix time

// One stream. Its failure stays, and is that of every stream that waits for it.
struct bt_stream {
  bt_ctx *ctx;
  cudaStream_t s = nullptr;
  uint64_t issued = 0;            // launches, records and waits so far
  bool messages = false;          // collectives since the latest record
  std::vector<bt_stream *> after; // the streams whose events it has waited for
  int failed = BT_OK;
  uint64_t failed_ticket = 0; // 0: unknown
  char error[BT_ERRLEN] = "";
  void *scratch = nullptr;
  size_t scratch_bytes = 0;
};

struct bt_event {
  cudaEvent_t e = nullptr;
  bt_stream *on = nullptr; // of the latest record
  uint64_t ticket = 0;
  int base = 0;                     // of bt_clock
  std::atomic<int64_t> wait_ns{-1}; // for peers, since the stream's previous record; -1: unknown
};

struct bt_ctx {
  char err[BT_ERRLEN] = ""; // of the latest failure
  bt_options opt = {};
  int device = 0;
  int multiprocessors = 0;  // SMs
  int major = 0, minor = 0; // compute capability
  int max_shared = 0;       // bytes of shared memory that one block may ask for, after opting in
  int max_threads = 0;      // per block
  char name[128] = "", isa[16] = "";
  bt_libraries *lib = nullptr;
  bt_gemms *gemms = nullptr;
  bt_clock *clock = nullptr;
  std::vector<bt_stream *> streams; // compute is the first
  int failed_streams = 0;
  std::vector<bt_event *> events;
  std::vector<bt_comm *> comms;
  std::vector<void *> device_memory, pinned; // freed by close
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
// Makes the context's device the current one of this OS thread; every entry of the table calls it first.
bt_status bt_current(bt_ctx *);
cudaError_t bt_use_device(int device); // likewise, for threads that must not write into a context

template <class T> static inline T *bt_at(bt_ptr p) { return reinterpret_cast<T *>(static_cast<uintptr_t>(p)); }
static inline int64_t bt_ceil(int64_t n, int64_t by) { return (n + by - 1) / by; }

// What the parts of the library offer each other.
// alloc.cu
bt_status bt_alloc(bt_ctx *, uint64_t bytes, uint32_t flags, bt_ptr *);
bt_status bt_free(bt_ctx *, bt_ptr);
bt_status bt_host_alloc(bt_ctx *, uint64_t bytes, void **);
bt_status bt_host_free(bt_ctx *, void *);
void bt_memory_close(bt_ctx *);
// stream.cu
bt_status bt_clock_open(bt_ctx *);
void bt_streams_close(bt_ctx *);
int64_t bt_monotonic(void);                   // ns
bt_stream *bt_compute(bt_ctx *, bt_stream *); // a NULL stream is the compute stream
bt_status bt_stream_new(bt_ctx *, bt_stream **);
uint64_t bt_stream_issued(bt_stream *);
bt_status bt_stream_wait(bt_ctx *, bt_stream *, bt_event *);
bt_status bt_stream_query(bt_ctx *, bt_stream *, int32_t wait_us);
bt_status bt_stream_error(bt_ctx *, bt_stream *, const char **text, uint64_t *ticket);
bt_status bt_event_new(bt_ctx *, bt_event **);
bt_status bt_event_record(bt_ctx *, bt_event *, bt_stream *);
bt_status bt_event_time(bt_ctx *, bt_event *, int32_t wait_us, bt_time *);
bt_status bt_sticky(bt_ctx *, bt_stream *); // the failure of the stream, or of one that it waits for
void bt_stream_fail(bt_stream *, bt_status, uint64_t ticket, const char *text);
// dispatch.cu
bt_status bt_launch(bt_ctx *, bt_stream *, const bt_head *);
// gemm.cu
bt_status bt_gemms_open(bt_ctx *);
void bt_gemms_close(bt_ctx *);
bt_status bt_gemm_algorithm(bt_ctx *, const bt_op *, int32_t which, int32_t *count);
// comm.cu, message.cu
bt_status bt_comm_uid(bt_ctx *, bt_uid *);
bt_status bt_comm_join(bt_ctx *, const bt_uid *, int32_t n, int32_t rank, const char *name, bt_comm **);
bt_status bt_comm_ready(bt_comm *, int32_t wait_us);
bt_status bt_comm_status(bt_comm *, char *text, size_t len);
bt_status bt_comm_end(bt_comm *, int32_t how);
bt_status bt_comm_oldest(bt_comm *, bt_under_way *);
bt_status bt_message(bt_ctx *, bt_stream *, const bt_coll *);
// Looks after messages that are under way; what has failed fails its stream. certain: also where another thread is at it.
void bt_comms_watch(bt_ctx *, bool certain);
void bt_comms_close(bt_ctx *);
