// ops_test.cc - every operation on rows and elements against double references: types, awkward shapes, order of the streams.
//
//   ops_test [WORDS [PART...]]    WORDS: a mode of the emulator, such as "random=7 lazy"; PART: norm rows cross memory vocab optim streams emulator
#include "op_test.h"

int main(int argc, char **argv) {
#ifdef BT_EMU
  const char *words = argc > 1 ? argv[1] : getenv("BOOST_EMU");
  if (const char *wrong = emu::set_mode(words ? words : "")) return fprintf(stderr, "%s\n", wrong), 2;
#endif
  bt_ctx c{};
  test_ctx = &c;
  must(cudaStreamCreate(&test_stream), "cudaStreamCreate");
  const struct {
    const char *name;
    void (*run)();
  } parts[] = {{"norm", test_norm},   {"rows", test_rows},   {"cross", test_cross},     {"memory", test_memory},
               {"vocab", test_vocab}, {"optim", test_optim}, {"streams", test_streams}, {"emulator", test_emulator}};
  for (auto &p : parts) {
    bool wanted = argc <= 2;
    for (int k = 2; k < argc; k++) wanted |= !strcmp(argv[k], p.name);
    if (wanted) p.run();
  }
  int n = finish_tests();
  printf(n ? "%d failures\n" : "ok\n", n);
  return n != 0;
}
