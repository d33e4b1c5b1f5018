/* isa_avx2.c - the arithmetic for AVX2, used where the processor has it. The target is set here and not by a compiler
 * flag: the binary must start on every processor. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("avx2,fma")
#endif
#define BT_ISA_AVX2
#define BT_ISA bt_isa_avx2
#define BT_ISA_NAME "avx2"
#include "vec.h"
#include "isa_table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
