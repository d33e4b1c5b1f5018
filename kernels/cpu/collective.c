/* collective.c - collectives in place over memory that ranks share: rank r does the r-th part of the work in every peer's
 * buffer, in the order of ranks, so that all ranks end with the same bits. Two barriers serve a whole group call. */
#include "comm.h"
#include "api.h"
#include <stdio.h>

static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "send", "receive"};
enum { KINDS = sizeof kinds / sizeof *kinds };

void bt_comm_describe(const bt_seg_call *c, char *out, size_t len) {
  int n = snprintf(out, len, "#%llu %.*s:", (unsigned long long)c->seq, BT_LABEL - 1, c->label);
  for (int i = 0; i < c->parts && i < 4 && n > 0 && (size_t)n < len; i++) {
    const bt_seg_part *p = &c->part[i];
    n += snprintf(out + n, len - n, " %s%s of %llu", p->kind >= 0 && p->kind < KINDS ? kinds[p->kind] : "?",
                  p->reduce == BT_MAX ? " max" : "", (unsigned long long)p->n);
  }
  if (c->parts > 4 && n > 0 && (size_t)n < len) snprintf(out + n, len - n, " and %d more", c->parts - 4);
}

/* How much of dst a part writes, where that is not src. */
static uint64_t result_bytes(const bt_coll *o, const bt_part *p) {
  uint64_t bytes = p->n * sizeof(float);
  return p->kind == BT_ALLGATHER ? bytes * o->ranks : p->kind == BT_REDUCESCATTER ? bytes / o->ranks : 0;
}

bt_status bt_comm_publish(bt_comm *c, const bt_coll *o, bt_seg_call *call, char *err) {
  call->parts = o->parts;
  memcpy(call->label, o->label, sizeof call->label);
  for (int i = 0; i < o->parts; i++) {
    const bt_part *p = &o->part[i];
    bt_place src = {0}, dst = {0};
    uint64_t bytes = p->n * sizeof(float), wide = result_bytes(o, p);
    if ((bytes && p->kind != BT_RECV && !bt_segment_find(c->ctx->segment, p->src, bytes, &src)) ||
        (wide && !bt_segment_find(c->ctx->segment, p->dst, wide, &dst)))
      return bt_fail(err, BT_EINVAL, "part %d is not in symmetric memory of this device", i);
    call->part[i] = (bt_seg_part){p->kind, p->reduce, p->root, 0, p->n, src, dst};
  }
  return BT_OK;
}

/* Ranks must mean the same; where their memory lies is their own affair. */
static bool same(const bt_seg_call *a, const bt_seg_call *b) {
  if (a->seq != b->seq || a->parts != b->parts) return false;
  for (int i = 0; i < a->parts; i++) {
    const bt_seg_part *p = &a->part[i], *q = &b->part[i];
    if (p->kind != q->kind || p->reduce != q->reduce || p->root != q->root || p->n != q->n) return false;
  }
  return true;
}

/* Every rank compares itself with every other, so all see a disagreement and none goes on to touch memory. */
static bt_status agree(bt_comm *c, char *err) {
  const bt_seg_call *own = &c->slot->member[c->rank].call;
  for (int r = 0; r < c->n; r++) {
    const bt_seg_call *other = &c->slot->member[r].call;
    if (r == c->rank || same(own, other)) continue;
    char a[180], b[180];
    int lo = r < c->rank ? r : c->rank, hi = r < c->rank ? c->rank : r;
    bt_comm_describe(lo == r ? other : own, a, sizeof a);
    bt_comm_describe(lo == r ? own : other, b, sizeof b);
    bt_comm_fail(c->slot, BT_ECOMM, "ranks of %.31s disagree: rank %d is at %s, rank %d at %s", c->slot->name, lo, a, hi, b);
    return bt_comm_check(c, err);
  }
  return BT_OK;
}

/* The r-th of n slices of count elements, cut at cache lines. */
static size_t slice(size_t count, int r, int n) {
  return r == n ? count : (size_t)((unsigned __int128)count * r / n) & ~(size_t)15;
}

static bt_status work(bt_comm *c, const bt_part *p, int part, char *err) {
  const bt_isa *isa = c->ctx->isa;
  float *src[BT_SEG_RANKS];
  for (int r = 0; r < c->n; r++) {
    const bt_seg_part *q = &c->slot->member[r].call.part[part];
    if (!(src[r] = (float *)bt_segment_at(c->ctx->segment, c->world[r], q->src, p->n * sizeof(float), err))) return BT_ECOMM;
  }
  float *own = src[c->rank], *dst = (float *)(uintptr_t)p->dst;
  switch (p->kind) {
  case BT_ALLREDUCE: isa->combine(src, c->n, slice(p->n, c->rank, c->n), slice(p->n, c->rank + 1, c->n), p->reduce); break;
  case BT_ALLGATHER:
    for (int r = 0; r < c->n; r++)
      if (dst + r * p->n != src[r]) memmove(dst + r * p->n, src[r], p->n * sizeof *dst);
    break;
  case BT_REDUCESCATTER:
    for (int r = 0; r < c->n; r++) src[r] += p->n / c->n * c->rank;
    isa->combine_into(dst, src, c->n, p->n / c->n, p->reduce);
    break;
  case BT_BCAST:
    if (p->root != c->rank) memcpy(own, src[p->root], p->n * sizeof *own);
    break;
  }
  return BT_OK;
}

/* A failure of this rank alone is every member's: they would wait for it. */
static bt_status spread(bt_comm *c, bt_status status, const char *err) {
  if (status && !atomic_load(&c->ended)) bt_comm_fail(c->slot, status, "rank %d of %.31s: %.400s", c->rank, c->slot->name, err);
  return status;
}

bt_status bt_comm_enter(bt_comm *c, const bt_coll *o, uint64_t *wait_ns, char *err) {
  bt_seg_call *call = &c->slot->member[c->rank].call;
  call->seq = ++c->calls;
  bt_status status = spread(c, bt_comm_publish(c, o, call, err), err);
  if (status) return status;
  int64_t came = bt_monotonic();
  status = bt_comm_barrier(c, err);
  *wait_ns += bt_monotonic() - came;
  return status ? status : agree(c, err);
}

bt_status bt_collective(const bt_coll *o, uint64_t *wait_ns, char *err) {
  bt_comm *c = (bt_comm *)(uintptr_t)o->comm;
  if (o->part[0].kind >= BT_SEND) return spread(c, bt_transfer(c, o, wait_ns, err), err);
  bt_status status = bt_comm_enter(c, o, wait_ns, err);
  int64_t begun = bt_monotonic();
  for (int i = 0; i < o->parts && !status; i++)
    if (o->part[i].n) status = spread(c, work(c, &o->part[i], i, err), err);
  if (!status) status = bt_comm_barrier(c, err);
  return status || !o->least_ns ? status : bt_comm_sleep(c, begun + o->least_ns, err);
}

void *bt_comm_peer(bt_comm *c, int part, int dst, int rank, uint64_t bytes, char *err) {
  const bt_seg_part *p = &c->slot->member[rank].call.part[part];
  return bt_segment_at(c->ctx->segment, c->world[rank], dst ? p->dst : p->src, bytes, err);
}

void bt_combine(bt_ctx *c, float *dst, float *const *x, int n, uint64_t count, int reduce) {
  c->isa->combine_into(dst, x, n, count, reduce);
}

void bt_combine_two(bt_ctx *c, float *dst, float *src, uint64_t count, int reduce) {
  float *x[2] = {dst, src};
  c->isa->combine_into(dst, x, 2, count, reduce);
}
