// silu.cuh - the activation and its slope, in fp32.
#pragma once
#include "types.cuh"

static __device__ __forceinline__ float bt_sigmoid(float x) { return 1.f / (1.f + expf(-x)); }
static __device__ __forceinline__ float bt_silu(float x) { return x * bt_sigmoid(x); }
static __device__ __forceinline__ float bt_silu_slope(float x) {
  float s = bt_sigmoid(x);
  return s * (1.f + x * (1.f - s));
}
