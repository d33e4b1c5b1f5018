// bt_emu_runtime.cc - the CUDA runtime's calls: the device's description, memory, copies, streams and events.
#include "bt_emu_streams.h"
#include "bt_emu_switch.h"
#include <algorithm>
#include <map>
#include <unistd.h>
using namespace emu;

static std::map<void *, size_t> *allocated() {
  static auto *m = new std::map<void *, size_t>; // by address; never destroyed, as the lock
  return m;
}
static std::map<Event *, std::shared_ptr<Event>> *events() {
  static auto *m = new std::map<Event *, std::shared_ptr<Event>>;
  return m;
}
static size_t used;
static size_t total() { return (size_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
  if (device < 0 || device >= 64) return launch_error(cudaErrorInvalidDevice);
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "emulated device");
  p->totalGlobalMem = total();
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = M.opt.max_shared;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->regsPerBlock = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->major = 9;
  p->multiProcessorCount = 1;
  p->l2CacheSize = 1 << 20;
  p->pciBusID = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int device) {
  cudaDeviceProp p;
  if (cudaError_t e = cudaGetDeviceProperties(&p, device)) return e;
  switch (what) {
  case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; return cudaSuccess;
  case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; return cudaSuccess;
  case cudaDevAttrComputeCapabilityMajor: *value = p.major; return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor: *value = p.minor; return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; return cudaSuccess;
  }
  return launch_error(cudaErrorInvalidValue);
}
cudaError_t cudaDriverGetVersion(int *v) {
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *v) { return cudaDriverGetVersion(v); }
cudaError_t cudaMemGetInfo(size_t *free, size_t *all) {
  Guard g(lock());
  *all = total();
  *free = *all > used ? *all - used : 0;
  return cudaSuccess;
}
cudaError_t bt_func_set_attribute(cudaFuncAttribute, int value) {
  return value >= 0 && (size_t)value <= M.opt.max_shared ? cudaSuccess : launch_error(cudaErrorInvalidValue);
}

// Memory begins as NaN, so that what nobody wrote never looks right. AddressSanitizer sees the end of each allocation.
static cudaError_t take(void **p, size_t n) {
  Guard g(lock());
  *p = nullptr;
  size_t whole = (n + 255) / 256 * 256;
  if (n == 0) return cudaSuccess;
  if (n > total() || !(*p = aligned_alloc(256, whole))) return launch_error(cudaErrorMemoryAllocation);
  memset(*p, 0xff, whole);
  poison((char *)*p + n, whole - n);
  (*allocated())[*p] = n;
  used += n;
  return cudaSuccess;
}
static cudaError_t give(void *p) {
  if (!p) return cudaSuccess;
  if (cudaError_t e = cudaDeviceSynchronize()) (void)e; // freeing waits, as the real call does; a fault does not keep memory
  Guard g(lock());
  auto it = allocated()->find(p);
  if (it == allocated()->end()) return launch_error(cudaErrorInvalidValue);
  size_t whole = (it->second + 255) / 256 * 256;
  used -= it->second;
  allocated()->erase(it);
  unpoison(p, whole);
  free(p);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **p, size_t n) { return take(p, n); }
cudaError_t cudaFree(void *p) { return give(p); }
cudaError_t cudaMallocHost(void **p, size_t n) { return take(p, n); }
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned) { return take(p, n); }
cudaError_t cudaFreeHost(void *p) { return give(p); }

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind, cudaStream_t s) {
  if (n && (!to || !from)) return launch_error(cudaErrorInvalidValue);
  push(s, [=] {
    if (n) memcpy(to, from, n);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                              cudaMemcpyKind, cudaStream_t s) {
  if (width > to_pitch || width > from_pitch) return launch_error(cudaErrorInvalidValue);
  push(s, [=] {
    for (size_t r = 0; r < height; r++) memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height, cudaStream_t s) {
  if (width > pitch) return launch_error(cudaErrorInvalidValue);
  push(s, [=] {
    for (size_t r = 0; r < height; r++) memset((char *)p + r * pitch, value, width);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t s) {
  push(s, [=] {
    if (n) memset(p, value, n);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind) {
  cudaError_t e = cudaMemcpyAsync(to, from, n, kind, nullptr);
  return e ? e : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemset(void *p, int value, size_t n) {
  cudaMemsetAsync(p, value, n, nullptr);
  return cudaStreamSynchronize(nullptr);
}

cudaError_t cudaStreamCreate(cudaStream_t *s) {
  Guard g(lock());
  *s = new_stream();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return cudaStreamCreate(s); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) { return cudaStreamCreate(s); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  Guard g(lock());
  if (s) destroy_stream(s);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
  Guard g(lock());
  s = stream_of(s);
  run_ready();
  if (cudaError_t e = status()) return e;
  return s->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  {
    Guard g(lock());
    s = stream_of(s);
  }
  drain([=] { return s->queue.empty(); });
  return status();
}
cudaError_t cudaDeviceSynchronize() {
  int device = current_device();
  drain([=] { return idle(device); });
  return status();
}
cudaError_t cudaDeviceReset() {
  cudaDeviceSynchronize();
  Guard g(lock());
  clear_fault();
  cudaGetLastError();
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t f, void *arg) {
  push(s, [=] {
    f(arg);
    return true;
  });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags) {
  Guard g(lock());
  auto made = std::make_shared<Event>();
  made->timing = !(flags & cudaEventDisableTiming);
  *e = made.get();
  (*events())[*e] = made;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { return cudaEventCreateWithFlags(e, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  Guard g(lock());
  return events()->erase(e) ? cudaSuccess : launch_error(cudaErrorInvalidResourceHandle);
}
static std::shared_ptr<Event> known(cudaEvent_t e) {
  auto it = events()->find(e);
  return it == events()->end() ? nullptr : it->second;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  Guard g(lock());
  auto event = known(e);
  if (!event) return launch_error(cudaErrorInvalidResourceHandle);
  uint64_t k = ++event->recorded;
  push(s, [=] {
    if (k > event->done) {
      event->done = k;
      event->at = now();
    }
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  Guard g(lock());
  auto event = known(e);
  if (!event) return launch_error(cudaErrorInvalidResourceHandle);
  uint64_t k = event->recorded;
  push(s, [=] { return event->done >= k; });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  Guard g(lock());
  auto event = known(e);
  if (!event) return launch_error(cudaErrorInvalidResourceHandle);
  run_ready();
  if (cudaError_t bad = status()) return bad;
  return event->done >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  std::shared_ptr<Event> event;
  {
    Guard g(lock());
    if (!(event = known(e))) return launch_error(cudaErrorInvalidResourceHandle);
  }
  uint64_t k = event->recorded;
  drain([=] { return event->done >= k; });
  return status();
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  Guard g(lock());
  auto a = known(from), b = known(to);
  if (!a || !b || !a->timing || !b->timing || !a->recorded || !b->recorded) return launch_error(cudaErrorInvalidResourceHandle);
  if (a->done < a->recorded || b->done < b->recorded) return cudaErrorNotReady;
  *ms = (float)((b->at - a->at) * 1e3);
  return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t e) {
  static thread_local std::string text;
  switch (e) {
  case cudaSuccess: return "no error";
  case cudaErrorInvalidValue: return "invalid argument";
  case cudaErrorMemoryAllocation: return "out of memory";
  case cudaErrorInvalidConfiguration: return "invalid configuration of a launch";
  case cudaErrorNoDevice: return "no CUDA-capable device is detected";
  case cudaErrorInvalidDevice: return "invalid device ordinal";
  case cudaErrorInvalidResourceHandle: return "invalid resource handle";
  case cudaErrorNotReady: return "device not ready";
  case cudaErrorLaunchFailure: {
    Guard g(lock());
    text = fault();
    return text.empty() ? "unspecified launch failure" : text.c_str();
  }
  }
  return "unknown error";
}
const char *cudaGetErrorName(cudaError_t e) {
  switch (e) {
  case cudaSuccess: return "cudaSuccess";
  case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
  case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
  case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
  case cudaErrorNotReady: return "cudaErrorNotReady";
  case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
  }
  return "cudaErrorUnknown";
}
