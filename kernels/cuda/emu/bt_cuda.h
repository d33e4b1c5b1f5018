// bt_cuda.h - what a .cu file includes instead of the CUDA headers. Three compilers read the same kernels:
//   nvcc           the real thing                                            bt_nvcc.h
//   clang -x cuda  a check of syntax and generated PTX without any SDK       bt_clangcheck.h (-DBT_CLANG_CHECK)
//   g++            runs on the CPU under the emulator                        bt_emu.h
// Rules that make it possible:
//   shared memory only through BT_SMEM and BT_SMEM_DYN, pointers to it are BT_SPTR(T);
//   launches only through BT_LAUNCH;
//   PTX, and whatever else one compiler lacks, only inside bt_* wrappers that all three headers define;
//   BT_UNROLL before loops over arrays that shall stay in registers;
//   every block has a multiple of 32 threads.
#pragma once
#if defined(BT_CLANG_CHECK)
#include "bt_clangcheck.h"
#elif defined(__CUDACC__)
#include "bt_nvcc.h"
#else
#include "bt_emu.h"
#endif
