// fake_machine.cc - machines that the emulator can be, for tests of what is said about unfit ones: further words of the mode, as
// "cc=7.0" (a device of that compute capability), "driver=none", "driver=12.4".
#include "bt_emu.h"
#include "library.h"
#include <atomic>
#include <mutex>
#include <sstream>

namespace {
struct machine {
  int major = 0, minor = 0;
  std::string driver;
};
std::mutex &lock() {
  static auto *m = new std::mutex;
  return *m;
}
machine &now() {
  static auto *m = new machine;
  return *m;
}
} // namespace

const char *bt_fake_mode(const char *mode) {
  machine m;
  std::string rest;
  std::istringstream words(mode);
  for (std::string w; words >> w;) {
    if (!w.compare(0, 3, "cc=")) {
      if (sscanf(w.c_str() + 3, "%d.%d", &m.major, &m.minor) != 2) return "cc= wants a compute capability, as 7.0";
    } else if (!w.compare(0, 7, "driver=")) m.driver = w.substr(7);
    else rest += w + " ";
  }
  if (const char *bad = emu::set_mode(rest.c_str())) return bad;
  std::lock_guard<std::mutex> g(lock());
  now() = m;
  return nullptr;
}

int bt_fake_device(void) {
  static std::atomic<unsigned> next{0};
  int n = 1;
  cudaGetDeviceCount(&n);
  return (int)(next++ % (unsigned)n);
}

void bt_fake_capability(int *major, int *minor) {
  std::lock_guard<std::mutex> g(lock());
  if (now().major) *major = now().major, *minor = now().minor;
}

bt_library bt_driver_find(void) {
  std::lock_guard<std::mutex> g(lock());
  bt_library d;
  d.path = d.version = "emulated";
  if (now().driver == "none") d.why = "no NVIDIA driver: libcuda.so.1 cannot be opened";
  else if (!now().driver.empty()) d.why = bt_driver_too_old(now().driver);
  return d;
}
