// gemm.cu - matrix products by cuBLASLt. It thinks in columns: a row-major matrix is the transpose of the column-major one at
// the same place, and so D = A B in rows is Dᵀ = Bᵀ Aᵀ in columns, with the operands exchanged. What is the same about two products
// (shape, types, leading dimensions, alignment) is prepared once and kept, with the algorithm that the library's heuristic chose: a
// heuristic is the same on every rank and in every run, where one that took the times of several would not be.
// What the library does not do (fp32 to bf16, k = 0, addresses that it has no algorithm for) gemm_any.cu does.
#include "gemm.h"
#include "library.h"
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace {
// Everything that a prepared product depends on. Compared as bytes: no padding.
struct key {
  int64_t m, n, k, batch, ld[4], stride[4];
  int32_t trans_a, trans_b, type_ab, type_d;
  uint32_t align[4];
};
static_assert(sizeof(key) == 12 * 8 + 8 * 4, "padding");
struct same {
  bool operator()(const key &a, const key &b) const { return !memcmp(&a, &b, sizeof a); }
};
struct hash {
  size_t operator()(const key &k) const {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < sizeof k; i++) h = (h ^ reinterpret_cast<const unsigned char *>(&k)[i]) * 1099511628211u;
    return h;
  }
};
struct plan {
  lt_desc desc = nullptr;
  lt_layout a = nullptr, b = nullptr, c = nullptr, d = nullptr; // as cuBLASLt calls them: its A is our B
  lt_algo algo = {};
  size_t workspace = 0;
  bool usable = false; // else the library has no algorithm for it
};
} // namespace

static const int MOST_ALGORITHMS = 64; // that a measurement tries

struct bt_gemms {
  lt_handle handle = nullptr;
  std::unordered_map<key, plan, hash, same> plans;
};

static const size_t MOST_WORKSPACE = 32 << 20; // NVIDIA's recommendation for compute capability 9.0

bt_status bt_gemms_open(bt_ctx *c) {
  c->gemms = new bt_gemms;
  int32_t r = c->lib->lt.create(&c->gemms->handle);
  return r ? bt_fail(c, r == LT_ALLOC_FAILED ? BT_ENOMEM : BT_EDEVICE, "cuBLASLt: create: %s", c->lib->lt.status_name(r)) : BT_OK;
}

static void drop(const lt_api *lt, plan *p) {
  for (lt_layout l : {p->a, p->b, p->c, p->d})
    if (l) lt->layout_destroy(l);
  if (p->desc) lt->desc_destroy(p->desc);
}

void bt_gemms_close(bt_ctx *c) {
  if (!c->gemms) return;
  for (auto &p : c->gemms->plans) drop(&c->lib->lt, &p.second);
  if (c->gemms->handle) c->lib->lt.destroy(c->gemms->handle);
  delete c->gemms;
}

static int32_t lt_type(int32_t t) { return t == BT_BF16 ? LT_R_16BF : LT_R_32F; }

// The largest power of two that divides an address and the distance between the products of a batch; cuBLASLt asks for no more
// than 256. Leading dimensions it reads from the layouts.
static uint32_t alignment(bt_ptr p, int64_t batch, int64_t stride, int64_t size) {
  uint64_t bits = p | (batch > 1 ? (uint64_t)(stride * size) : 0) | 256;
  return (uint32_t)(bits & (~bits + 1));
}

static int32_t layout(const lt_api *lt, lt_layout *out, int32_t type, int64_t rows, int64_t cols, int64_t ld, int64_t batch,
                      int64_t stride) {
  int32_t r = lt->layout_create(out, lt_type(type), (uint64_t)rows, (uint64_t)cols, ld);
  if (r || batch == 1) return r;
  int32_t count = (int32_t)batch;
  if ((r = lt->layout_set(*out, LT_LAYOUT_BATCH, &count, sizeof count))) return r;
  return lt->layout_set(*out, LT_LAYOUT_STRIDE, &stride, sizeof stride);
}

static int32_t describe(const lt_api *lt, const key &k, plan *p) {
  // Pedantic: plain fp32 arithmetic, no TF32 and no other shortcut, whatever variables of the environment say.
  int32_t r = lt->desc_create(&p->desc, k.type_ab == BT_F32 ? LT_COMPUTE_32F_PEDANTIC : LT_COMPUTE_32F, LT_R_32F);
  int32_t left = k.trans_b ? LT_OP_T : LT_OP_N, right = k.trans_a ? LT_OP_T : LT_OP_N;
  if (!r) r = lt->desc_set(p->desc, LT_DESC_TRANSA, &left, sizeof left);
  if (!r) r = lt->desc_set(p->desc, LT_DESC_TRANSB, &right, sizeof right);
  if (!r) r = layout(lt, &p->a, k.type_ab, k.trans_b ? k.k : k.n, k.trans_b ? k.n : k.k, k.ld[1], k.batch, k.stride[1]);
  if (!r) r = layout(lt, &p->b, k.type_ab, k.trans_a ? k.m : k.k, k.trans_a ? k.k : k.m, k.ld[0], k.batch, k.stride[0]);
  if (!r) r = layout(lt, &p->c, k.type_d, k.n, k.m, k.ld[2], k.batch, k.stride[2]);
  if (!r) r = layout(lt, &p->d, k.type_d, k.n, k.m, k.ld[3], k.batch, k.stride[3]);
  return r;
}

// The library's algorithms for a product, best guess first; those that do not fit are left out. none: that is no failure.
static int32_t algorithms(const lt_api *lt, lt_handle handle, const key &k, const plan &p, std::vector<lt_heuristic> *out) {
  lt_pref pref = nullptr;
  uint64_t most = MOST_WORKSPACE;
  int n = 0;
  int32_t r = lt->pref_create(&pref);
  if (!r) r = lt->pref_set(pref, LT_PREF_WORKSPACE, &most, sizeof most);
  const int32_t attr[4] = {LT_PREF_ALIGN_B, LT_PREF_ALIGN_A, LT_PREF_ALIGN_C, LT_PREF_ALIGN_D};
  for (int i = 0; i < 4 && !r; i++) r = lt->pref_set(pref, attr[i], &k.align[i], sizeof k.align[i]);
  if (!r) r = lt->heuristic(handle, p.desc, p.a, p.b, p.c, p.d, pref, (int)out->size(), out->data(), &n);
  if (pref) lt->pref_destroy(pref);
  out->resize(r ? 0 : n);
  out->erase(std::remove_if(out->begin(), out->end(), [](const lt_heuristic &h) { return h.state != 0; }), out->end());
  return r == LT_NOT_SUPPORTED ? LT_SUCCESS : r;
}

static void take(plan *p, const lt_heuristic &h) {
  p->algo = h.algo;
  p->workspace = h.workspace;
  p->usable = true;
}

static int32_t choose(const lt_api *lt, lt_handle handle, const key &k, plan *p) {
  std::vector<lt_heuristic> found(1);
  int32_t r = algorithms(lt, handle, k, *p, &found);
  if (!r && !found.empty()) take(p, found[0]); // else there is none for these: gemm_any
  return r;
}

// The text that every failure of a product has.
static bt_status failed(bt_ctx *c, const char *what, int32_t r, const key &k) {
  return bt_fail(c, r == LT_ALLOC_FAILED ? BT_ENOMEM : BT_EDEVICE,
                 "cuBLASLt: %s of %lldx%lldx%lld (batch %lld, %s%s, %s to %s, leading dimensions %lld %lld %lld %lld): %.200s",
                 what, (long long)k.m, (long long)k.n, (long long)k.k, (long long)k.batch, k.trans_a ? "T" : "N",
                 k.trans_b ? "T" : "N", k.type_ab == BT_BF16 ? "bf16" : "fp32", k.type_d == BT_BF16 ? "bf16" : "fp32",
                 (long long)k.ld[0], (long long)k.ld[1], (long long)k.ld[2], (long long)k.ld[3], c->lib->lt.status_name(r));
}

static key key_of(const bt_gemm &g) {
  key k = {};
  k.m = g.m, k.n = g.n, k.k = g.k, k.batch = g.batch;
  k.trans_a = g.trans_a, k.trans_b = g.trans_b, k.type_ab = g.type_ab, k.type_d = g.type_d;
  for (int i = 0; i < 4; i++) {
    int from = i == 2 && g.beta == 0 ? 3 : i; // what C is does not matter then
    k.ld[i] = g.ld[from];
    k.stride[i] = g.batch > 1 ? g.stride[from] : 0;
    k.align[i] = alignment(g.p[from], g.batch, g.stride[from], (i < 2 ? g.type_ab : g.type_d) == BT_BF16 ? 2 : 4);
  }
  return k;
}

static bt_status prepare(bt_ctx *c, const key &k, plan **out) {
  auto at = c->gemms->plans.find(k);
  if (at != c->gemms->plans.end()) {
    *out = &at->second;
    return BT_OK;
  }
  plan p;
  int32_t r = describe(&c->lib->lt, k, &p);
  if (!r) r = choose(&c->lib->lt, c->gemms->handle, k, &p);
  if (r) {
    drop(&c->lib->lt, &p);
    return failed(c, "preparing a product", r, k);
  }
  *out = &(c->gemms->plans[k] = p);
  return BT_OK;
}

static bt_status run(bt_ctx *c, cudaStream_t s, const bt_gemm &g) {
  if (g.type_ab != g.type_d && g.type_ab == BT_F32) return bt_gemm_any(c, s, g);
  key k = key_of(g);
  plan *p = nullptr;
  bt_status status = prepare(c, k, &p);
  if (status) return status;
  if (!p->usable) return bt_gemm_any(c, s, g);
  void *workspace = nullptr;
  if (p->workspace && (status = bt_scratch(c, s, p->workspace, &workspace))) return status;
  int32_t r = c->lib->lt.matmul(c->gemms->handle, p->desc, &g.alpha, bt_at<void>(g.p[1]), p->a, bt_at<void>(g.p[0]), p->b, &g.beta,
                                bt_at<void>(g.p[g.beta == 0 ? 3 : 2]), p->c, bt_at<void>(g.p[3]), p->d, &p->algo, workspace,
                                p->workspace, s);
  return r ? failed(c, "a product", r, k) : BT_OK;
}

extern "C" bt_status btk_gemm(bt_ctx *c, cudaStream_t s, const bt_op *o) {
  bt_gemm g;
  bt_status status = bt_gemm_of(c, o, &g);
  if (status || !g.m || !g.n || !g.batch) return status;
  if (!g.k) return bt_gemm_any(c, s, g);
  // The same A or B for all of a batch is not promised to work by strides of nothing: one after the other then.
  bool shared = g.batch > 1 && (!g.stride[0] || !g.stride[1] || (g.beta != 0 && !g.stride[2]));
  if (!shared) return run(c, s, g);
  bt_gemm one = g;
  one.batch = 1;
  for (int64_t i = 0; i < g.batch && !status; i++) {
    status = run(c, s, one);
    for (int j = 0; j < 4; j++) one.p[j] += g.stride[j] * ((j < 2 ? g.type_ab : g.type_d) == BT_BF16 ? 2 : 4);
  }
  return status;
}

// A measurement compares the heuristic's first algorithm with its others: nothing that trains does.
bt_status bt_gemm_algorithm(bt_ctx *c, const bt_op *o, int32_t which, int32_t *count) {
  bt_gemm g;
  bt_status status = bt_gemm_of(c, o, &g);
  if (status) return status;
  if (!g.m || !g.n || !g.batch || !g.k || (g.type_ab != g.type_d && g.type_ab == BT_F32))
    return bt_fail(c, BT_EUNSUPPORTED, "such a product has no algorithms of cuBLASLt");
  key k = key_of(g);
  plan *p = nullptr;
  if ((status = prepare(c, k, &p))) return status;
  std::vector<lt_heuristic> found(MOST_ALGORITHMS);
  int32_t r = algorithms(&c->lib->lt, c->gemms->handle, k, *p, &found);
  if (r) return failed(c, "algorithms", r, k);
  *count = (int32_t)found.size();
  if (which < 0 || (size_t)which >= found.size())
    return which ? bt_fail(c, BT_EINVAL, "algorithm %d of %d", which, *count) : BT_OK;
  take(p, found[which]);
  return BT_OK;
}
