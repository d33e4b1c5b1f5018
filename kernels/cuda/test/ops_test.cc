// ops_test.cc - every operation on rows and elements against double references: types, awkward shapes, order of the streams.
//
//   ops_test [WORDS]    WORDS: a mode of the emulator, such as "random=7 lazy"
#include "op_test.h"

int main(int argc, char **argv) {
#ifdef BT_EMU
  const char *words = argc > 1 ? argv[1] : getenv("BOOST_EMU");
  if (const char *wrong = emu::set_mode(words ? words : "")) return fprintf(stderr, "%s\n", wrong), 2;
#else
  (void)argc, (void)argv;
#endif
  bt_ctx c{};
  test_ctx = &c;
  must(cudaStreamCreate(&test_stream), "cudaStreamCreate");
  test_norm();
  test_rows();
  test_cross();
  test_memory();
  test_vocab();
  test_optim();
  test_streams();
  int n = finish_tests();
  printf(n ? "%d failures\n" : "ok\n", n);
  return n != 0;
}
