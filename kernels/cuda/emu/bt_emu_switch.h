// bt_emu_switch.h - from the scheduler's stack to a fiber's and back.
#pragma once
#include "bt_emu.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define BT_ASAN 1
#endif

namespace emu {
#ifdef BT_ASAN
const size_t STACK = 256 << 10;
#else
const size_t STACK = 64 << 10;
#endif
// Makes main the function that the fiber's next resumption begins; it must not return.
void prepare_fiber(Fiber *, void (*main)());
void fiber_begins(); // the first thing on a fiber
void switch_to_fiber(Fiber *, void *&scheduler);
void switch_from_fiber(Fiber *, void *&scheduler, bool for_good);

static inline void poison(void *p, size_t n) {
#ifdef BT_ASAN
  ASAN_POISON_MEMORY_REGION(p, n);
#else
  (void)p, (void)n;
#endif
}
static inline void unpoison(void *p, size_t n) {
#ifdef BT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(p, n);
#else
  (void)p, (void)n;
#endif
}
} // namespace emu
