// lib_real_test.cc - the real cuBLASLt and NCCL, as far as they go without a GPU, beside the fakes: what one accepts and refuses of
// attributes the other does, too. Runs where $BOOST_CUBLASLT and $BOOST_NCCL name the libraries.
#include "lib_test.h"

namespace {
// One answer of each to the same calls.
typedef std::function<int32_t(const lt_api *)> question;

void same_answer(const lt_api *real, const char *what, const question &ask) {
  const lt_api *fake = bt_fake_lt();
  int32_t r = ask(real), f = ask(fake);
  CHECK(r == f, "%s: the library says %s, the fake %s", what, real->status_name(r), fake->status_name(f));
}

template <class T> question desc(int32_t attr, T value) {
  return [=](const lt_api *lt) {
    lt_desc d = nullptr;
    int32_t r = lt->desc_create(&d, LT_COMPUTE_32F, LT_R_32F);
    if (!r) r = lt->desc_set(d, attr, &value, sizeof value);
    if (d) lt->desc_destroy(d);
    return r;
  };
}
template <class T> question layout(int32_t attr, T value) {
  return [=](const lt_api *lt) {
    lt_layout l = nullptr;
    int32_t r = lt->layout_create(&l, LT_R_16BF, 8, 4, 8);
    if (!r) r = lt->layout_set(l, attr, &value, sizeof value);
    if (l) lt->layout_destroy(l);
    return r;
  };
}
template <class T> question pref(int32_t attr, T value) {
  return [=](const lt_api *lt) {
    lt_pref p = nullptr;
    int32_t r = lt->pref_create(&p);
    if (!r) r = lt->pref_set(p, attr, &value, sizeof value);
    if (p) lt->pref_destroy(p);
    return r;
  };
}
question made(int32_t compute, int32_t scale) {
  return [=](const lt_api *lt) {
    lt_desc d = nullptr;
    int32_t r = lt->desc_create(&d, compute, scale);
    if (!r) lt->desc_destroy(d);
    return r;
  };
}
} // namespace

void test_real() {
  const char *lt_path = getenv("BOOST_CUBLASLT"), *nccl_path = getenv("BOOST_NCCL");
  if (!lt_path || !nccl_path) {
    printf("real         left out: $BOOST_CUBLASLT and $BOOST_NCCL do not name libraries\n");
    return;
  }
  bt_libraries l;
  bt_libraries_open(&l, lt_path, nccl_path);
  CHECK(l.lt_file.found() && l.nccl_file.found(), "%s %s", l.lt_file.why.c_str(), l.nccl_file.why.c_str());
  if (failures) return;
  printf("real         cuBLASLt %s, NCCL %s\n", l.lt_file.version.c_str(), l.nccl_file.version.c_str());
  for (int32_t op : {LT_OP_N, LT_OP_T}) {
    same_answer(&l.lt, "transpose A", desc<int32_t>(LT_DESC_TRANSA, op));
    same_answer(&l.lt, "transpose B", desc<int32_t>(LT_DESC_TRANSB, op));
  }
  same_answer(&l.lt, "a transposition of 8 bytes", desc<int64_t>(LT_DESC_TRANSA, 0));
  same_answer(&l.lt, "a transposition of 2 bytes", desc<int16_t>(LT_DESC_TRANSA, 0));
  same_answer(&l.lt, "pedantic fp32", made(LT_COMPUTE_32F_PEDANTIC, LT_R_32F));
  same_answer(&l.lt, "fp32", made(LT_COMPUTE_32F, LT_R_32F));
  same_answer(&l.lt, "a batch", layout<int32_t>(LT_LAYOUT_BATCH, 3));
  same_answer(&l.lt, "a batch of 8 bytes", layout<int64_t>(LT_LAYOUT_BATCH, 3));
  same_answer(&l.lt, "a stride", layout<int64_t>(LT_LAYOUT_STRIDE, 32));
  same_answer(&l.lt, "a stride of 4 bytes", layout<int32_t>(LT_LAYOUT_STRIDE, 32));
  same_answer(&l.lt, "a workspace", pref<uint64_t>(LT_PREF_WORKSPACE, 1 << 20));
  same_answer(&l.lt, "a workspace of 4 bytes", pref<uint32_t>(LT_PREF_WORKSPACE, 1 << 20));
  for (int32_t a = LT_PREF_ALIGN_A; a <= LT_PREF_ALIGN_D; a++) {
    same_answer(&l.lt, "an alignment", pref<uint32_t>(a, 16));
    same_answer(&l.lt, "an alignment of 8 bytes", pref<uint64_t>(a, 16));
  }
  // Of NCCL what needs no device: words for results, and calls that it refuses by themselves.
  for (int32_t r = NCCL_SUCCESS; r <= NCCL_IN_PROGRESS; r++)
    CHECK(!strncmp(l.nccl.error_string(r), bt_fake_nccl()->error_string(r), 12), "%d: %s", r, l.nccl.error_string(r));
  CHECK(l.nccl.group_end() == NCCL_INVALID_USAGE && bt_fake_nccl()->group_end() == NCCL_INVALID_USAGE);
  CHECK(!l.nccl.group_start() && !l.nccl.group_end()); // an empty group
  int32_t state = 0;
  CHECK(l.nccl.async_error(nullptr, &state) == bt_fake_nccl()->async_error(nullptr, &state));
  CHECK(l.nccl.finalize(nullptr) == NCCL_SUCCESS);
}
