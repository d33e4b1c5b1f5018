// emulator_test.cc - the emulator itself: it names the mistakes that kernels can make, and its runtime may be called by many threads.
#include "op_test.h"
#ifdef BT_EMU
#include <atomic>
#include <thread>

static __global__ void misaligned(float *x) { bt_st16(x + 1, bt_ld16(x + 4)); }
static __global__ void lanes_missing(float *x) {
  if (threadIdx.x < 7) return;
  x[threadIdx.x] = bt_warp_sum(x[threadIdx.x]);
}
static __global__ void mask_lacks(float *x) { x[threadIdx.x] = __shfl_xor_sync(0xffffu, x[threadIdx.x], 1); }
static __global__ void two_barriers(float *x) {
  if (threadIdx.x < 32) __syncthreads();
  else {
    x[0] = 1;
    __syncthreads();
  }
}
static __global__ void early_return(float *x) {
  if (threadIdx.x >= 64) return;
  __syncthreads();
  x[threadIdx.x] = 0;
}
static __global__ void greedy(float *x) {
  BT_SMEM(float, a, 40000);
  BT_SMEM(float, b, 20000);
  if (threadIdx.x == 0) a[0] = b[0] = x[0];
}
// Each thread brings sixteen bytes into shared memory and reads them.
static __global__ void without_wait(float *x, int wait) {
  BT_SMEM(float, a, 128);
  for (int k = 0; k < 4; k++) a[threadIdx.x * 4 + k] = -1.f;
  __syncwarp();
  bt_cp_async16(a + threadIdx.x * 4, (const float *)x + threadIdx.x * 4, true);
  bt_cp_async_commit();
  if (wait) bt_cp_async_wait<0>();
  __syncwarp();
  x[256 + threadIdx.x] = a[threadIdx.x * 4];
}

// The first mistake's text, which it forgets.
static std::string fault_of(cudaError_t e) {
  if (e) return cudaGetErrorString(e);
  e = cudaStreamSynchronize(test_stream);
  std::string text = e ? cudaGetErrorString(e) : "nothing";
  emu::clear_fault();
  return text;
}
static void expect(const char *name, const std::string &got, const std::string &want) {
  if (got.find(want) == std::string::npos)
    failures++, printf("FAIL emulator, %s: \"%s\" does not say \"%s\"\n", name, got.c_str(), want.c_str());
}

static void mistakes() {
  device_matrix m(1, 512, 0, BT_F32);
  m.set(vec(512, 2));
  float *x = bt_at<float>(m.mat().p);
  expect("misaligned", fault_of(BT_LAUNCH(misaligned, dim3(1), dim3(32), 0, test_stream, x)),
         "store of 16 bytes at the misaligned address");
  expect("lanes missing", fault_of(BT_LAUNCH(lanes_missing, dim3(1), dim3(32), 0, test_stream, x)),
         "after some of its lanes returned");
  expect("mask", fault_of(BT_LAUNCH(mask_lacks, dim3(1), dim3(32), 0, test_stream, x)), "is not in the mask 0000ffff");
  expect("two barriers", fault_of(BT_LAUNCH(two_barriers, dim3(1), dim3(64), 0, test_stream, x)),
         "while other threads are at the one at");
  expect("early return", fault_of(BT_LAUNCH(early_return, dim3(1), dim3(96), 0, test_stream, x)),
         "after 32 threads of the block returned");
  expect("greedy", fault_of(BT_LAUNCH(greedy, dim3(1), dim3(32), 0, test_stream, x)), "bytes of shared memory, more than");
  expect("no block", fault_of(BT_LAUNCH(greedy, dim3(0), dim3(32), 0, test_stream, x)), "invalid configuration");
  expect("half a warp", fault_of(BT_LAUNCH(greedy, dim3(1), dim3(48), 0, test_stream, x)), "invalid configuration");
  cudaGetLastError();
  m.set(vec(512, 2));
  for (int wait = 0; wait < 2; wait++) {
    expect("asynchronous copy", fault_of(BT_LAUNCH(without_wait, dim3(1), dim3(32), 0, test_stream, x, wait)), "nothing");
    bool intact = true;
    if (m.get(&intact)[256 + 5] != (wait ? 2 : -1))
      failures++, printf("FAIL emulator: an asynchronous copy %s\n", wait ? "did not land" : "that nobody waited for landed");
  }
  for (const char *words : {"random=", "random=x", "random=-1", "random=+1", "random=0x1", "random=1.", "random=18446744073709551616",
                            "random=1,lazy", "order,lazy", ",", "slow", "order lazyy", "racecheck"})
    if (!emu::set_mode(words)) failures++, printf("FAIL emulator: the mode \"%s\" was taken\n", words);
}

// Threads that each compute on a stream and device of their own, and one that waits for another in its stream's turn.
static void threads() {
  std::atomic<int> wrong{0};
  std::atomic<bool> open{false}, asked{false};
  std::vector<std::thread> list;
  for (int t = 0; t < 4; t++)
    list.emplace_back([t, &wrong, &open, &asked] {
      bt_ctx c{};
      cudaStream_t s;
      cudaEvent_t before, after;
      wrong += cudaSetDevice(t) != cudaSuccess || cudaStreamCreate(&s) || cudaEventCreate(&before) || cudaEventCreate(&after);
      device_matrix x(3, 50, 0, BT_F32), stat(3, 1, 0, BT_F32);
      if (t == 0) emu::push_pollable(s, [&open] { return open.load(); });
      wrong += cudaEventRecord(before, s) != cudaSuccess;
      for (int round = 0; round < 20; round++) {
        bt_op o = {};
        o.rows = 3, o.cols = 50, o.m[0] = x.mat(), o.m[1] = stat.mat(), o.f[0] = t + 1;
        wrong += btk_fill(&c, s, &o) != BT_OK || btk_norm_stats(&c, s, &o) != BT_OK;
      }
      wrong += cudaEventRecord(after, s) != cudaSuccess;
      if (t == 0) wrong += cudaStreamQuery(s) != cudaErrorNotReady, asked = true;
      if (t == 1) {
        while (!asked) std::this_thread::yield();
        open = true;
      }
      wrong += cudaStreamSynchronize(s) != cudaSuccess;
      bool intact = true;
      for (double v : stat.get(&intact)) wrong += v != 50.0 * (t + 1) * (t + 1);
      float ms = -1;
      wrong += cudaEventElapsedTime(&ms, before, after) != cudaSuccess || !(ms >= 0);
      wrong += cudaEventDestroy(before) || cudaEventDestroy(after) || cudaStreamDestroy(s);
    });
  for (auto &t : list) t.join();
  if (wrong) failures++, printf("FAIL emulator: %d calls by four threads went wrong: %s\n", wrong.load(), emu::fault().c_str());
}

void test_emulator() {
  mistakes();
  threads();
}
#else
void test_emulator() {}
#endif
