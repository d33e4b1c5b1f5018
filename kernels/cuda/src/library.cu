// library.cu - cuBLASLt, NCCL and the driver: which versions will do, and their functions. search.cu finds the files.
#include "library.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

enum { LT_OLDEST = 120000, NCCL_OLDEST = NCCL_CONFIG_VERSION };

static std::string dotted(int major, int minor, int patch) {
  char text[40];
  snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
  return text;
}

// Numbers as 130002, and as 2803 or 21800: NCCL's scheme changed after 2.8.
static std::string lt_version(int n) { return dotted(n / 10000, n / 100 % 100, n % 100); }
static std::string nccl_version(int n) {
  return n < 10000 ? dotted(n / 1000, n / 100 % 10, n % 100) : dotted(n / 10000, n / 100 % 100, n % 100);
}

// The version before the functions: of a library that is too old, that is what to tell, and not which function it lacks.
static bool new_enough(bt_library *l, const bt_wanted *w, uint64_t number, std::string (*text)(int), int oldest) {
  if (!number || number >= 100000000) {
    l->why = l->path + " says that its version is " + std::to_string(number) + ", so that it is not " + w->what + ". " + w->install;
    return false;
  }
  l->number = static_cast<int>(number);
  l->version = text(l->number);
  if (l->number >= oldest) return true;
  l->why = l->path + " is version " + l->version + ", too old; " + text(oldest) + " or later is needed. " + w->install;
  return false;
}

static void open_lt(bt_libraries *l, const char *path) {
  static const char *const symbols[] = {
#define X(member, symbol, result, args) #symbol,
      LT_FUNCTIONS(X)
#undef X
  };
  const bt_wanted *w = bt_wanted_lt();
  bt_library *f = &l->lt_file;
  if (!bt_library_search(w, path, f)) return;
  auto version = reinterpret_cast<size_t (*)(void)>(dlsym(f->handle, "cublasLtGetVersion"));
  if (version && !new_enough(f, w, version(), lt_version, LT_OLDEST)) return;
  bt_library_symbols(f, w, symbols, reinterpret_cast<void **>(&l->lt), sizeof symbols / sizeof *symbols);
}

static void open_nccl(bt_libraries *l, const char *path) {
  static const char *const symbols[] = {
#define X(member, symbol, result, args) #symbol,
      NCCL_FUNCTIONS(X)
#undef X
  };
  // With several communicators on one GPU their kernels must start in the order in which they were issued. NCCL reads this once.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  const bt_wanted *w = bt_wanted_nccl();
  bt_library *f = &l->nccl_file;
  if (!bt_library_search(w, path, f)) return;
  auto version = reinterpret_cast<int32_t (*)(int *)>(dlsym(f->handle, "ncclGetVersion"));
  int number = 0;
  if (version && !new_enough(f, w, version(&number) || number < 0 ? 0 : (uint64_t)number, nccl_version, NCCL_OLDEST)) return;
  bt_library_symbols(f, w, symbols, reinterpret_cast<void **>(&l->nccl), sizeof symbols / sizeof *symbols);
}

// A runtime works with the drivers of its own major version and later ones.
#ifdef CUDART_VERSION
enum { BT_CUDA_MAJOR = CUDART_VERSION / 1000 };
#else
enum { BT_CUDA_MAJOR = 13 };
#endif
std::string bt_driver_too_old(const std::string &version) {
  return "the NVIDIA driver is for CUDA " + version + ", too old; this library needs one for CUDA " +
         std::to_string(BT_CUDA_MAJOR) + ".0 or later";
}

#ifdef BT_EMU
// What stands for the libraries, unless options name real ones, as tests do. The environment names those of the cuda device.
static void use_fakes(bt_libraries *l, const char *cublaslt, const char *nccl) {
  if (!*cublaslt) {
    l->lt = *bt_fake_lt();
    l->lt_file.path = "emulated";
    l->lt_file.number = static_cast<int>(l->lt.version());
    l->lt_file.version = lt_version(l->lt_file.number);
  }
  if (!*nccl) {
    l->nccl = *bt_fake_nccl();
    l->nccl_file.path = "emulated";
    l->nccl.version(&l->nccl_file.number);
    l->nccl_file.version = nccl_version(l->nccl_file.number);
  }
}
#else
static void use_fakes(bt_libraries *, const char *, const char *) {}

bt_library bt_driver_find(void) {
  bt_library d;
  void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); // the loader knows where the driver put it
  if (!h) {
    d.why = "no NVIDIA driver: libcuda.so.1 cannot be opened";
    return d;
  }
  auto version = reinterpret_cast<int (*)(int *)>(dlsym(h, "cuDriverGetVersion"));
  Dl_info info;
  if (!version || version(&d.number)) d.why = "libcuda.so.1 does not say its version: it is not NVIDIA's driver";
  else if (dladdr(reinterpret_cast<void *>(version), &info) && info.dli_fname) d.path = info.dli_fname;
  char text[40];
  snprintf(text, sizeof text, "%d.%d", d.number / 1000, d.number % 1000 / 10);
  d.version = text;
  if (d.why.empty() && d.number < BT_CUDA_MAJOR * 1000) d.why = bt_driver_too_old(d.version);
  return d;
}
#endif

void bt_libraries_open(bt_libraries *l, const char *cublaslt, const char *nccl) {
  l->driver = bt_driver_find();
  use_fakes(l, cublaslt, nccl);
  if (!l->lt.version) open_lt(l, cublaslt);
  if (!l->nccl.version) open_nccl(l, nccl);
}

// Handles of libraries are kept: NCCL's threads may outlive a context, and unloading under them would crash.
void bt_libraries_close(bt_libraries *l) { delete l; }
