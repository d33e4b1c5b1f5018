// bt_ptx.h - the wrappers of PTX, and what is built of shuffles, for the two compilers that make PTX. bt_emu_device.h has the same.
#pragma once

// Sixteen bytes of global memory at an aligned address.
static __device__ __forceinline__ uint4 bt_ld16(const void *p) { return *reinterpret_cast<const uint4 *>(p); }
static __device__ __forceinline__ void bt_st16(void *p, uint4 v) { *reinterpret_cast<uint4 *>(p) = v; }

// Reductions over the 32 lanes of a warp, all of which take part and get the same result.
static __device__ __forceinline__ float bt_warp_sum(float v) {
  BT_UNROLL for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
static __device__ __forceinline__ double bt_warp_sum(double v) {
  BT_UNROLL for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
// The larger; a NaN wins.
static __device__ __forceinline__ float bt_max(float a, float b) { return a != a ? a : b > a || b != b ? b : a; }
static __device__ __forceinline__ float bt_warp_max(float v) {
  BT_UNROLL for (int o = 16; o > 0; o >>= 1) v = bt_max(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

// Sine and cosine of pi*x. Unlike sin they reduce any x exactly without a table in local memory.
static __device__ __forceinline__ double bt_sinpi(double x) { return sinpi(x); }
static __device__ __forceinline__ double bt_cospi(double x) { return cospi(x); }

// Two to the power of x, within 2^-22 of itself; what is below 2^-126 is zero.
static __device__ __forceinline__ float bt_exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// Two floats as bf16, lo in the low half.
static __device__ __forceinline__ uint32_t bt_pack_bf16(float lo, float hi) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
static __device__ __forceinline__ uint32_t bt_shared_address(const void *p) {
  uint32_t r;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(r) : "l"(p));
  return r;
}

// D += A B on the tensor cores: A 16x16, B 16x8, both bf16, in the fragments of PTX's mma.m16n8k16.
static __device__ __forceinline__ void bt_mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Four 8x8 matrices of bf16 from shared memory; lane i gives the address of row i%8 of matrix i/8, 16-byte aligned: row and a
// constant number of elements further, which is part of the instruction.
static __device__ __forceinline__ void bt_ldmatrix_x4(uint32_t (&r)[4], const __nv_bfloat16 *row, int further = 0) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(bt_shared_address(row) + 2 * further)
               : "memory");
}
static __device__ __forceinline__ void bt_ldmatrix_x4_trans(uint32_t (&r)[4], const __nv_bfloat16 *row, int further = 0) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(bt_shared_address(row) + 2 * further)
               : "memory");
}
// Sixteen bytes from global to shared memory, zeros when !valid, both aligned; there after commit, wait and a barrier.
template <class T> static __device__ __forceinline__ void bt_cp_async16(T *shared, const T *global, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(bt_shared_address(shared)), "l"(global), "r"(valid ? 16 : 0)
               : "memory");
}
static __device__ __forceinline__ void bt_cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
// Waits until at most N of this thread's committed groups are under way.
template <int N> static __device__ __forceinline__ void bt_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}
