/* isa_base.c - the arithmetic for any processor (SSE2 on x86-64, NEON on arm64), and the choice between what there is. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#endif
#define BT_ISA bt_isa_base
#define BT_ISA_NAME "base"
#include "vec.h"
#include "isa_table.h"

const bt_isa *bt_isa_pick(const char *name) {
#if defined(__x86_64__)
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (avx512 && (!*name || !strcmp(name, bt_isa_avx512.name))) return &bt_isa_avx512;
  if (avx2 && (!*name || !strcmp(name, bt_isa_avx2.name))) return &bt_isa_avx2;
#endif
  return !*name || !strcmp(name, bt_isa_base.name) ? &bt_isa_base : NULL;
}
