// bt_emu.cc - runs the blocks of a grid: fibers, barriers, warp operations, shared memory. Reading order: run_grid, run_block,
// block_barrier, warp_exchange. bt_emu_switch.cc switches stacks, bt_emu_runtime.cc is what surrounds kernels.
#include "bt_emu.h"
#include "bt_emu_switch.h"
#include <algorithm>
#include <cstdarg>
#include <sys/mman.h>

namespace emu {
Machine M;
static void *scheduler;
static char *arena;
static size_t arena_used;
static const size_t ARENA = 1 << 20, MOST_SHARED = 228 * 1024;
static uint64_t rng = 1;
static std::string first_fault;

static uint64_t random_number() {
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return rng;
}

// Of a template BT_LAUNCH knows the parameters' names alone; the type of its first argument says which kernel it is.
static std::string first_type() {
  const char *p = strchr(M.kernel, '<') ? strstr(M.types, "KA = {") : nullptr;
  if (!p) return "";
  std::string of = " of ";
  int deep = 0;
  for (p += 6; *p && *p != '}' && (*p != ',' || deep); p++) {
    deep += *p == '<' ? 1 : *p == '>' ? -1 : 0;
    of += *p;
  }
  return of;
}

void report(const char *format, ...) {
  if (!first_fault.empty()) return;
  char text[512], all[900];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (M.cur)
    snprintf(all, sizeof all, "kernel %s%s, block (%u,%u,%u), thread %u: %s", M.kernel, first_type().c_str(), M.bid.x, M.bid.y,
             M.bid.z, M.cur->lin, text);
  else snprintf(all, sizeof all, "%s", text);
  first_fault = all;
}
std::string fault() { return first_fault; }
void clear_fault() { first_fault.clear(); }

#ifdef BT_RACECHECK
void race(const char *kind, const Slot *a, size_t i, int other) {
  if (other < 0) report("%s of shared %s[%zu] (declared in line %d)", kind, a->name, i, a->line);
  else report("%s hazard on shared %s[%zu] (declared in line %d) with thread %d", kind, a->name, i, a->line, other);
}
#endif

static void yield() {
  M.switches++;
  switch_from_fiber(M.cur, scheduler, M.cur->state == DONE);
}

static void fiber_main() {
  fiber_begins();
  (*M.body)();
  M.cur->state = DONE;
  M.done++;
  yield();
  abort(); // nobody resumes a fiber that is done
}

static void resume(Fiber *f) {
  M.cur = f;
  switch_to_fiber(f, scheduler);
}

static unsigned barrier_line;
static const char *barrier_file;

void block_barrier(const char *file, int line) {
  Fiber *f = M.cur;
  f->state = WAIT_BLOCK;
  f->where = file;
  f->line = line;
  if (M.waiting++ == 0) {
    barrier_file = file;
    barrier_line = line;
  } else if (barrier_line != (unsigned)line || strcmp(barrier_file, file) != 0) {
    report("__syncthreads at %s:%d while other threads are at the one at %s:%u", file, line, barrier_file, barrier_line);
  }
  yield();
}

uint32_t warp_exchange(unsigned mask, const uint64_t *words, int n, const char *file, int line) {
  Fiber *f = M.cur;
  Warp &w = warp();
  unsigned me = lane();
  uint32_t g = w.gen;
  if (!(mask >> me & 1)) report("lane %u is not in the mask %08x of its warp operation (%s:%d)", me, mask, file, line);
  if (w.arrived == 0) w.need = mask;
  else if (w.need != mask) report("lanes of one warp give different masks (%s:%d)", file, line);
  if (w.exited & mask) report("warp operation after some of its lanes returned (%s:%d)", file, line);
  for (int i = 0; i < n; i++) w.slot[g & 1][me][i] = words[i];
  w.arrived |= 1u << me;
  f->where = file;
  f->line = line;
  if (((w.arrived | w.exited) & w.need) != w.need) {
    f->state = WAIT_WARP;
    yield();
    return g;
  }
  unsigned base = f->lin & ~31u;
  for (unsigned i = 0; i < LANES; i++)
    if (w.arrived >> i & 1) {
      M.fibers[base + i].state = RUN;
      M.fibers[base + i].warp_epoch++;
    }
  w.arrived = 0;
  w.gen++;
  return g;
}

char *smem_alloc(Slot &s, size_t bytes, size_t elements) {
  if (s.serial == M.block_serial) return s.p;
  size_t off = (arena_used + 127) & ~(size_t)127;
  if (off + bytes > MOST_SHARED) {
    report("%zu bytes of shared memory, more than %zu", off + bytes, MOST_SHARED);
    if (off + bytes + 32 > ARENA) off = 0;
  }
  s.p = arena + off;
  s.serial = M.block_serial;
  arena_used = off + bytes + 32; // a gap that AddressSanitizer sees
  unpoison(s.p, bytes);
  memset(s.p, 0xff, bytes); // NaN: what an earlier block left never looks right
#ifdef BT_RACECHECK
  delete[] (Shadow *)s.shadow;
  s.shadow = new Shadow[elements ? elements : 1];
#else
  (void)elements;
#endif
  return s.p;
}

void async_copy(std::function<void()> land) { M.cur->asyncs.push_back({std::move(land), M.cur->group}); }
void async_commit() { M.cur->group++; }
void async_wait(unsigned n) {
  auto &a = M.cur->asyncs;
  size_t k = 0;
  for (; k < a.size() && a[k].group + n < M.cur->group; k++) a[k].land();
  a.erase(a.begin(), a.begin() + k);
}

static void begin_block() {
  M.waiting = M.done = 0;
  M.block_serial++;
  M.epoch++;
  M.blocks++;
  arena_used = 0;
  poison(arena, ARENA);
  for (unsigned i = 0; i < M.threads; i++) {
    Fiber &f = M.fibers[i];
    f.state = RUN;
    f.lin = i;
    f.warp_epoch = f.group = 0;
    if (!f.asyncs.empty()) f.asyncs.clear();
    f.tid = dim3(i % M.block.x, i / M.block.x % M.block.y, i / (M.block.x * M.block.y));
    prepare_fiber(&f, fiber_main);
  }
  for (unsigned w = 0; w < M.threads / LANES; w++) M.warps[w].gen = M.warps[w].arrived = M.warps[w].need = M.warps[w].exited = 0;
}

static void shuffle(unsigned *x, unsigned n) {
  for (unsigned i = n; i > 1; i--) std::swap(x[i - 1], x[random_number() % i]);
}

// Runs what can run of one warp until every lane waits or is done; in random mode another warp may overtake at any point.
static bool run_warp(unsigned w, unsigned *lanes) {
  bool any = false;
  for (bool progress = true; progress;) {
    progress = false;
    if (M.opt.random) shuffle(lanes, LANES);
    for (unsigned j = 0; j < LANES; j++) {
      Fiber *f = &M.fibers[w * LANES + lanes[j]];
      if (f->state != RUN) continue;
      resume(f);
      if (f->state == DONE) M.warps[w].exited |= 1u << lanes[j];
      progress = any = true;
    }
    // Lanes that wait for lanes which have returned would wait for ever.
    Warp &warp = M.warps[w];
    if (!progress && warp.arrived && (warp.need & warp.exited) && ((warp.arrived | warp.exited) & warp.need) == warp.need) {
      M.cur = &M.fibers[w * LANES + __builtin_ctz(warp.arrived)];
      report("warp operation of %08x after some of its lanes returned (%s:%d)", warp.need, M.cur->where, M.cur->line);
      for (unsigned i = 0; i < LANES; i++)
        if (warp.arrived >> i & 1) M.fibers[w * LANES + i].state = RUN;
      warp.arrived = 0;
      warp.gen++;
      progress = true;
    }
    if (M.opt.random && (random_number() & 3) == 0) break;
  }
  return any;
}

static void run_block() {
  begin_block();
  unsigned warps = M.threads / LANES, order[LANES], lanes[LANES];
  for (unsigned i = 0; i < LANES; i++) order[i] = lanes[i] = i;
  while (M.done < M.threads) {
    bool any = false;
    if (M.opt.random) shuffle(order, warps);
    for (unsigned k = 0; k < warps; k++) any |= run_warp(order[k], lanes);
    if (M.waiting && M.waiting + M.done == M.threads) {
      for (unsigned i = 0; i < M.threads; i++)
        if (M.fibers[i].state == WAIT_BLOCK) {
          M.cur = &M.fibers[i];
          M.fibers[i].state = RUN;
        }
      if (M.done) report("__syncthreads at %s:%u after %u threads of the block returned", barrier_file, barrier_line, M.done);
      M.waiting = 0;
      M.epoch++;
    } else if (!any) {
      for (unsigned i = 0; i < M.threads; i++)
        if (M.fibers[i].state == WAIT_WARP) M.cur = &M.fibers[i];
      report("deadlock: %u of %u threads returned, %u wait at __syncthreads, the rest for a warp operation at %s:%d", M.done,
             M.threads, M.waiting, M.cur->where, M.cur->line);
      return; // the fibers that are given up begin anew with the next block
    }
  }
}

void run_grid(const char *name, const char *types, dim3 grid, dim3 block, size_t dyn_bytes, const std::function<void()> &body) {
  M.kernel = name;
  M.types = types;
  M.grid = grid;
  M.block = block;
  M.threads = block.x * block.y * block.z;
  M.dyn_bytes = dyn_bytes;
  M.body = &body;
  if (!arena) arena = (char *)aligned_alloc(128, ARENA);
  if (M.fibers.size() < M.threads) {
    size_t had = M.fibers.size();
    M.fibers.resize(M.threads);
    M.warps.resize(M.threads / LANES);
    for (size_t i = had; i < M.threads; i++)
      M.fibers[i].stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  size_t n = (size_t)grid.x * grid.y * grid.z;
  std::vector<uint32_t> order;
  if (M.opt.random) { // of each launch anew, so that a result does not depend on what ran before
    rng = 0x9E3779B97F4A7C15ull * (M.opt.seed + 1) | 1;
    order.resize(n);
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n; i > 1; i--) std::swap(order[i - 1], order[random_number() % i]);
  }
  for (size_t i = 0; i < n; i++) {
    size_t k = M.opt.random ? order[i] : i;
    M.bid = dim3(k % grid.x, k / grid.x % grid.y, k / ((size_t)grid.x * grid.y));
    run_block();
  }
  M.cur = nullptr;
}
} // namespace emu
