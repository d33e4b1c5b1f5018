/* comm.c - communicators: joining, barriers, and noticing that somebody has died. */
#include "comm.h"
#include "api.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

typedef struct {
  char magic[8];
  uint64_t segment, nonce;
  uint32_t slot;
} uid_body;
static const char uid_magic[8] = "boostcpu";

/* Start time and state of a process; false when it is gone. */
static bool process(int pid, uint64_t *started, char *state) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return false;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  char *after = strrchr(text, ')'); /* the name may hold anything */
  if (!after) return false;
  unsigned long long start = 0;
  if (sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", state, &start) != 2)
    return false;
  *started = start;
  return true;
}

/* Wakes whoever waits for members, or sleeps. */
static void wake(bt_seg_comm *c) {
  atomic_fetch_add(&c->bell, 1);
  bt_futex_wake(&c->bell, 1 << 30, true);
  bt_futex_wake(&c->failed, 1 << 30, true);
}

void bt_comm_fail(bt_seg_comm *c, bt_status status, const char *format, ...) {
  uint32_t sound = 0;
  if (!atomic_compare_exchange_strong(&c->failed, &sound, 1)) return;
  va_list ap;
  va_start(ap, format);
  vsnprintf(c->why, sizeof c->why, format, ap);
  va_end(ap);
  atomic_store(&c->failed, 16 + status);
  wake(c);
}

/* How long a reason may be in writing: who writes it is a few instructions from the end, but may have lost its core. */
static const int64_t writing_ns = 2000000000;

/* The reason, for this rank. Whoever writes it may have died while writing; then there is none. */
static bt_status reason(bt_seg_comm *c, uint32_t failed, char *err, size_t len) {
  for (int64_t until = bt_monotonic() + writing_ns, left; failed == 1 && (left = until - bt_monotonic()) > 0;) {
    bt_futex_wait(&c->failed, 1, left, true);
    failed = atomic_load(&c->failed);
  }
  if (failed < 16) {
    snprintf(err, len, "the communicator failed");
    return BT_ECOMM;
  }
  snprintf(err, len, "%.*s", BT_ERRLEN - 1, c->why);
  return failed - 16;
}

bt_status bt_comm_check(bt_comm *c, char *err) {
  uint32_t failed = atomic_load_explicit(&c->slot->failed, memory_order_acquire);
  if (failed) return reason(c->slot, failed, err, BT_ERRLEN);
  if (atomic_load_explicit(&c->ended, memory_order_relaxed)) return bt_fail(err, BT_ECOMM, "the communicator was closed");
  return BT_OK;
}

bt_status bt_comm_status(bt_comm *c, char *text, size_t len) {
  uint32_t failed = atomic_load(&c->slot->failed);
  return failed ? reason(c->slot, failed, text, len) : BT_OK;
}

/* Looks after the members that a need waits for. */
static void find_dead(bt_comm *c, const bt_need *need) {
  for (int r = 0; r < c->n; r++) {
    bt_seg_member *m = &c->slot->member[r];
    uint32_t present = atomic_load(&m->present);
    if (!present || present == 3 || (need->peer >= 0 && need->peer != r)) continue;
    if (need->peer < 0 && need->count && atomic_load(&m->arrived) >= need->count) continue;
    if (present == 2) {
      if (!need->met(c, need)) bt_comm_fail(c->slot, BT_ECOMM, "rank %d of %.31s has left", r, c->slot->name);
      return;
    }
    if (m->pid == getpid()) continue;
    uint64_t started = 0;
    char state = 0;
    bool there = !kill(m->pid, 0) || errno == EPERM;
    if (there && process(m->pid, &started, &state)) there = started == m->started && state != 'Z' && state != 'X';
    if (!there) {
      bt_comm_fail(c->slot, BT_ECOMM, "rank %d of %.31s (process %d) has died", r, c->slot->name, m->pid);
      return;
    }
  }
}

void bt_comm_ring(bt_seg_comm *s) {
  atomic_fetch_add(&s->bell, 1);
  if (atomic_load(&s->sleepers)) bt_futex_wake(&s->bell, 1 << 30, true);
}

/* Sleeps until the bell rings, but at most so long. */
static void doze(bt_comm *c, const bt_need *need, int64_t ns) {
  atomic_fetch_add(&c->slot->sleepers, 1);
  uint32_t seen = atomic_load(&c->slot->bell);
  if (!need->met(c, need) && !atomic_load(&c->slot->failed)) bt_futex_wait(&c->slot->bell, seen, ns, true);
  atomic_fetch_sub(&c->slot->sleepers, 1);
}

bt_status bt_comm_wait(bt_comm *c, const bt_need *need, char *err) {
  for (int i = 0; i < c->ctx->opt.spin; i++) {
    if (need->met(c, need)) return BT_OK;
    bt_pause();
  }
  for (int64_t looked = bt_monotonic(); !need->met(c, need);) {
    bt_status status = bt_comm_check(c, err);
    if (status) return status;
    doze(c, need, 50000000);
    if (bt_monotonic() - looked < 40000000) continue;
    find_dead(c, need);
    looked = bt_monotonic();
  }
  return BT_OK;
}

bt_status bt_comm_sleep(bt_comm *c, int64_t until_ns, char *err) {
  for (;;) {
    bt_status status = bt_comm_check(c, err);
    int64_t left = until_ns - bt_monotonic();
    if (status || left <= 0) return status;
    bt_futex_wait(&c->slot->failed, 0, left, true);
  }
}

static bool all_arrived(const bt_comm *c, const bt_need *need) {
  for (int r = 0; r < c->n; r++)
    if (atomic_load(&c->slot->member[r].arrived) < need->count) return false;
  return true;
}

bt_status bt_comm_barrier(bt_comm *c, char *err) {
  bt_need need = {.met = all_arrived, .peer = -1, .count = ++c->barriers};
  bt_status status = bt_comm_check(c, err);
  if (status) return status;
  atomic_store(&c->slot->member[c->rank].arrived, need.count);
  if (!all_arrived(c, &need)) return bt_comm_wait(c, &need, err);
  bt_comm_ring(c->slot);
  return BT_OK;
}

bt_status bt_comm_uid_new(bt_ctx *ctx, bt_uid *out) {
  bt_seg_header *h = ctx->segment->header;
  for (uint32_t i = 0; i < BT_SEG_COMMS; i++) {
    uint32_t no = 0;
    bt_seg_comm *c = &h->comm[i];
    if (!atomic_compare_exchange_strong(&c->taken, &no, 1)) continue;
    uint64_t nonce;
    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) nonce = (uint64_t)bt_monotonic();
    memset((char *)c + offsetof(bt_seg_comm, n), 0, sizeof *c - offsetof(bt_seg_comm, n));
    c->nonce = nonce;
    memset(out, 0, sizeof *out);
    uid_body *u = (uid_body *)out->b;
    memcpy(u->magic, uid_magic, sizeof u->magic);
    u->segment = h->id;
    u->nonce = nonce;
    u->slot = i;
    return BT_OK;
  }
  return bt_fail(ctx->err, BT_ECOMM, "all %d communicators of this host are taken", BT_SEG_COMMS);
}

bt_status bt_comm_join(bt_ctx *ctx, const bt_uid *id, int32_t n, int32_t rank, const char *name, bt_comm **out) {
  uid_body u;
  memcpy(&u, id->b, sizeof u);
  bt_segment *s = ctx->segment;
  if (memcmp(u.magic, uid_magic, sizeof u.magic) || u.slot >= BT_SEG_COMMS)
    return bt_fail(ctx->err, BT_EINVAL, "the identity is not one of a cpu communicator");
  if (n < 1 || n > s->world || rank < 0 || rank >= n)
    return bt_fail(ctx->err, BT_EINVAL, "rank %d of %d in %s: this device shares memory with %d ranks", rank, n, name, s->world);
  bt_seg_comm *slot = &s->header->comm[u.slot];
  if (u.segment != s->header->id)
    return bt_fail(ctx->err, BT_EINVAL, "%s was made on another segment: ranks of one host must be given the same one", name);
  if (slot->nonce != u.nonce || !atomic_load(&slot->taken)) return bt_fail(ctx->err, BT_ECOMM, "%s was closed already", name);
  uint32_t size = 0, free_seat = 0;
  if (!atomic_compare_exchange_strong(&slot->n, &size, n) && size != (uint32_t)n)
    return bt_fail(ctx->err, BT_EINVAL, "rank %d says that %s has %d ranks, another said %u", rank, name, n, size);
  bt_seg_member *m = &slot->member[rank];
  bt_comm *c = calloc(1, sizeof *c);
  if (!c) return bt_fail(ctx->err, BT_ENOMEM, "no memory for a communicator");
  *c = (bt_comm){.ctx = ctx, .slot = slot, .n = n, .rank = rank};
  char state;
  if (!atomic_compare_exchange_strong(&m->present, &free_seat, 3)) {
    free(c);
    return bt_fail(ctx->err, BT_EINVAL, "rank %d of %s has joined already", rank, name);
  }
  m->pid = getpid();
  m->world_rank = s->rank;
  process(m->pid, &m->started, &state);
  if (rank == 0) snprintf(slot->name, sizeof slot->name, "%.31s", name);
  atomic_store(&m->present, 1);
  atomic_fetch_add(&slot->joined, 1);
  bt_comm_ring(slot);
  *out = c;
  return BT_OK;
}

static bool all_joined(const bt_comm *c, const bt_need *need) {
  (void)need;
  return atomic_load(&c->slot->joined) >= (uint32_t)c->n;
}

bt_status bt_comm_ready(bt_comm *c, int32_t wait_us) {
  bt_need need = {.met = all_joined, .peer = -1};
  bt_status status = bt_comm_check(c, c->ctx->err);
  if (status) return status;
  if (!all_joined(c, &need)) doze(c, &need, (int64_t)wait_us * 1000);
  if (!all_joined(c, &need)) {
    find_dead(c, &need);
    return BT_ENOTREADY;
  }
  for (int r = 0; r < c->n; r++) c->world[r] = c->slot->member[r].world_rank;
  return BT_OK;
}

/* The last to leave gives everything back. */
static void leave(bt_comm *c) {
  bt_seg_comm *s = c->slot;
  if (atomic_fetch_add(&s->left, 1) + 1 != (uint32_t)c->n) return;
  for (int from = 0; from < c->n; from++)
    for (int to = 0; to < c->n; to++) {
      uint16_t mail = atomic_load(&s->mail[from][to]);
      if (mail) atomic_store(&c->ctx->segment->header->mail[mail - 1].taken, 0);
    }
  atomic_store(&s->taken, 0);
}

bt_status bt_comm_end(bt_comm *c, int32_t how) {
  bt_seg_comm *s = c->slot;
  if (how == BT_END_ABORT) {
    if (!atomic_load(&c->ended)) bt_comm_fail(s, BT_EABORTED, "aborted by rank %d of %.31s", c->rank, s->name);
    return BT_OK;
  }
  if (atomic_exchange(&c->ended, true)) return BT_OK;
  atomic_store(&s->member[c->rank].present, 2);
  wake(s);
  leave(c);
  return BT_OK;
}

void bt_comm_break(bt_comm *c, bt_status status, const char *text) {
  if (!atomic_load(&c->ended)) bt_comm_fail(c->slot, status, "%.500s", text);
}

uint64_t bt_host_identity(bt_ctx *ctx) { return ctx->segment->header->id; }

void bt_comm_free_all(bt_ctx *ctx) {
  for (bt_list *l = ctx->comms, *n; l; l = n) {
    n = l->next;
    free(l->p);
    free(l);
  }
  ctx->comms = NULL;
}
