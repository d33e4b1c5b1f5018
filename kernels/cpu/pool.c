/* pool.c - the threads of a device: one parallel loop at a time, pieces handed out one by one. */
#include "internal.h"
#include <stdlib.h>

/* The state word holds generation, whether the loop is open, and how many workers are inside. A worker enters only an open
 * loop, so that the caller never waits for a thread that the operating system has not scheduled yet. */
#define OPEN 0x8000u
#define INSIDE 0x7fffu
struct bt_pool {
  _Atomic uint64_t state;
  _Atomic uint32_t bell, sleepers, idle;
  _Atomic bool quit;
  int spin, threads;
  pthread_t *thread;
  struct seat {
    bt_pool *pool;
    bt_worker worker;
  } *seat;
  bt_body body;
  void *arg;
  int64_t n, grain;
  _Atomic int64_t next;
};

static void drain(bt_pool *p, bt_worker w) {
  int64_t lo;
  while ((lo = atomic_fetch_add(&p->next, p->grain)) < p->n) p->body(p->arg, lo, lo + p->grain < p->n ? lo + p->grain : p->n, w);
}

static bool enter(bt_pool *p) {
  uint64_t s = atomic_load(&p->state);
  while (s & OPEN)
    if (atomic_compare_exchange_weak(&p->state, &s, s + 1)) return true;
  return false;
}

static void leave(bt_pool *p) {
  uint64_t s = atomic_fetch_sub(&p->state, 1) - 1;
  if (!(s & (OPEN | INSIDE))) {
    atomic_fetch_add(&p->idle, 1);
    bt_futex_wake(&p->idle, 1, false);
  }
}

static void *worker(void *arg) {
  struct seat *seat = arg;
  bt_pool *p = seat->pool;
  uint32_t seen = 0;
  while (!atomic_load(&p->quit)) {
    uint32_t now = atomic_load(&p->bell);
    for (int i = 0; now == seen && i < p->spin; i++) {
      bt_pause();
      now = atomic_load_explicit(&p->bell, memory_order_acquire);
    }
    if (now == seen) {
      atomic_fetch_add(&p->sleepers, 1);
      if (atomic_load(&p->bell) == seen && !atomic_load(&p->quit)) bt_futex_wait(&p->bell, seen, 1000000000, false);
      atomic_fetch_sub(&p->sleepers, 1);
      continue;
    }
    seen = now;
    if (enter(p)) {
      drain(p, seat->worker);
      leave(p);
    }
  }
  return NULL;
}

void bt_parallel(bt_lane *l, int64_t n, int64_t grain, bt_body body, void *arg) {
  if (n <= 0) return;
  if (grain < 1) grain = 1;
  bt_pool *p = l->pool;
  bt_worker self = {l, 0};
  if (!p || n <= grain) {
    for (int64_t lo = 0; lo < n; lo += grain) body(arg, lo, lo + grain < n ? lo + grain : n, self);
    return;
  }
  p->body = body;
  p->arg = arg;
  p->n = n;
  p->grain = grain;
  atomic_store(&p->next, 0);
  atomic_fetch_add(&p->state, 0x10000u | OPEN);
  atomic_fetch_add(&p->bell, 1);
  if (atomic_load(&p->sleepers)) bt_futex_wake(&p->bell, p->threads, false);
  drain(p, self);
  uint64_t s = atomic_fetch_and(&p->state, ~(uint64_t)OPEN);
  for (int i = 0; s & INSIDE; i++) {
    uint32_t seen = atomic_load(&p->idle);
    s = atomic_load(&p->state);
    if (!(s & INSIDE)) break;
    if (i < p->spin) bt_pause();
    else bt_futex_wait(&p->idle, seen, 10000000, false);
  }
}

void *bt_scratch_get(bt_lane *l, int index, size_t n) {
  bt_scratch *s = &l->scratch[index];
  if (s->n >= n) return s->p;
  free(s->p);
  n = (n + n / 4 + 4095) & ~(size_t)4095;
  if (posix_memalign(&s->p, 64, n)) {
    s->p = NULL;
    n = 0;
  }
  s->n = n;
  return s->p;
}

bool bt_lane_init(bt_lane *l, bt_ctx *ctx, int workers, int spin) {
  *l = (bt_lane){.ctx = ctx, .workers = workers};
  if (!(l->scratch = calloc(workers + 1, sizeof *l->scratch))) return false;
  if (workers == 1) return true;
  bt_pool *p = calloc(1, sizeof *p);
  if (!p) return false;
  l->pool = p;
  p->spin = spin;
  p->thread = calloc(workers, sizeof *p->thread);
  p->seat = calloc(workers, sizeof *p->seat);
  if (!p->thread || !p->seat) return false;
  for (int i = 1; i < workers; i++) {
    p->seat[i] = (struct seat){p, {l, i}};
    if (bt_thread(&p->thread[p->threads], worker, &p->seat[i])) return false;
    p->threads++;
  }
  return true;
}

void bt_lane_free(bt_lane *l) {
  bt_pool *p = l->pool;
  if (p) {
    atomic_store(&p->quit, true);
    atomic_fetch_add(&p->bell, 1);
    bt_futex_wake(&p->bell, 1 << 30, false);
    for (int i = 0; i < p->threads; i++) pthread_join(p->thread[i], NULL);
    free(p->thread);
    free(p->seat);
    free(p);
  }
  if (l->scratch)
    for (int i = 0; i <= l->workers; i++) free(l->scratch[i].p);
  free(l->scratch);
  *l = (bt_lane){0};
}
