/* isa_avx512.c - the arithmetic for AVX512, used where the processor has it. The target is set here and not by a compiler
 * flag: the binary must start on every processor. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")
#pragma GCC target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,prefer-vector-width=512")
#endif
#define BT_ISA_AVX512
#define BT_ISA bt_isa_avx512
#define BT_ISA_NAME "avx512"
#include "vec.h"
#include "isa_table.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
