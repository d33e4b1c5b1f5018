// attention_bench.cc - how fast causal attention is. One line of JSON for each shape, type and engine.
//
//   attention_bench [SECONDS [SEQ HEADS DIM SEQUENCES]]    SECONDS: of measuring for each line (0.3)
//
// FLOPs are counted as is usual for causal attention: two products of the lower half forward, five backward, whatever the engine
// does. Times are of the GPU, medians of single launches; what is read is larger than what a cache keeps only in the long shapes.
#include "attention.h"
#include "device_matrix.h"
#include <algorithm>
#include <functional>
#include <memory>

static bt_ctx context;
static cudaStream_t stream;

static double median_ms(double seconds, const std::function<bt_status()> &run) {
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "cudaEventCreate"), must(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> ms;
  double sum = 0;
  for (int i = -2; i < 200 && (sum < 1000 * seconds || i < 1); i++) { // two to warm up
    must(cudaEventRecord(begin, stream), "cudaEventRecord");
    if (run()) fprintf(stderr, "%s\n", context.err), exit(1);
    must(cudaEventRecord(end, stream), "cudaEventRecord");
    must(cudaEventSynchronize(end), "cudaEventSynchronize");
    float t;
    must(cudaEventElapsedTime(&t, begin, end), "cudaEventElapsedTime");
    if (i >= 0) ms.push_back(t), sum += t;
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  std::nth_element(ms.begin(), ms.begin() + ms.size() / 2, ms.end());
  return ms[ms.size() / 2];
}

static void measure(double seconds, const bt_attention_engine *engine, int type, int seq, int heads, int dim, int sequences) {
  int rows = sequences * seq, cols = heads * dim;
  bt_op o = {};
  o.h = {sizeof o, BT_ATTENTION_BWD};
  o.rows = rows, o.cols = cols, o.i[0] = seq, o.i[1] = dim;
  o.f[0] = 1 / std::sqrt((float)dim);
  std::vector<std::unique_ptr<device_matrix>> m;
  uniform next(1);
  std::vector<double> x = numbers(next, (size_t)rows * cols, 1, type);
  for (int k = 0; k < 10; k++) {
    bool stat = k == 4 || k == 9;
    m.emplace_back(new device_matrix(rows, stat ? heads : cols, 0, stat ? BT_F32 : type));
    if (k < 3 || k == 5) m[k]->set(x);
    o.m[k] = m[k]->mat(), o.t[k] = (uint8_t)m[k]->type;
  }
  bt_attention_shape h = {seq, heads, dim, sequences, (uint8_t)type, (float)o.f[0]};
  if (!engine->fits(&context, h, &o)) return;
  double forward = median_ms(seconds, [&] { return engine->forward(&context, stream, h, &o); });
  btk_attention_bwd(&context, stream, &o); // the row sums
  double backward = median_ms(seconds, [&] { return engine->backward(&context, stream, h, &o); });
  double product = (double)sequences * heads * seq * seq * dim; // FLOPs of the lower half of one
  printf("{\"what\":\"attention\",\"engine\":\"%s\",\"type\":\"%s\",\"seq\":%d,\"heads\":%d,\"dim\":%d,\"sequences\":%d,"
         "\"forward_ms\":%.4f,\"forward_tflops\":%.2f,\"backward_ms\":%.4f,\"backward_tflops\":%.2f}\n",
         engine->name, type == BT_BF16 ? "bf16" : "fp32", seq, heads, dim, sequences, forward, 2 * product / forward / 1e9, backward,
         5 * product / backward / 1e9);
  fflush(stdout);
}

int main(int argc, char **argv) {
  int device = 0, shared = 160 * 1024;
#ifndef BT_EMU
  must(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
#endif
  context.device = device, context.max_shared = shared;
  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  double seconds = argc > 1 ? atof(argv[1]) : 0.3;
  std::vector<std::vector<int>> shapes = {{4096, 16, 128, 1}, {4096, 32, 64, 1}, {2048, 16, 128, 2}, {512, 16, 128, 8}};
  if (argc > 5) shapes = {{atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5])}};
  for (auto &s : shapes) {
    measure(seconds, &bt_attention_mma, BT_BF16, s[0], s[1], s[2], s[3]);
    measure(seconds, &bt_attention_any, BT_BF16, s[0], s[1], s[2], s[3]);
    measure(seconds, &bt_attention_any, BT_F32, s[0], s[1], s[2], s[3]);
  }
  return 0;
}
