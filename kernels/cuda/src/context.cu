// context.cu - the table of the CUDA library: opening and closing a context, what a device is, and what there is on a machine.
// Start here: launch leads to dispatch.cu, from there to the kernels (kernels.h says where), gemm.cu and message.cu.
#include "library.h"
#include "range.h"
#include <cstdarg>
#include <cstdio>
#include <cstring>

enum { OLDEST_MAJOR = 8 }; // Ampere: bf16 on the tensor cores

bt_status bt_fail(bt_ctx *c, bt_status status, const char *format, ...) {
  char text[BT_ERRLEN]; // an argument may be the text that is replaced
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  memcpy(c->err, text, sizeof text);
  return status;
}

bt_status bt_check(bt_ctx *c, const char *what, cudaError_t e) {
  if (e == cudaSuccess) return BT_OK;
  return bt_fail(c, e == cudaErrorMemoryAllocation ? BT_ENOMEM : BT_EDEVICE, "%s: %s", what, cudaGetErrorString(e));
}

cudaError_t bt_use_device(int device) {
  static thread_local int current = -1; // asking the runtime each time would cost more than a launch's other checks together
  if (current == device) return cudaSuccess;
  cudaError_t e = cudaSetDevice(device);
  current = e == cudaSuccess ? device : -1;
  return e;
}

bt_status bt_current(bt_ctx *c) { return bt_check(c, "choose the device", bt_use_device(c->device)); }

static bt_status find_device(bt_ctx *c) {
  int n = 0;
  if (!c->lib->driver.found()) return bt_fail(c, BT_EUNSUPPORTED, "%s", c->lib->driver.why.c_str());
  cudaError_t e = cudaGetDeviceCount(&n);
  if (e == cudaErrorNoDevice || (e == cudaSuccess && n < 1))
    return bt_fail(c, BT_EUNSUPPORTED, "this machine has no CUDA device that may be used (CUDA_VISIBLE_DEVICES)");
  if (e != cudaSuccess) return bt_check(c, "look for devices", e);
  if (c->device < 0 || c->device >= n)
    return bt_fail(c, BT_EINVAL, "there is no device %d: they are numbered from 0 to %d", c->device, n - 1);
  return BT_OK;
}

static bt_status ask_device(bt_ctx *c) {
  cudaDeviceProp p;
  bt_status status = bt_check(c, "ask the device", cudaGetDeviceProperties(&p, c->device));
  if (status) return status;
  snprintf(c->name, sizeof c->name, "%.120s", p.name);
  const struct {
    int *to;
    cudaDeviceAttr what;
  } all[] = {{&c->multiprocessors, cudaDevAttrMultiProcessorCount},
             {&c->major, cudaDevAttrComputeCapabilityMajor},
             {&c->minor, cudaDevAttrComputeCapabilityMinor},
             {&c->max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin},
             {&c->max_threads, cudaDevAttrMaxThreadsPerBlock}};
  for (auto &a : all)
    if ((status = bt_check(c, "ask the device", cudaDeviceGetAttribute(a.to, a.what, c->device)))) return status;
#ifdef BT_EMU
  bt_fake_capability(&c->major, &c->minor);
#endif
  snprintf(c->isa, sizeof c->isa, "sm_%d%d", c->major, c->minor);
  if (c->major < OLDEST_MAJOR)
    return bt_fail(c, BT_EUNSUPPORTED,
                   "device %d, %s, is too old: it has compute capability %d.%d, and %d.0 (Ampere) or later is needed", c->device,
                   c->name, c->major, c->minor, OLDEST_MAJOR);
  return BT_OK;
}

#ifdef BT_EMU
int bt_fake_device(void); // emu/fake_machine.cc: a device that no other context has
#endif

static void context_close(bt_ctx *c) {
  if (bt_current(c) == BT_OK) {
    bt_comms_close(c); // messages that will never be over are ended
    for (bt_stream *s : c->streams) cudaStreamSynchronize(s->s);
    bt_gemms_close(c);
    bt_streams_close(c);
    bt_memory_close(c);
  }
  if (c->lib) bt_libraries_close(c->lib);
  delete c;
}

static bt_status context_open(const bt_options *o, bt_ctx **out, char *err, size_t errlen) {
  if (o->size < sizeof *o) { // an older program
    snprintf(err, errlen, "options of %u bytes; this library wants %zu", o->size, sizeof *o);
    return BT_EINVAL;
  }
  bt_ctx *c = new bt_ctx;
  c->opt = *o;
  c->device = o->device;
  c->lib = new bt_libraries;
  bt_status status = BT_OK;
#ifdef BT_EMU
  const char *bad = bt_fake_mode(o->mode);
  if (bad) status = bt_fail(c, BT_EINVAL, "mode \"%.63s\": %s", o->mode, bad);
#endif
  if (!status) {
    bt_libraries_open(c->lib, o->cublaslt, o->nccl);
    status = find_device(c);
  }
#ifdef BT_EMU
  // Ranks may be threads of one process there: on one device, freeing memory would wait for what others run, and they for this one.
  if (!status) c->device = bt_fake_device();
#endif
  if (!status) status = bt_current(c);
  if (!status) status = ask_device(c);
  if (!status && !c->lib->lt_file.found()) status = bt_fail(c, BT_EUNSUPPORTED, "cuBLASLt: %s", c->lib->lt_file.why.c_str());
  bt_stream *compute = nullptr;
  if (!status) status = bt_stream_new(c, &compute);
  if (!status) status = bt_clock_open(c);
  if (!status) status = bt_gemms_open(c);
  if (status) {
    snprintf(err, errlen, "%s", c->err);
    context_close(c);
    return status;
  }
  *out = c;
  return BT_OK;
}

static const char *context_error(bt_ctx *c) { return c->err; }
static const char *context_isa(bt_ctx *c) { return c->isa; }

static void line(char *text, size_t len, const std::string &l) {
  size_t at = strlen(text);
  snprintf(text + at, len - at, "%s\n", l.c_str());
}
// "what<TAB>version, path<TAB>state"
static std::string library_line(const char *what, const bt_library &l, bool state) {
  std::string path = l.path, why = l.why;
  bt_one_line(&path[0]), bt_one_line(&why[0]);
  if (path == l.version) path = "";
  std::string s = std::string(what) + "\t" + l.version + (path.empty() || l.version.empty() ? "" : ", ") + path;
  return state ? s + "\t" + (l.found() ? "ok" : why) : s;
}

static std::string dotted(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

static bt_status context_info(bt_ctx *c, bt_info *out) {
  bt_status status = bt_current(c);
  size_t free = 0, total = 0;
  if (!status) status = bt_check(c, "ask for memory", cudaMemGetInfo(&free, &total));
  if (status) return status;
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  out->multiprocessors = c->multiprocessors;
  out->memory_total = total, out->memory_free = free;
  snprintf(out->name, sizeof out->name, "%s", c->name);
  out->text[0] = 0;
  line(out->text, sizeof out->text, "compute capability\t" + std::to_string(c->major) + "." + std::to_string(c->minor));
  line(out->text, sizeof out->text, library_line("driver", c->lib->driver, false));
  line(out->text, sizeof out->text, "CUDA runtime\t" + dotted(runtime));
  line(out->text, sizeof out->text, library_line("cuBLASLt", c->lib->lt_file, false));
  if (c->lib->nccl_file.found()) line(out->text, sizeof out->text, library_line("NCCL", c->lib->nccl_file, false));
  return BT_OK;
}

static std::string device_line(int i) {
  cudaDeviceProp p;
  if (cudaGetDeviceProperties(&p, i) != cudaSuccess) return "device " + std::to_string(i) + "\t\tit cannot be asked";
  int major = p.major, minor = p.minor;
#ifdef BT_EMU
  bt_fake_capability(&major, &minor);
#endif
  char text[400];
  snprintf(text, sizeof text, "device %d\t%.200s, compute capability %d.%d, %.1f GiB, %d multiprocessors\t%s", i, p.name, major,
           minor, (double)p.totalGlobalMem / (1 << 30), p.multiProcessorCount,
           major < OLDEST_MAJOR ? "too old: compute capability 8.0 or later is needed" : "ok");
  return text;
}

static bt_status probe(const bt_options *o, bt_probe *out) {
  bt_libraries l;
#ifdef BT_EMU
  if (bt_fake_mode(o->mode)) return BT_EINVAL;
#endif
  bt_libraries_open(&l, o->cublaslt, o->nccl);
  out->devices = 0;
  out->text[0] = 0;
  int runtime = 0, n = 0;
  cudaRuntimeGetVersion(&runtime);
  line(out->text, sizeof out->text, library_line("driver", l.driver, true));
  line(out->text, sizeof out->text, "CUDA runtime\t" + dotted(runtime) + ", built in\tok");
  if (!l.driver.found() || cudaGetDeviceCount(&n) != cudaSuccess || n < 0) n = 0;
  cudaGetLastError(); // that there is none is no error here
  out->devices = n;
  if (!n) line(out->text, sizeof out->text, "devices\t0\tno GPU that may be used, for --device cuda");
#ifdef BT_EMU
  n = n > 1; // all of them are this processor
#endif
  for (int i = 0; i < n; i++) line(out->text, sizeof out->text, device_line(i));
  line(out->text, sizeof out->text, library_line("cuBLASLt", l.lt_file, true));
  line(out->text, sizeof out->text,
       library_line("NCCL", l.nccl_file, true) + (l.nccl_file.found() ? "" : " (for more than one rank)"));
  return BT_OK;
}

static const bt_api table = {BT_ABI,         sizeof(bt_api),
#ifdef BT_EMU
                             "emulated",
#else
                             "cuda",
#endif
                             context_open,   context_close,   context_error,   context_isa,   bt_alloc,
                             bt_free,        bt_host_alloc,   bt_host_free,    bt_stream_new, bt_stream_issued,
                             bt_stream_wait, bt_stream_query, bt_stream_error, bt_event_new,  bt_event_record,
                             bt_event_time,  bt_launch,       bt_comm_uid,     bt_comm_join,  bt_comm_ready,
                             bt_comm_status, bt_comm_end,     context_info,    probe,         bt_range,
                             bt_gemm_algorithm, bt_comm_oldest};

extern "C" __attribute__((visibility("default"))) const bt_api *bt_backend(uint32_t abi, uint32_t size) {
  return abi == BT_ABI && size <= sizeof(bt_api) ? &table : nullptr;
}
