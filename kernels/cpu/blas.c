/* blas.c - matrix products: a CBLAS library opened at run time, cut into pieces over our own threads.
 * The library runs one thread per call, so that ours and its own do not compete for the same cores. */
#include "internal.h"
#include "api.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                         int ldb, float beta, float *c, int ldc);
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
/* One library per process: set once by the first device that has one, and read by the threads of all. */
static _Atomic(sgemm_fn) sgemm;

static void describe(void *lib, bt_blas_info *info) {
  char *(*config)(void) = (char *(*)(void))dlsym(lib, "openblas_get_config");
  char *(*blis)(void) = (char *(*)(void))dlsym(lib, "bli_info_get_version_str");
  void (*mkl)(char *, int) = (void (*)(char *, int))dlsym(lib, "mkl_get_version_string");
  if (!mkl) mkl = (void (*)(char *, int))dlsym(lib, "MKL_Get_Version_String");
  char *(*core)(void) = (char *(*)(void))dlsym(lib, "openblas_get_corename");
  if (config) snprintf(info->version, sizeof info->version, "%.120s (%.40s)", config(), core ? core() : "?");
  else if (blis) snprintf(info->version, sizeof info->version, "BLIS %.100s", blis());
  else if (mkl) mkl(info->version, sizeof info->version - 1);
  else snprintf(info->version, sizeof info->version, "CBLAS");
}

void *bt_blas_open(const char *name, bt_blas_info *info, char *err, size_t errlen) {
  /* OpenBLAS starts its threads while it is loaded, and waits for good for those that it could not start where
   * address space is limited. We ask for one thread per call anyway. */
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    snprintf(err, errlen, "%s", dlerror());
    return NULL;
  }
  void *f = dlsym(lib, "cblas_sgemm");
  Dl_info where;
  if (!f || !dladdr(f, &where)) {
    snprintf(err, errlen, "%s has no cblas_sgemm", name);
    dlclose(lib);
    return NULL;
  }
  snprintf(info->path, sizeof info->path, "%s", where.dli_fname);
  describe(lib, info);
  return lib;
}

void bt_blas_close(void *lib) { dlclose(lib); }

static void one_thread(void *lib) {
  void (*openblas)(int) = (void (*)(int))dlsym(lib, "openblas_set_num_threads");
  void (*blis)(int64_t) = (void (*)(int64_t))dlsym(lib, "bli_thread_set_num_threads");
  int (*mkl_layer)(int) = (int (*)(int))dlsym(lib, "MKL_Set_Threading_Layer");
  if (openblas) openblas(1);
  if (blis) blis(1);
  if (mkl_layer) mkl_layer(1); /* sequential */
}

/* A library of another integer width or order would answer nonsense later; ask it something now. */
static bool answers(sgemm_fn f) {
  const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {7, 8, 9, 10, 11, 12};
  float c[4] = {1, 1, 1, NAN};
  f(ROW_MAJOR, NO_TRANS, NO_TRANS, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2);
  bool ok = c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154;
  f(ROW_MAJOR, TRANS, TRANS, 2, 2, 3, 2, a, 2, b, 3, 1, c, 2);
  return ok && c[0] == 58 + 2 * 76 && c[1] == 64 + 2 * 103 && c[2] == 139 + 2 * 100 && c[3] == 154 + 2 * 136;
}

int bt_blas_use(void *lib, char *err, size_t errlen) {
  sgemm_fn f = (sgemm_fn)dlsym(lib, "cblas_sgemm");
  one_thread(lib);
  if (!answers(f)) {
    snprintf(err, errlen, "its cblas_sgemm does not compute a 2x3x2 product (64-bit integers?)");
    return 0;
  }
  atomic_store(&sgemm, f);
  return 1;
}

typedef struct {
  const bt_op *o;
  sgemm_fn f;
  int64_t pm, pn, dm, dn;
} product;

/* For streams of their own where there is no library; compute products then go to gonum in Go. */
static void plain(int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                  int64_t ldb, float beta, float *c, int64_t ldc) {
  for (int64_t i = 0; i < m; i++) {
    float *row = c + i * ldc;
    for (int64_t j = 0; j < n; j++) row[j] = beta == 0 ? 0 : beta * row[j];
    for (int64_t p = 0; p < k; p++) {
      float x = alpha * (ta ? a[p * lda + i] : a[i * lda + p]);
      if (tb)
        for (int64_t j = 0; j < n; j++) row[j] += x * b[j * ldb + p];
      else
        for (int64_t j = 0; j < n; j++) row[j] += x * b[p * ldb + j];
    }
  }
}

/* Items are the pieces of every product of the batch. */
static void piece(void *arg, int64_t lo, int64_t hi, bt_worker w) {
  const product *p = arg;
  const bt_op *o = p->o;
  (void)w;
  for (int64_t item = lo; item < hi; item++) {
    int64_t batch = item / (p->pm * p->pn), at = item % (p->pm * p->pn);
    int64_t i0 = at / p->pn * p->dm, j0 = at % p->pn * p->dn;
    int64_t m = o->rows - i0 < p->dm ? o->rows - i0 : p->dm, n = o->cols - j0 < p->dn ? o->cols - j0 : p->dn;
    if (m <= 0 || n <= 0) continue;
    int64_t k = o->i[0], ta = o->i[2], tb = o->i[3], lda = o->m[0].ld, ldb = o->m[1].ld, ldc = o->m[2].ld, ldd = o->m[3].ld;
    const float *a = (float *)(uintptr_t)o->m[0].p + batch * o->i[4] + (ta ? i0 : i0 * lda);
    const float *b = (float *)(uintptr_t)o->m[1].p + batch * o->i[5] + (tb ? j0 * ldb : j0);
    float *d = (float *)(uintptr_t)o->m[3].p + batch * o->i[7] + i0 * ldd + j0;
    if (o->m[2].p && o->f[1] != 0) {
      const float *c = (float *)(uintptr_t)o->m[2].p + batch * o->i[6] + i0 * ldc + j0;
      if (c != d || ldc != ldd)
        for (int64_t r = 0; r < m; r++) memcpy(d + r * ldd, c + r * ldc, n * sizeof *d);
    }
    if (p->f) p->f(ROW_MAJOR, ta ? TRANS : NO_TRANS, tb ? TRANS : NO_TRANS, m, n, k, o->f[0], a, lda, b, ldb, o->f[1], d, ldd);
    else plain(ta, tb, m, n, k, o->f[0], a, lda, b, ldb, o->f[1], d, ldd);
  }
}

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Cuts one product into about want pieces, as square as they get; 96 suits the register tiles of every library. */
static void split(product *p, int64_t want) {
  int64_t m = p->o->rows, n = p->o->cols;
  p->pm = p->pn = 1;
  while (p->pm * p->pn < want) {
    bool rows = m / p->pm >= n / p->pn;
    if ((rows ? m / p->pm : n / p->pn) < 192) break;
    if (rows) p->pm++;
    else p->pn++;
  }
  p->dm = up((m + p->pm - 1) / p->pm, p->pm > 1 ? 48 : 1);
  p->dn = up((n + p->pn - 1) / p->pn, p->pn > 1 ? 48 : 1);
}

bt_status bt_gemm(bt_lane *l, const bt_op *in, char *err) {
  bt_op o = *in;
  if (o.rows == 0 || o.cols == 0) return BT_OK;
  for (int k = 0; k < 4; k++) {
    /* A matrix of one row may have any leading dimension here, CBLAS wants a sound one. */
    int64_t cols = k == 0 ? (o.i[2] ? o.rows : o.i[0]) : k == 1 ? (o.i[3] ? o.i[0] : o.cols) : o.cols;
    if (o.m[k].ld < cols) o.m[k].ld = cols;
    if (o.m[k].ld > INT32_MAX)
      return bt_fail(err, BT_EINVAL, "leading dimension %lld is beyond what a BLAS takes", (long long)o.m[k].ld);
    if (o.m[k].ld == 0) o.m[k].ld = 1;
  }
  if (o.rows > INT32_MAX || o.cols > INT32_MAX || o.i[0] > INT32_MAX)
    return bt_fail(err, BT_EINVAL, "%lld x %lld x %lld is beyond what a BLAS takes", (long long)o.rows, (long long)o.cols,
                   (long long)o.i[0]);
  int64_t batch = o.i[1] > 0 ? o.i[1] : 1;
  product p = {.o = &o, .f = atomic_load(&sgemm)};
  int64_t work = o.rows * o.cols * o.i[0] * batch;
  /* Large products are cut finer than there are threads: a core that somebody else uses then does less. */
  int64_t want = work < 500000 ? 1 : l->workers > 1 && work > 200000000 ? 3 * l->workers : l->workers;
  split(&p, (want + batch - 1) / batch);
  int64_t items = batch * p.pm * p.pn;
  bt_parallel(l, items, work < 500000 ? items : 1, piece, &p);
  return BT_OK;
}
