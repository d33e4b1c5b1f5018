// bt_emu_switch.cc - the switch of stacks, ten nanoseconds in assembly on x86-64 and AArch64; elsewhere, or with
// -DBT_EMU_UCONTEXT, by swapcontext, which asks the kernel for the signal mask each time and takes thirty times as long.
#include "bt_emu_switch.h"
#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(BT_EMU_UCONTEXT)
#define BT_EMU_UCONTEXT 1
#endif
#ifdef BT_EMU_UCONTEXT
#include <ucontext.h>
#endif

namespace emu {
#ifndef BT_EMU_UCONTEXT
// Saves what a call preserves on the stack, leaves the stack's pointer in *save, goes on with that of load.
extern "C" void bt_emu_switch(void **save, void *load);
#if defined(__x86_64__)
asm(R"(
.text
.globl bt_emu_switch
.hidden bt_emu_switch
.type bt_emu_switch,@function
bt_emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size bt_emu_switch,.-bt_emu_switch
)");
void prepare_fiber(Fiber *f, void (*main)()) {
  void **sp = (void **)(f->stack + STACK - 64);
  *--sp = nullptr; // where main would return to
  *--sp = (void *)main;
  for (int r = 0; r < 6; r++) *--sp = nullptr;
  f->sp = sp;
}
#else
asm(R"(
.text
.globl bt_emu_switch
.hidden bt_emu_switch
.type bt_emu_switch,%function
bt_emu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size bt_emu_switch,.-bt_emu_switch
)");
void prepare_fiber(Fiber *f, void (*main)()) {
  char *sp = f->stack + STACK - 64 - 160; // a multiple of 16, as the machine demands
  memset(sp, 0, 160);
  void *entry = (void *)main;
  memcpy(sp + 88, &entry, sizeof entry); // x30, where the switch returns to
  f->sp = sp;
}
#endif
static void change(void **save, void *load) { bt_emu_switch(save, load); }
#else
// A stack pointer is the address of a ucontext_t here; the fiber's own lies at the low end of its stack.
static ucontext_t home;
static ucontext_t *context(Fiber *f) { return (ucontext_t *)f->stack; }
void prepare_fiber(Fiber *f, void (*main)()) {
  ucontext_t *u = context(f);
  getcontext(u);
  u->uc_stack.ss_sp = f->stack + sizeof(ucontext_t) + 64;
  u->uc_stack.ss_size = STACK - sizeof(ucontext_t) - 64;
  u->uc_link = nullptr;
  makecontext(u, main, 0);
  f->sp = u;
}
static void change(void **save, void *load) {
  if (!*save) *save = &home;
  swapcontext((ucontext_t *)*save, (ucontext_t *)load);
}
#endif

#ifdef BT_ASAN
static void *scheduler_fake;
static const void *scheduler_bottom;
static size_t scheduler_size;
void fiber_begins() { __sanitizer_finish_switch_fiber(nullptr, &scheduler_bottom, &scheduler_size); }
void switch_to_fiber(Fiber *f, void *&scheduler) {
  __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, STACK);
  change(&scheduler, f->sp);
  __sanitizer_finish_switch_fiber(scheduler_fake, nullptr, nullptr);
}
void switch_from_fiber(Fiber *f, void *&scheduler, bool for_good) {
  __sanitizer_start_switch_fiber(for_good ? nullptr : &f->fake, scheduler_bottom, scheduler_size);
  change(&f->sp, scheduler);
  __sanitizer_finish_switch_fiber(f->fake, &scheduler_bottom, &scheduler_size);
}
#else
void fiber_begins() {}
void switch_to_fiber(Fiber *f, void *&scheduler) { change(&scheduler, f->sp); }
void switch_from_fiber(Fiber *f, void *&scheduler, bool) { change(&f->sp, scheduler); }
#endif
} // namespace emu
