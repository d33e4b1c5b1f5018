// lib_fakes_test.cc - what the fakes of cuBLASLt and NCCL refuse.
#include "lib_test.h"

// A product of two 4x4 matrices of fp32, as cuBLASLt is asked for one; tests spoil a part of it.
struct lt_call {
  const lt_api *lt = bt_fake_lt();
  lt_handle h = nullptr;
  lt_desc d = nullptr;
  lt_layout l[4] = {};
  lt_pref p = nullptr;
  lt_heuristic found = {};
  int n = 0;
  float alpha = 1, beta = 0;
  char *memory = nullptr;
  void *at[4];
  void *workspace = nullptr;
  size_t bytes = 0;
  lt_call(int type_ab = LT_R_32F, int type_d = LT_R_32F, uint64_t inner = 4) {
    CHECK(!lt->create(&h) && !lt->desc_create(&d, LT_COMPUTE_32F, LT_R_32F) && !lt->pref_create(&p));
    CHECK(!lt->layout_create(&l[0], type_ab, 4, inner, 4) && !lt->layout_create(&l[1], type_ab, inner, 4, (int64_t)inner));
    for (int i = 2; i < 4; i++) CHECK(!lt->layout_create(&l[i], type_d, 4, 4, 4));
    CHECK(cudaMalloc(&memory, 1 << 16) == cudaSuccess);
    for (int i = 0; i < 4; i++) at[i] = memory + (i > 1 ? 2 : i) * 16384;
  }
  ~lt_call() {
    cudaDeviceSynchronize();
    cudaFree(memory);
    for (lt_layout x : l) lt->layout_destroy(x);
    lt->desc_destroy(d), lt->pref_destroy(p), lt->destroy(h);
  }
  int choose() { return lt->heuristic(h, d, l[0], l[1], l[2], l[3], p, 1, &found, &n); }
  int run() {
    return lt->matmul(h, d, &alpha, at[0], l[0], at[1], l[1], &beta, at[2], l[2], at[3], l[3], &found.algo, workspace, bytes,
                      nullptr);
  }
};

static void lt_refuses(const char *word, int status, const std::function<int(lt_call *)> &spoiled, int type_ab = LT_R_32F,
                       int type_d = LT_R_32F, uint64_t inner = 4) {
  lt_call c(type_ab, type_d, inner);
  int r = spoiled(&c);
  CHECK(r == status, "%s: status %d, want %d", word, r, status);
  WORDS(c.lt->status_name(r), word);
}

void test_lt() {
  {
    lt_call c;
    CHECK(!c.choose() && c.n == 1 && !c.run());
  }
  const lt_api *lt = bt_fake_lt();
  lt_layout l;
  lt_desc d;
  CHECK(lt->layout_create(&l, LT_R_32F, 5, 2, 4) == LT_INVALID_VALUE &&
        lt->layout_create(&l, LT_R_32F, 0, 2, 4) == LT_INVALID_VALUE);
  CHECK(lt->layout_create(&l, 2, 4, 4, 4) == LT_INVALID_VALUE && lt->desc_create(&d, 77, LT_R_32F) == LT_INVALID_VALUE);
  CHECK(lt->desc_create(&d, LT_COMPUTE_32F, LT_R_16BF) == LT_INVALID_VALUE);
  auto set = [](lt_call *c) { return c->choose() ? 1000 : c->run(); };
  lt_refuses("no handle", LT_NOT_INITIALIZED, [](lt_call *c) { return c->h = nullptr, c->choose(); });
  lt_refuses("attribute 3 of a product with 8 bytes", LT_INVALID_VALUE, [](lt_call *c) {
    int64_t v = 0;
    return c->lt->desc_set(c->d, LT_DESC_TRANSA, &v, sizeof v);
  });
  lt_refuses("transposition 2", LT_INVALID_VALUE, [](lt_call *c) {
    int32_t v = 2;
    return c->lt->desc_set(c->d, LT_DESC_TRANSA, &v, sizeof v);
  });
  lt_refuses("attribute 6 of a layout with 4 bytes", LT_INVALID_VALUE, [](lt_call *c) {
    int32_t v = 0;
    return c->lt->layout_set(c->l[0], LT_LAYOUT_STRIDE, &v, sizeof v);
  });
  lt_refuses("attribute 1 of a preference with 4 bytes", LT_INVALID_VALUE, [](lt_call *c) {
    uint32_t v = 0;
    return c->lt->pref_set(c->p, LT_PREF_WORKSPACE, &v, sizeof v);
  });
  lt_refuses("an alignment of 24 bytes", LT_INVALID_VALUE, [](lt_call *c) {
    uint32_t v = 24;
    return c->lt->pref_set(c->p, LT_PREF_ALIGN_A, &v, sizeof v);
  });
  lt_refuses("shapes: 4x4 by 5x4", LT_INVALID_VALUE, [](lt_call *c) {
    c->lt->layout_destroy(c->l[1]);
    return c->lt->layout_create(&c->l[1], LT_R_32F, 5, 4, 5) ? 1000 : c->choose();
  });
  lt_refuses(
      "types 0 0 to 14 14", LT_NOT_SUPPORTED, [](lt_call *c) { return c->choose(); }, LT_R_32F, LT_R_16BF);
  lt_refuses("batches of 1 and 2", LT_INVALID_VALUE, [](lt_call *c) {
    int32_t two = 2;
    int64_t apart = 16;
    return c->lt->layout_set(c->l[3], LT_LAYOUT_BATCH, &two, sizeof two) ||
                   c->lt->layout_set(c->l[3], LT_LAYOUT_STRIDE, &apart, sizeof apart)
               ? 1000
               : c->choose();
  });
  lt_refuses("layout C is none", LT_INVALID_VALUE, [](lt_call *c) { return c->lt->layout_destroy(c->l[2]) ? 1000 : c->choose(); });
  lt_refuses(
      "no algorithm for odd rows", LT_NOT_SUPPORTED,
      [](lt_call *c) {
        uint32_t two = 2;
        return c->lt->pref_set(c->p, LT_PREF_ALIGN_B, &two, sizeof two) ? 1000 : c->choose();
      },
      LT_R_16BF, LT_R_32F);
  lt_refuses("not aligned to the 256 bytes that were promised", LT_INVALID_VALUE,
             [&](lt_call *c) { return c->at[1] = c->memory + 16384 + 16, set(c); });
  lt_refuses("chosen for another product", LT_INVALID_VALUE, [](lt_call *c) {
    int32_t t = LT_OP_T;
    return c->choose() || c->lt->desc_set(c->d, LT_DESC_TRANSA, &t, sizeof t) ? 1000 : c->run();
  });
  lt_refuses("matrix B is missing", LT_INVALID_VALUE, [&](lt_call *c) { return c->at[1] = nullptr, set(c); });
  lt_refuses("D overlaps A", LT_INVALID_VALUE, [&](lt_call *c) { return c->at[3] = c->at[0], set(c); });
  lt_refuses(
      "a workspace of 0 bytes", LT_INVALID_VALUE,
      [&](lt_call *c) {
        uint64_t most = 1 << 20;
        return c->lt->pref_set(c->p, LT_PREF_WORKSPACE, &most, sizeof most) ? 1000 : set(c);
      },
      LT_R_32F, LT_R_32F, 300);
  lt_refuses("not aligned to 256 bytes", LT_INVALID_VALUE,
             [&](lt_call *c) { return c->workspace = c->memory + 50000, c->bytes = 4096, set(c); });
}

// ---- NCCL: two ranks of this process
struct nccl_pair {
  const nccl_api *nccl = bt_fake_nccl();
  nccl_comm c[2] = {};
  cudaStream_t s[2];
  char *memory = nullptr;
  nccl_config k = {
      sizeof k,      (uint32_t)NCCL_MAGIC_WORD, NCCL_CONFIG_VERSION, 0, NCCL_UNDEFINED, NCCL_UNDEFINED, NCCL_UNDEFINED, nullptr,
      NCCL_UNDEFINED};
  nccl_pair() {
    nccl_id id;
    CHECK(!nccl->unique_id(&id));
    for (int r = 0; r < 2; r++)
      CHECK(nccl->init(&c[r], 2, id, r, &k) == NCCL_IN_PROGRESS &&
            cudaStreamCreateWithFlags(&s[r], cudaStreamNonBlocking) == cudaSuccess);
    for (int r = 0; r < 2; r++) CHECK(state(r) == NCCL_SUCCESS);
    CHECK(cudaMalloc(&memory, 1 << 16) == cudaSuccess);
    memset(memory, 0, 1 << 16);
  }
  ~nccl_pair() {
    for (int r = 0; r < 2; r++) nccl->abort(c[r]);
    for (int r = 0; r < 2; r++) cudaStreamSynchronize(s[r]), cudaStreamDestroy(s[r]);
    cudaFree(memory);
  }
  float *at(int i) { return reinterpret_cast<float *>(memory + 4096 * i); }
  int state(int r, int looks = 100) {
    int32_t e = NCCL_IN_PROGRESS;
    for (int i = 0; i < looks && e == NCCL_IN_PROGRESS; i++) nccl->async_error(c[r], &e);
    return e;
  }
  void settle() {
    for (int i = 0; i < 20; i++)
      for (int r = 0; r < 2; r++) state(r), cudaStreamQuery(s[r]);
  }
};

static void nccl_refuses(const char *word, int result, const std::function<int(nccl_pair *)> &spoiled) {
  nccl_pair p;
  int r = spoiled(&p);
  CHECK(r == result, "%s: result %d, want %d", word, r, result);
  WORDS(std::string(p.nccl->last_error(p.c[0])) + p.nccl->last_error(nullptr), word);
}

void test_nccl() {
  {
    nccl_pair p;
    for (int r = 0; r < 2; r++) p.at(r)[0] = (float)(r + 1);
    for (int r = 0; r < 2; r++)
      CHECK(p.nccl->all_reduce(p.at(r), p.at(r), 1, NCCL_FLOAT32, NCCL_SUM, p.c[r], p.s[r]) == NCCL_IN_PROGRESS);
    p.settle();
    CHECK(p.at(0)[0] == 3 && p.at(1)[0] == 3, "%g %g", p.at(0)[0], p.at(1)[0]);
    for (int r = 0; r < 2; r++)
      CHECK(p.nccl->finalize(p.c[r]) == NCCL_IN_PROGRESS && !p.state(r) && !p.nccl->destroy(p.c[r]) &&
            p.nccl->destroy(p.c[r]) == NCCL_INVALID_ARGUMENT);
  }
  nccl_id id;
  nccl_comm c;
  const nccl_api *nccl = bt_fake_nccl();
  nccl_config k = {
      sizeof k,      (uint32_t)NCCL_MAGIC_WORD, NCCL_CONFIG_VERSION, 1, NCCL_UNDEFINED, NCCL_UNDEFINED, NCCL_UNDEFINED, nullptr,
      NCCL_UNDEFINED};
  CHECK(!nccl->unique_id(&id) && nccl->init(&c, 2, id, 0, &k) == NCCL_INVALID_ARGUMENT); // blocking
  k.blocking = 0;
  CHECK(nccl->init(&c, 2, id, 2, &k) == NCCL_INVALID_ARGUMENT && nccl->init(&c, 65, id, 2, &k) == NCCL_INVALID_ARGUMENT);
  k.magic++;
  CHECK(nccl->init(&c, 2, id, 0, &k) == NCCL_INVALID_ARGUMENT);
  k.magic--;
  nccl_id bad = {};
  CHECK(nccl->init(&c, 2, bad, 0, &k) == NCCL_SYSTEM_ERROR);
  WORDS(nccl->last_error(nullptr), "not one of ncclGetUniqueId");
  CHECK(nccl->init(&c, 2, id, 0, &k) == NCCL_IN_PROGRESS && nccl->init(&c, 2, id, 0, &k) == NCCL_INVALID_ARGUMENT);
  WORDS(nccl->last_error(nullptr), "rank 0 has joined already");
  CHECK(nccl->init(&c, 3, id, 1, &k) == NCCL_INVALID_ARGUMENT);
  WORDS(nccl->last_error(nullptr), "3 ranks, another said 2");

  typedef nccl_pair P;
  nccl_refuses("outside of a group", NCCL_INVALID_USAGE, [](P *p) { return p->nccl->group_end(); });
  nccl_refuses("before the previous operation", NCCL_INVALID_ARGUMENT, [](P *p) {
    p->nccl->all_reduce(p->at(0), p->at(0), 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]);
    return p->nccl->all_reduce(p->at(0), p->at(0), 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]);
  });
  nccl_refuses("would block", NCCL_INVALID_USAGE, [](P *p) { return p->nccl->destroy(p->c[0]); });
  nccl_refuses("elements of type 3", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_reduce(p->at(0), p->at(0), 1, 3, NCCL_SUM, p->c[0], p->s[0]); });
  nccl_refuses("reduction 1", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_reduce(p->at(0), p->at(0), 1, NCCL_FLOAT32, 1, p->c[0], p->s[0]); });
  nccl_refuses("nothing to move", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_reduce(p->at(0), p->at(0), 0, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]); });
  nccl_refuses("no memory", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_reduce(nullptr, p->at(0), 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]); });
  nccl_refuses("not aligned", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_reduce(p->memory + 2, p->memory + 2, 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]); });
  nccl_refuses("overlap", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_reduce(p->at(0), p->at(0) + 1, 2, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]); });
  nccl_refuses("overlap", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->all_gather(p->at(0) + 2, p->at(0), 2, NCCL_FLOAT32, p->c[0], p->s[0]); });
  nccl_refuses("rank 2 of 2", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->broadcast(p->at(0), p->at(0), 2, NCCL_FLOAT32, 2, p->c[0], p->s[0]); });
  nccl_refuses("rank 0 of 2", NCCL_INVALID_ARGUMENT,
               [](P *p) { return p->nccl->send(p->at(0), 2, NCCL_FLOAT32, 0, p->c[0], p->s[0]); });
  auto second = [](P *p, std::function<int()> more) {
    p->nccl->group_start();
    p->nccl->all_reduce(p->at(0), p->at(0), 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]);
    int r = more();
    CHECK(p->nccl->group_end() == r);
    return r;
  };
  nccl_refuses("two communicators", NCCL_INVALID_USAGE, [&](P *p) {
    return second(p, [=] { return p->nccl->all_reduce(p->at(1), p->at(1), 1, NCCL_FLOAT32, NCCL_SUM, p->c[1], p->s[0]); });
  });
  nccl_refuses("two streams", NCCL_INVALID_USAGE, [&](P *p) {
    return second(p, [=] { return p->nccl->all_reduce(p->at(1), p->at(1), 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[1]); });
  });
  nccl_refuses("transfers with something else", NCCL_INVALID_USAGE,
               [&](P *p) { return second(p, [=] { return p->nccl->send(p->at(1), 1, NCCL_FLOAT32, 1, p->c[0], p->s[0]); }); });
  nccl_refuses("ncclCommSplit before", NCCL_INVALID_ARGUMENT, [](P *p) {
    nccl_comm child = nullptr;
    p->nccl->all_reduce(p->at(0), p->at(0), 1, NCCL_FLOAT32, NCCL_SUM, p->c[0], p->s[0]);
    return p->nccl->split(p->c[0], 0, 0, &child, &p->k);
  });
}
