// fake_lt.cc - what stands for cuBLASLt under the emulator. It computes, and refuses whatever the library documents as wrong: handles
// that are none, attributes of the wrong size, leading dimensions, alignments that were not promised, types that do not go together,
// an algorithm that was chosen for something else, too little workspace. Its status_name says in words what was wrong.
#include "bt_emu.h"
#include "lt_api.h"
#include <cstdarg>
#include <map>
#include <memory>
#include <mutex>
#include <set>

struct lt_handle_t {
  int device;
};
struct lt_desc_t {
  int32_t compute, scale, trans[2];
};
struct lt_layout_t {
  int32_t type, batch;
  uint64_t rows, cols;
  int64_t ld, stride;
};
struct lt_pref_t {
  uint64_t workspace;
  uint32_t align[4];
};

namespace {
std::mutex &lock() {
  static auto *m = new std::mutex;
  return *m;
}
std::set<const void *> &living() {
  static auto *s = new std::set<const void *>;
  return *s;
}
bool lives(const void *p) {
  std::lock_guard<std::mutex> g(lock());
  return living().count(p) != 0;
}
template <class T> void born(T **out, T value) {
  *out = new T(value);
  std::lock_guard<std::mutex> g(lock());
  living().insert(*out);
}
template <class T> int32_t dies(T *p) {
  {
    std::lock_guard<std::mutex> g(lock());
    if (!living().erase(p)) return LT_INVALID_VALUE;
  }
  delete p;
  return LT_SUCCESS;
}
thread_local char why[300];
int32_t refuse(int32_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int32_t refuse(int32_t status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  return status;
}
uint64_t size_of(int32_t type) { return type == LT_R_32F ? 4 : 2; }

size_t version() { return 130002; }
const char *status_name(int32_t s) {
  static thread_local char text[400];
  const char *name = s == LT_SUCCESS           ? "CUBLAS_STATUS_SUCCESS"
                     : s == LT_INVALID_VALUE   ? "CUBLAS_STATUS_INVALID_VALUE"
                     : s == LT_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
                     : s == LT_NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                               : "CUBLAS_STATUS_INTERNAL_ERROR";
  snprintf(text, sizeof text, "%s%s%s", name, *why ? ": " : "", why);
  return text;
}
int32_t create(lt_handle *h) {
  int device = 0;
  cudaGetDevice(&device);
  born(h, lt_handle_t{device});
  return LT_SUCCESS;
}
int32_t destroy(lt_handle h) { return dies(h); }
int32_t desc_create(lt_desc *d, int32_t compute, int32_t scale) {
  if (compute != LT_COMPUTE_32F && compute != LT_COMPUTE_32F_PEDANTIC) return refuse(LT_INVALID_VALUE, "compute type %d", compute);
  if (scale != LT_R_32F) return refuse(LT_INVALID_VALUE, "scale type %d of compute type 32F", scale);
  born(d, lt_desc_t{compute, scale, {LT_OP_N, LT_OP_N}});
  return LT_SUCCESS;
}
int32_t desc_destroy(lt_desc d) { return dies(d); }
int32_t desc_set(lt_desc d, int32_t attr, const void *p, size_t n) {
  if (!lives(d)) return refuse(LT_INVALID_VALUE, "no description of a product");
  int32_t op = -1;
  if ((attr != LT_DESC_TRANSA && attr != LT_DESC_TRANSB) || n != sizeof op)
    return refuse(LT_INVALID_VALUE, "attribute %d of a product with %zu bytes", attr, n);
  memcpy(&op, p, sizeof op);
  if (op != LT_OP_N && op != LT_OP_T) return refuse(LT_INVALID_VALUE, "transposition %d", op);
  d->trans[attr == LT_DESC_TRANSB] = op;
  return LT_SUCCESS;
}
int32_t layout_create(lt_layout *l, int32_t type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (type != LT_R_32F && type != LT_R_16BF) return refuse(LT_INVALID_VALUE, "elements of type %d", type);
  if (!rows || !cols) return refuse(LT_INVALID_VALUE, "an empty matrix");
  if (ld < 0 || (uint64_t)ld < rows)
    return refuse(LT_INVALID_VALUE, "leading dimension %lld of %llu rows", (long long)ld, (unsigned long long)rows);
  born(l, lt_layout_t{type, 1, rows, cols, ld, 0});
  return LT_SUCCESS;
}
int32_t layout_destroy(lt_layout l) { return dies(l); }
int32_t layout_set(lt_layout l, int32_t attr, const void *p, size_t n) {
  if (!lives(l)) return refuse(LT_INVALID_VALUE, "no layout");
  if (attr == LT_LAYOUT_BATCH && n == sizeof l->batch) {
    memcpy(&l->batch, p, n);
    return l->batch > 0 ? LT_SUCCESS : refuse(LT_INVALID_VALUE, "a batch of %d", l->batch);
  }
  if (attr != LT_LAYOUT_STRIDE || n != sizeof l->stride)
    return refuse(LT_INVALID_VALUE, "attribute %d of a layout with %zu bytes", attr, n);
  memcpy(&l->stride, p, n);
  return LT_SUCCESS;
}
int32_t pref_create(lt_pref *p) {
  born(p, lt_pref_t{0, {256, 256, 256, 256}}); // as the library: no workspace, and the best alignment is taken for granted
  return LT_SUCCESS;
}
int32_t pref_destroy(lt_pref p) { return dies(p); }
int32_t pref_set(lt_pref p, int32_t attr, const void *v, size_t n) {
  if (!lives(p)) return refuse(LT_INVALID_VALUE, "no preference");
  if (attr == LT_PREF_WORKSPACE && n == sizeof p->workspace) memcpy(&p->workspace, v, n);
  else if (attr >= LT_PREF_ALIGN_A && attr <= LT_PREF_ALIGN_D && n == sizeof *p->align) {
    uint32_t a;
    memcpy(&a, v, n);
    if (!a || a & (a - 1) || a > 256) return refuse(LT_INVALID_VALUE, "an alignment of %u bytes", a);
    p->align[attr - LT_PREF_ALIGN_A] = a;
  } else return refuse(LT_INVALID_VALUE, "attribute %d of a preference with %zu bytes", attr, n);
  return LT_SUCCESS;
}

// What an algorithm was chosen for, as it lies in lt_algo.
struct chosen {
  uint64_t magic, shape;
  uint32_t align[4];
  uint64_t workspace, spare[3];
};
static_assert(sizeof(chosen) == sizeof(lt_algo), "size");
const uint64_t MAGIC = 0x6c74616c676f3031;

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 1099511628211u; }
uint64_t shape_of(const lt_desc_t *d, const lt_layout_t *const *l) {
  uint64_t h = mix(mix(mix(14695981039346656037u, d->compute), d->trans[0]), d->trans[1]);
  for (int i = 0; i < 4; i++)
    for (uint64_t v :
         {(uint64_t)l[i]->type, (uint64_t)l[i]->batch, l[i]->rows, l[i]->cols, (uint64_t)l[i]->ld, (uint64_t)l[i]->stride})
      h = mix(h, v);
  return h;
}

int32_t consistent(lt_handle h, lt_desc d, const lt_layout_t *const *l) {
  if (!lives(h)) return refuse(LT_NOT_INITIALIZED, "no handle");
  if (!lives(d)) return refuse(LT_INVALID_VALUE, "no description of a product");
  for (int i = 0; i < 4; i++)
    if (!lives(l[i])) return refuse(LT_INVALID_VALUE, "layout %c is none", "ABCD"[i]);
  uint64_t m = d->trans[0] ? l[0]->cols : l[0]->rows, k = d->trans[0] ? l[0]->rows : l[0]->cols;
  uint64_t k2 = d->trans[1] ? l[1]->cols : l[1]->rows, n = d->trans[1] ? l[1]->rows : l[1]->cols;
  if (k != k2 || l[2]->rows != m || l[2]->cols != n || l[3]->rows != m || l[3]->cols != n)
    return refuse(LT_INVALID_VALUE, "shapes: %llux%llu by %llux%llu, C %llux%llu, D %llux%llu", (unsigned long long)m,
                  (unsigned long long)k, (unsigned long long)k2, (unsigned long long)n, (unsigned long long)l[2]->rows,
                  (unsigned long long)l[2]->cols, (unsigned long long)l[3]->rows, (unsigned long long)l[3]->cols);
  bool fp32 = l[0]->type == LT_R_32F;
  if (l[1]->type != l[0]->type || l[2]->type != l[3]->type || (fp32 && l[3]->type != LT_R_32F))
    return refuse(LT_NOT_SUPPORTED, "types %d %d to %d %d", l[0]->type, l[1]->type, l[2]->type, l[3]->type);
  for (int i = 0; i < 4; i++) {
    if (l[i]->batch != l[3]->batch) return refuse(LT_INVALID_VALUE, "batches of %d and %d", l[i]->batch, l[3]->batch);
    if (l[i]->batch > 1 && l[i]->stride < (int64_t)(l[i]->ld * (l[i]->cols - 1) + l[i]->rows) && l[i]->stride < (int64_t)l[i]->rows)
      return refuse(LT_INVALID_VALUE, "matrices %c of a batch are %lld apart", "ABCD"[i], (long long)l[i] -> stride);
  }
  return LT_SUCCESS;
}

int32_t heuristic(lt_handle h, lt_desc d, lt_layout a, lt_layout b, lt_layout c, lt_layout o, lt_pref p, int asked,
                  lt_heuristic *out, int *found) {
  const lt_layout_t *l[4] = {a, b, c, o};
  *why = 0;
  if (found) *found = 0;
  if (int32_t bad = consistent(h, d, l)) return bad;
  if (!lives(p) || asked < 1 || !out || !found) return refuse(LT_INVALID_VALUE, "no preference, or nothing asked for");
  chosen k = {MAGIC, shape_of(d, l), {}, 0, {}};
  for (int i = 0; i < 4; i++) {
    k.align[i] = p->align[i];
    // Something that it has no algorithm for, so that callers have another way: rows of bf16 that begin on odd elements.
    if (size_of(l[i]->type) == 2 && (k.align[i] < 4 || l[i]->ld % 2) && l[i]->cols > 1)
      return refuse(LT_NOT_SUPPORTED, "no algorithm for odd rows of bf16");
  }
  // Long sums of small results are split, and want memory for the parts, where that may be had.
  uint64_t inner = d->trans[0] ? a->rows : a->cols, bytes = 2 * 4 * o->rows * o->cols * (uint64_t)o->batch;
  if (inner >= 256 && bytes <= p->workspace) k.workspace = bytes;
  memset(out, 0, sizeof *out);
  memcpy(&out->algo, &k, sizeof k);
  out->workspace = k.workspace;
  out->waves = 1;
  *found = 1;
  return LT_SUCCESS;
}

struct product {
  lt_desc_t d;
  lt_layout_t l[4];
  const char *a, *b, *c;
  char *out, *parts; // parts: of a sum that is split in two
  float alpha, beta;
};
float element(const char *p, int32_t type, uint64_t i) {
  return type == LT_R_32F ? ((const float *)p)[i] : __bfloat162float(((const __nv_bfloat16 *)p)[i]);
}

// acc[0..m) of one column over k in [from, to). a is op(A) as floats, column-major.
__attribute__((optimize("O3"))) void column(float *acc, const float *a, const float *b, uint64_t m, uint64_t from, uint64_t to) {
  for (uint64_t i = 0; i < m; i++) acc[i] = 0;
  for (uint64_t k = from; k < to; k++) {
    const float *col = a + k * m;
    float v = b[k];
    for (uint64_t i = 0; i < m; i++) acc[i] += col[i] * v;
  }
}

void compute(const product &p, int64_t batch) {
  const lt_layout_t &A = p.l[0], &B = p.l[1], &C = p.l[2], &D = p.l[3];
  uint64_t m = D.rows, n = D.cols, inner = p.d.trans[0] ? A.rows : A.cols;
  const char *a = p.a + batch * A.stride * (int64_t)size_of(A.type), *b = p.b + batch * B.stride * (int64_t)size_of(B.type),
             *c = p.c + batch * C.stride * (int64_t)size_of(C.type);
  char *d = p.out + batch * D.stride * (int64_t)size_of(D.type);
  std::vector<float> left(m * inner), right(inner), acc(m), rest(m);
  for (uint64_t k = 0; k < inner; k++)
    for (uint64_t i = 0; i < m; i++) left[k * m + i] = element(a, A.type, p.d.trans[0] ? i * A.ld + k : k * A.ld + i);
  for (uint64_t j = 0; j < n; j++) {
    for (uint64_t k = 0; k < inner; k++) right[k] = element(b, B.type, p.d.trans[1] ? k * B.ld + j : j * B.ld + k);
    float *part = p.parts ? (float *)p.parts + (batch * n + j) * 2 * m : nullptr;
    column(part ? part : acc.data(), left.data(), right.data(), m, 0, part ? inner / 2 : inner);
    if (part) {
      column(part + m, left.data(), right.data(), m, inner / 2, inner);
      for (uint64_t i = 0; i < m; i++) acc[i] = part[i] + part[m + i];
    }
    for (uint64_t i = 0; i < m; i++) {
      float v = p.alpha * acc[i];
      if (p.beta != 0) v += p.beta * element(c, C.type, j * C.ld + i);
      if (D.type == LT_R_32F) ((float *)d)[j * D.ld + i] = v;
      else ((__nv_bfloat16 *)d)[j * D.ld + i] = __float2bfloat16(v);
    }
  }
}

uint64_t extent(const lt_layout_t &l) {
  return ((uint64_t)l.stride * (l.batch - 1) + l.ld * (l.cols - 1) + l.rows) * size_of(l.type);
}

int32_t matmul(lt_handle h, lt_desc d, const void *alpha, const void *a, lt_layout la, const void *b, lt_layout lb,
               const void *beta, const void *c, lt_layout lc, void *out, lt_layout ld, const lt_algo *algo, void *workspace,
               size_t bytes, cudaStream_t s) {
  const lt_layout_t *l[4] = {la, lb, lc, ld};
  const void *at[4] = {a, b, c, out};
  *why = 0;
  if (int32_t bad = consistent(h, d, l)) return bad;
  if (!alpha || !beta || !algo) return refuse(LT_INVALID_VALUE, "no alpha, beta or algorithm");
  chosen k;
  memcpy(&k, algo, sizeof k);
  product p = {*d, {*la, *lb, *lc, *ld}, (const char *)a, (const char *)b, (const char *)c, (char *)out, nullptr, 0, 0};
  memcpy(&p.alpha, alpha, sizeof p.alpha);
  memcpy(&p.beta, beta, sizeof p.beta);
  if (k.magic != MAGIC || k.shape != shape_of(d, l))
    return refuse(LT_INVALID_VALUE, "the algorithm was chosen for another product");
  for (int i = 0; i < 4; i++) {
    if (!at[i]) return refuse(LT_INVALID_VALUE, "matrix %c is missing", "ABCD"[i]);
    if ((uintptr_t)at[i] % k.align[i])
      return refuse(LT_INVALID_VALUE, "matrix %c at %p is not aligned to the %u bytes that were promised", "ABCD"[i], at[i],
                    k.align[i]);
  }
  if (k.workspace > bytes || (k.workspace && !workspace))
    return refuse(LT_INVALID_VALUE, "a workspace of %zu bytes; the algorithm wants %llu", bytes, (unsigned long long)k.workspace);
  if (workspace && (uintptr_t)workspace % 256) return refuse(LT_INVALID_VALUE, "the workspace is not aligned to 256 bytes");
  for (int i = 0; i < 3; i++) {
    bool meets = (const char *)at[i] < (char *)out + extent(*ld) && (char *)out < (const char *)at[i] + extent(*l[i]);
    bool same = i == 2 && (p.beta == 0 || (c == out && lc->ld == ld->ld && lc->stride == ld->stride));
    if (meets && !same) return refuse(LT_INVALID_VALUE, "D overlaps %c", "ABC"[i]);
  }
  if (k.workspace) p.parts = (char *)workspace;
  // Nothing of the caller's objects is kept: they may be gone when the stream comes to it.
  auto kept = std::make_shared<product>(p);
  emu::push(s, [kept] {
    for (int64_t i = 0; i < kept->l[3].batch; i++) compute(*kept, i);
    return true;
  });
  return LT_SUCCESS;
}
} // namespace

const lt_api *bt_fake_lt(void) {
  static const lt_api api = {version,      status_name,  create,        destroy,        desc_create,
                             desc_destroy, desc_set,     layout_create, layout_destroy, layout_set,
                             pref_create,  pref_destroy, pref_set,      heuristic,      matmul};
  return &api;
}
