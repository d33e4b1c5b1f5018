// bt_emu_streams.cc - queues of work, who runs them and when; modes.
#include "bt_emu_streams.h"
#include <map>
#include <sstream>
#include <time.h>

namespace emu {
static std::vector<Stream *> streams;
static std::map<int, Stream *> defaults; // by device
static thread_local int device_of_thread;
static thread_local cudaError_t last_error;
static uint64_t rng = 88172645463325252ull;

std::recursive_mutex &lock() {
  static auto *m = new std::recursive_mutex; // never destroyed: threads may outlive main
  return *m;
}
int current_device() { return device_of_thread; }
double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
static unsigned random_below(size_t n) {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return rng % n;
}

Stream *new_stream() {
  auto *s = new Stream;
  s->device = device_of_thread;
  streams.push_back(s);
  return s;
}
Stream *stream_of(Stream *s) {
  if (s) return s;
  Stream *&d = defaults[device_of_thread];
  if (!d) d = new_stream();
  return d;
}
static void collect() {
  for (size_t i = 0; i < streams.size();)
    if (streams[i]->destroyed && streams[i]->queue.empty()) {
      delete streams[i];
      streams.erase(streams.begin() + i);
    } else i++;
}
void destroy_stream(Stream *s) {
  s->destroyed = true;
  collect();
}
bool idle(int device) {
  for (Stream *s : streams)
    if (s->device == device && !s->queue.empty()) return false;
  return true;
}

static bool run_front(Stream *s) {
  if (s->queue.empty() || !s->queue.front().run()) return false;
  s->queue.pop_front();
  return true;
}

// One piece of work of a random stream that has some ready, in lazy mode; else what every stream has ready.
static bool step() {
  bool any = false;
  size_t n = streams.size(), first = n ? random_below(n) : 0;
  for (size_t i = 0; i < n; i++) {
    Stream *s = streams[(first + i) % n];
    bool ran = run_front(s);
    any |= ran;
    if (ran && M.opt.lazy) break;
    while (ran) ran = run_front(s);
  }
  if (any) collect();
  return any;
}
void run_ready() {
  while (step()) {}
}
void drain(const std::function<bool()> &until) {
  for (;;) {
    bool outside = false;
    {
      Guard g(lock());
      while (!until()) {
        if (step()) continue;
        for (Stream *s : streams) outside |= !s->queue.empty() && s->queue.front().pollable;
        if (outside) break;
        report("streams wait for each other: no event that any of them waits for can come");
        return;
      }
      if (!outside) return;
    }
    timespec pause = {0, 20000};
    nanosleep(&pause, nullptr);
  }
}

static void enqueue(Stream *s, std::function<bool()> run, bool pollable) {
  Guard g(lock());
  s = stream_of(s);
  if (!M.opt.lazy && s->queue.empty() && run()) return;
  s->queue.push_back({std::move(run), pollable});
}
void push(Stream *s, std::function<bool()> run) { enqueue(s, std::move(run), false); }
void push_pollable(Stream *s, std::function<bool()> poll) { enqueue(s, std::move(poll), true); }

cudaError_t status() {
  Guard g(lock());
  return fault().empty() ? cudaSuccess : cudaErrorLaunchFailure;
}
cudaError_t launch_error(cudaError_t e) { return last_error = e; }

// Decimal digits that 64 bits hold, and nothing else.
static bool number(const std::string &text, uint64_t *out) {
  *out = 0;
  for (char c : text)
    if (c < '0' || c > '9' || __builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, c - '0', out)) return false;
  return !text.empty();
}

// The program refuses the same before it opens anything: CheckMode (kernels/cuda/emulated.go).
const char *set_mode(const char *words) {
  Guard g(lock());
  bool random = false, lazy = false;
  uint64_t seed = 1;
  std::istringstream list(words ? words : "");
  for (std::string word; list >> word;) {
    if (!word.compare(0, 7, "random=")) {
      if (!number(word.substr(7), &seed)) return "the seed of random= is a number from 0 to 18446744073709551615";
      random = true;
    } else if (word == "random") random = true;
    else if (word == "lazy") lazy = true;
    else if (word != "order") return "the emulator's modes are order, random, random=SEED and lazy, with blanks between them";
  }
  M.opt.random = random;
  M.opt.lazy = lazy;
  M.opt.seed = seed;
  rng = 0x9E3779B97F4A7C15ull * (seed + 1) | 1;
  return nullptr;
}
} // namespace emu
using namespace emu;

cudaError_t cudaGetLastError() {
  cudaError_t e = status(), l = last_error;
  last_error = cudaSuccess;
  return e ? e : l;
}
cudaError_t cudaPeekAtLastError() {
  cudaError_t e = status();
  return e ? e : last_error;
}
// As many devices as ranks want: all of them are this processor.
enum { DEVICES = 64 };
cudaError_t cudaGetDeviceCount(int *n) {
  *n = DEVICES;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  if (d < 0 || d >= DEVICES) return launch_error(cudaErrorInvalidDevice);
  device_of_thread = d;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *d) {
  *d = device_of_thread;
  return cudaSuccess;
}
