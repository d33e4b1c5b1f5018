// alloc.cu - memory of the device and pinned memory of the host. The program allocates once and divides by itself, so that
// nothing here needs to be fast; all memory is zero at first.
#include "internal.h"
#include <algorithm>
#include <cstring>

// Device memory begins on 256 bytes as cudaMalloc gives it, and no allocation is empty.
static size_t up(uint64_t bytes) { return bytes < 256 ? 256 : (bytes + 255) & ~(uint64_t)255; }

static bt_status no_memory(bt_ctx *c, uint64_t bytes, cudaError_t e) {
  if (e != cudaErrorMemoryAllocation) return bt_check(c, "allocate memory", e);
  cudaGetLastError(); // it stays pending otherwise, and the next launch would be blamed
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) free = total = 0;
  return bt_fail(c, BT_ENOMEM, "%s has no memory for %llu bytes: %zu of %zu are free", c->name, (unsigned long long)bytes, free,
                 total);
}

static bt_status device_new(bt_ctx *c, uint64_t bytes, void **out) {
  if (bytes > (uint64_t)1 << 46) return bt_fail(c, BT_ENOMEM, "%llu bytes are more than any device has", (unsigned long long)bytes);
  void *p = nullptr;
  cudaError_t e = cudaMalloc(&p, up(bytes));
  if (e != cudaSuccess) return no_memory(c, bytes, e);
  c->device_memory.push_back(p);
  *out = p;
  return BT_OK;
}

// Waits by asking: the runtime's own waiting calls know nothing of peers that do not come.
static bt_status settle(bt_ctx *c, bt_stream *s) {
  bt_status status;
  while ((status = bt_stream_query(c, s, 100000)) == BT_ENOTREADY) {}
  return status;
}

static bt_status zeroed(bt_ctx *c, uint64_t bytes, void **out) {
  bt_status status = device_new(c, bytes, out);
  if (status) return status;
  // The legacy default stream is none of ours: they are non-blocking ones. The memory must be zero before any of them uses it.
  status = bt_check(c, "clear memory", cudaMemsetAsync(*out, 0, up(bytes), c->streams[0]->s));
  return status ? status : settle(c, c->streams[0]);
}

static bool forget(std::vector<void *> *list, void *p) {
  auto at = std::find(list->begin(), list->end(), p);
  if (at == list->end()) return false;
  list->erase(at);
  return true;
}

bt_status bt_alloc(bt_ctx *c, uint64_t bytes, uint32_t, bt_ptr *out) {
  // Every allocation can be an operand of messages; ranks that allocate alike have the same offsets (symmetric), which
  // registered windows of NCCL would want.
  bt_status status = bt_current(c);
  if (status) return status;
  void *p = nullptr;
  if (!(status = zeroed(c, bytes, &p))) *out = static_cast<bt_ptr>(reinterpret_cast<uintptr_t>(p));
  return status;
}

bt_status bt_free(bt_ctx *c, bt_ptr p) {
  bt_status status = bt_current(c);
  if (status) return status;
  void *at = bt_at<void>(p);
  if (!p || !forget(&c->device_memory, at))
    return bt_fail(c, BT_EINVAL, "frees memory at 0x%llx, which this context did not allocate", (unsigned long long)p);
  // The call waits until the device is idle. What fails meanwhile is told by the stream that it fails, not here.
  for (bt_stream *s : c->streams) settle(c, s);
  return bt_check(c, "free memory", cudaFree(at));
}

bt_status bt_host_alloc(bt_ctx *c, uint64_t bytes, void **out) {
  bt_status status = bt_current(c);
  if (status) return status;
  void *p = nullptr;
  cudaError_t e = cudaHostAlloc(&p, up(bytes), cudaHostAllocDefault);
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return bt_fail(c, BT_ENOMEM, "this machine has no memory to pin for %llu bytes", (unsigned long long)bytes);
  }
  if ((status = bt_check(c, "allocate pinned memory", e))) return status;
  memset(p, 0, up(bytes));
  c->pinned.push_back(p);
  *out = p;
  return BT_OK;
}

bt_status bt_host_free(bt_ctx *c, void *p) {
  bt_status status = bt_current(c);
  if (status) return status;
  if (!forget(&c->pinned, p)) return bt_fail(c, BT_EINVAL, "frees host memory at %p, which this context did not allocate", p);
  for (bt_stream *s : c->streams) settle(c, s);
  return bt_check(c, "free pinned memory", cudaFreeHost(p));
}

bt_status bt_keep(bt_ctx *c, size_t bytes, void **out) { return zeroed(c, bytes, out); }

bt_status bt_scratch(bt_ctx *c, cudaStream_t s, size_t bytes, void **out) {
  bt_stream *on = nullptr;
  for (bt_stream *t : c->streams)
    if (t->s == s) on = t;
  if (!on) return bt_fail(c, BT_EINVAL, "asks for work space on a stream that is not one of this context");
  if (on->scratch_bytes < bytes) {
    // The smaller one stays until close: launches that are queued still use it. Doubling bounds what that wastes.
    size_t size = std::max(up(bytes), 2 * on->scratch_bytes);
    on->scratch_bytes = 0; // should it fail
    bt_status status = device_new(c, size, &on->scratch);
    if (status) return status;
    on->scratch_bytes = size;
  }
  *out = on->scratch;
  return BT_OK;
}

void bt_memory_close(bt_ctx *c) {
  for (void *p : c->device_memory) cudaFree(p);
  for (void *p : c->pinned) cudaFreeHost(p);
}
