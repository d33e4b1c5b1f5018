// bt_emu.h - the emulator's side of bt_cuda.h: CUDA kernels on the CPU. The threads of a block are fibers of one OS thread, which
// switch at barriers and warp operations only. What a GPU would do by chance or not at all is reported: barriers that not all
// threads reach, lanes missing from a warp operation, misaligned accesses, too much shared memory. Shared and device memory
// begin as NaN. Compiled with -DBT_RACECHECK every access to shared memory is checked, too (bt_emu_race.h).
// Start reading in bt_emu.cc. The runtime's calls are in bt_emu_runtime.h.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define BT_UNROLL
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emu {
enum State : uint8_t { RUN, WAIT_BLOCK, WAIT_WARP, DONE };
struct Async { // a copy to shared memory that nobody has waited for
  std::function<void()> land;
  uint32_t group;
};
struct Fiber {
  void *sp = nullptr;
  char *stack = nullptr;
  dim3 tid;
  unsigned lin = 0; // the thread's number in its block
  State state = RUN;
  uint32_t warp_epoch = 0;
  const char *where = "";
  int line = 0;
  uint32_t group = 0; // of asynchronous copies
  std::vector<Async> asyncs;
  void *fake = nullptr; // AddressSanitizer's
};
enum { LANES = 32, WORDS = 3 }; // words of 64 bits that one warp operation carries per lane
struct Warp {
  uint64_t slot[2][LANES][WORDS];
  uint32_t gen = 0, arrived = 0, need = 0, exited = 0;
};
struct Options {
  bool random = false, lazy = false;
  uint64_t seed = 1;
  size_t max_shared = 227 * 1024; // what a block of compute capability 9.0 may have
};
// The state of the one kernel that runs at a time; whoever runs it holds the runtime's lock.
struct Machine {
  Options opt;
  Fiber *cur = nullptr;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  unsigned threads = 0, waiting = 0, done = 0;
  uint32_t epoch = 1; // counts barriers
  uint64_t block_serial = 0;
  dim3 grid, block, bid;
  const char *kernel = "", *types = ""; // as BT_LAUNCH names it, and a signature that tells instances of a template apart
  const std::function<void()> *body = nullptr;
  size_t dyn_bytes = 0;
  uint64_t switches = 0, blocks = 0; // ever
};
extern Machine M;

void block_barrier(const char *file, int line);
// Gives n words to the other lanes of the warp; theirs are in slot[g & 1] of the result g until this lane's next exchange but one.
uint32_t warp_exchange(unsigned mask, const uint64_t *words, int n, const char *file, int line);
// A mistake of a kernel: the first one fails the device for good, as a fault does on a GPU, and is its text.
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_grid(const char *name, const char *types, dim3 grid, dim3 block, size_t dyn_bytes, const std::function<void()> &body);
void async_copy(std::function<void()> land);
void async_commit();
void async_wait(unsigned n);
inline unsigned lane() { return M.cur->lin & 31; }
inline Warp &warp() { return M.warps[M.cur->lin >> 5]; }
inline void aligned(const void *p, size_t n, const char *what) {
  if ((uintptr_t)p % n) report("%s of %zu bytes at the misaligned address %p", what, n, p);
}

// One declaration of shared memory in a kernel: the first thread of a block that comes by gets the memory for all.
struct Slot {
  const char *name;
  int line;
  uint64_t serial = 0;
  char *p = nullptr;
  void *shadow = nullptr;
};
char *smem_alloc(Slot &, size_t bytes, size_t elements);
} // namespace emu

#define threadIdx (emu::M.cur->tid)
#define blockIdx (emu::M.bid)
#define blockDim (emu::M.block)
#define gridDim (emu::M.grid)
#define __syncthreads() emu::block_barrier(__FILE__, __LINE__)
#define __syncwarp(...) bt_emu_syncwarp(__FILE__, __LINE__)

#if defined(BT_RACECHECK)
#include "bt_emu_race.h"
#else
#define BT_SPTR(T) T *
namespace emu {
template <class T> T *smem(Slot &s, size_t n) { return (T *)smem_alloc(s, n * sizeof(T), n); }
template <class T> T *touch(T *p, size_t, bool) { return p; }
} // namespace emu
#endif
#define BT_SMEM(T, name, N)                                                                                                        \
  static emu::Slot name##_slot{#name, __LINE__};                                                                                   \
  BT_SPTR(T) name = emu::smem<T>(name##_slot, N)
#define BT_SMEM_DYN(T, name)                                                                                                       \
  static emu::Slot name##_slot{#name, __LINE__};                                                                                   \
  BT_SPTR(T) name = emu::smem<T>(name##_slot, emu::M.dyn_bytes / sizeof(T))

#include "bt_emu_device.h"
#include "bt_emu_runtime.h"
